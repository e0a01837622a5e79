// A function of the program whose text is followed. In: the function. Out: its syntax tree, and what its variables from around it
// stand for; nothing where there is no text, or where a call of it gives no result at once.
import * as exported from '@tsinductor/tensor';
import * as internal from '@tsinductor/tensor/internal';
import type { AnyNode, Node } from 'acorn';
import { types } from 'node:util';
import { uncompiled } from './call-marks.ts';
import { parsedFunction, sourceOf } from './function-source.ts';
import type { FunctionNode } from './function-source.ts';
import { closureOf } from './inspected.ts';
import { childrenOf, writtenProperties } from './syntax.ts';
import { nameUniquely } from './unique-names.ts';

export interface FollowedFunction {
  readonly node: FunctionNode;
  /** What a variable of its closure, or a global one, stands for. */
  valueOf(name: string): unknown;
  /** The beginning of the text of a part of it. */
  textOf(node: Node): string;
  /** Whether it catches what is thrown. */
  readonly catches: boolean;
  /** Properties that it writes, of whatever object; undefined among them: some that its text does not name. */
  readonly written: ReadonlySet<string | undefined>;
}

export function followedFunction(fn: object): FollowedFunction | undefined {
  // What is called may be an object with a call of its own, as a kernel is.
  if (typeof fn !== 'function') return undefined;
  const source = sourceOf(fn);
  const parsed = parsedFunction(source);
  if (parsed === undefined || parsed.node.async || parsed.node.generator) return undefined;
  const { node, begins } = parsed;
  nameUniquely(node);
  const closure = closureOf(fn);
  if (closure === undefined) return undefined;
  return {
    node,
    valueOf: (name) => (closure.has(name) ? closure.get(name) : globalValue(name)),
    catches: has(node, 'TryStatement'),
    written: writtenProperties(node),
    textOf: ({ start, end }) => source.slice(start - begins, end - begins).slice(0, 60),
  };
}

const has = (node: AnyNode, type: AnyNode['type']): boolean =>
  node.type === type || childrenOf(node).some((child) => has(child, type));

const globalValue = (name: string): unknown => Object.getOwnPropertyDescriptor(globalThis, name)?.value;

/** What a function that `compile` gave was made of; any other itself. */
export const plainFunction = (fn: object): object => (fn as { readonly [uncompiled]?: object })[uncompiled] ?? fn;

const names: ReadonlySet<unknown> = new Set([exported, internal].flatMap(namesIn));

/** What has a name in a module, and in the namespaces that it exports, as `nn.functional` is one. */
function namesIn(namespace: object): readonly unknown[] {
  return Object.values(namespace).flatMap((value: unknown) => {
    const isNamespace =
      typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
    return isNamespace ? [value, ...namesIn(value)] : [value];
  });
}

/** A function of this project's: of the names that it exports, or an operator that it made of a definition. */
export const isOwn = (fn: unknown): boolean =>
  names.has(fn) || (typeof fn === 'function' && !types.isProxy(fn) && Object.hasOwn(fn, internal.ownState));

/** A function of the language or of the engine, which runs no code of the program but what it is handed. */
export const isBuiltIn = (fn: unknown): boolean =>
  typeof fn === 'function' &&
  !types.isProxy(fn) &&
  !fn.name.startsWith('bound ') &&
  /\{\s*\[native code\]\s*\}\s*$/.test(sourceOf(fn));
