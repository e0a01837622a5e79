// What the flows of a program's functions share: what is known of the call, what a function is called with, and how one function's flow
// tells the program of another that it calls.
import type { AnyNode } from 'acorn';
import type { FollowedFunction } from './followed-function.ts';
import type { Labels } from './held-numbers.ts';
import { none, union } from './held-numbers.ts';
import type { HeldProperties } from './held-numbers.ts';
import type { Objects } from './known-objects.ts';

/** What is known of the call that is traced. */
export interface FlowContext {
  /** Numbers that the function is given. */
  readonly paths: readonly string[];
  /** What is at `this` and `arguments`. */
  readonly call: { readonly this: unknown; readonly arguments: readonly unknown[] };
  /** Whether a tensor was found at a path. */
  isTensorAt(path: string): boolean;
  /** Whether an instance of a class was: what its own methods read of it is known by itself. */
  isInstanceAt(path: string): boolean;
}

/** What is known of a value that a function is given: the numbers in it, where it comes from, the objects that it may be. */
export interface Given {
  readonly labels: Labels;
  readonly path: string | undefined;
  readonly objects: Objects | undefined;
}

export const nothingKnown: Given = Object.freeze({ labels: none, path: undefined, objects: undefined });

/** What a function is given in two calls. */
export function bothGiven(one: Given, other: Given, properties: HeldProperties): Given {
  const labels = union(one.labels, other.labels);
  const objects =
    one.objects === undefined || other.objects === undefined
      ? (one.objects ?? other.objects)
      : new Set([...one.objects, ...other.objects]);
  if (one.path === other.path) return { labels, path: one.path, objects };
  const paths = [one.path, other.path].filter((path) => path !== undefined);
  return { labels: paths.reduce((all, path) => union(all, properties.under(path)), labels), path: undefined, objects };
}

/** A call, as the flow of the function around it sees it. */
export interface FollowedCall {
  readonly fn: object;
  readonly owner: Given;
  readonly given: readonly Given[];
}

/** The whole program, as the flow of one of its functions sees it. */
export interface Program {
  readonly context: FlowContext;
  readonly properties: HeldProperties;
  /** All functions are walked through in rounds, once in each, until nothing more is found. */
  readonly round: number;
  /** Labels that decide something, each with the text of what it decides. */
  decide(labels: Labels, text: string): void;
  /** Follows a function that is called, and gives what its result carries; undefined where its text is not to be had. */
  follow(call: FollowedCall): Labels | undefined;
  /** Code runs that nobody has followed. */
  leave(text: string): void;
  /** Whether code that runs may catch what is thrown: if not, what is made to be thrown is in no trace. */
  readonly catches: boolean;
  /** Whether one of them may write to a property of that name. */
  mayWrite(name: string): boolean;
}

/** What the flow of a function tells of its expressions to whoever follows its calls. */
export interface Expressions {
  value(node: AnyNode): Labels;
  path(node: AnyNode): string | undefined;
  objects(node: AnyNode): Objects | undefined;
  elements(node: AnyNode): Objects | undefined;
  decide(labels: Labels, node: AnyNode): void;
  condition(labels: Labels, node: AnyNode): void;
  /** Handed to an operator. */
  pass(node: AnyNode): void;
  readonly fn: FollowedFunction;
  /** A parameter that no call gives, or what is known to be null: no call is of it. */
  isNothing(node: AnyNode): boolean;
  /** What a variable from around the function stands for. */
  outer(name: string): unknown;
}
