// What becomes of the numbers that a program is given, read off the source of a function and of those that it calls: whether they decide
// something (a branch, a loop, a message), or meet arithmetic and operators only, so that a trace for other values is the same but for
// the numbers that stand in it.
//
// In: the function that is traced, and what is known of its call. Out: labels that decide, conditions, and expressions that are handed
// to operators; whether code runs that could not be followed.
import type { AnyNode } from 'acorn';
import { findOuterWrites } from './closure.ts';
import { nothingKnown } from './flow-program.ts';
import type { FlowContext, FollowedCall, Program } from './flow-program.ts';
import { followedFunction, isBuiltIn, plainFunction } from './followed-function.ts';
import { anySize, HeldProperties } from './held-numbers.ts';
import type { Label, Labels } from './held-numbers.ts';
import { InPlace } from './known-objects.ts';
import { NumberFlow } from './number-flow.ts';

/** An expression, and the flow of the function in which it stands. */
interface PlacedNode {
  readonly node: AnyNode;
  readonly flow: NumberFlow;
}

export interface Flow {
  /** Labels that decide something, each with the text of what it decides (the first that was found). */
  readonly decided: Map<Label, string>;
  /** Comparisons and tests of expressions that carry numbers, with what they carry: the code takes another way where one has another answer. */
  readonly conditions: readonly (PlacedNode & { readonly labels: Labels })[];
  /** Expressions that are passed to operators, and carry numbers. */
  readonly passed: readonly PlacedNode[];
  /** Whether a function that is called writes to a variable outside: then no two traces need be alike. */
  readonly writes: boolean;
  /** Code that runs and was not followed; undefined: none. */
  readonly left: string | undefined;
  /** What a call comes to, where it is of a function that only gives one expression. */
  expressionOf(call: AnyNode, flow: NumberFlow): PlacedNode | undefined;
}

/** Functions that run without a call in the source: those behind properties of what is at a path. */
export interface Getter {
  readonly fn: object;
  readonly path: string;
}

/** Undefined where the function's own text is not to be had. */
export function flowOf(fn: object, context: FlowContext, getters: readonly Getter[]): Flow | undefined {
  const flows = new ProgramFlow(context);
  const root = flows.start(fn);
  if (root === undefined) return undefined;
  let before = -1;
  // Until nothing more is found to hold a number.
  for (let round = 0; round < maximumRounds && flows.count() !== before; round += 1) {
    before = flows.count();
    for (const getter of getters) flows.getter(getter);
    flows.enter();
    flows.decide(root.result, 'what it returns');
  }
  if (flows.count() !== before) flows.decide(new Set([...context.paths, anySize]), 'the function');
  return flows;
}

const maximumRounds = 40;
const maximumFunctions = 400;

class ProgramFlow implements Program, Flow {
  readonly decided = new Map<Label, string>();
  readonly context: FlowContext;
  readonly properties: HeldProperties;
  left: string | undefined;
  round = 0;
  /** By function; null for one that cannot be followed. */
  readonly #flows = new Map<object, NumberFlow | null>();
  /** Of all functions that are followed: whether one catches, and the properties that they write. */
  #catches = false;
  readonly #written = new Set<string | undefined>();

  constructor(context: FlowContext) {
    this.context = context;
    this.properties = new HeldProperties(context.paths);
  }

  get conditions(): Flow['conditions'] {
    return this.#all().flatMap((flow) => [...flow.conditions].map(([node, labels]) => ({ node, labels, flow })));
  }

  get passed(): Flow['passed'] {
    return this.#all().flatMap((flow) => flow.passed.map((node) => ({ node, flow })));
  }

  get catches(): boolean {
    return this.left !== undefined || this.#catches;
  }

  mayWrite(name: string): boolean {
    return this.#written.has(name) || this.#written.has(undefined);
  }

  get writes(): boolean {
    return [...this.#flows].some(([fn, flow]) => flow !== null && findOuterWrites(fn).length > 0);
  }

  #all(): readonly NumberFlow[] {
    return [...this.#flows.values()].filter((flow) => flow !== null);
  }

  start(fn: object): NumberFlow | undefined {
    const flow = this.#flowOf(fn);
    const { this: owner, arguments: given } = this.context.call;
    flow?.called(
      { ...nothingKnown, path: 'this', objects: objectsOf(owner) },
      Array.from({ length: Math.max(given.length, flow.fn.node.params.length) }, (_, index) => ({
        ...nothingKnown,
        path: `arguments[${String(index)}]`,
        objects: objectsOf(given[index]),
      })),
    );
    return flow;
  }

  getter({ fn, path }: Getter): void {
    const result = this.follow({ fn, owner: { ...nothingKnown, path }, given: [] });
    if (result === undefined) this.leave(`the getter at ${path}`);
    else this.decide(result, `what a getter of ${path} gives`);
  }

  enter(): void {
    this.round += 1;
    for (const flow of this.#flows.values()) flow?.enter();
  }

  /** How much is known so far. */
  count(): number {
    return this.#all().reduce(
      (sum, flow) => sum + flow.count(),
      this.properties.count() + this.decided.size + this.#flows.size,
    );
  }

  decide(labels: Labels, text: string): void {
    for (const label of labels) if (!this.decided.has(label)) this.decided.set(label, text);
  }

  follow({ fn, owner, given }: FollowedCall): Labels | undefined {
    if (fn instanceof InPlace) return fn.called(given);
    return this.#flowOf(plainFunction(fn))?.called(owner, given);
  }

  expressionOf(call: AnyNode, around: NumberFlow): PlacedNode | undefined {
    const fn = around.functionAt(call);
    const flow = fn === undefined ? undefined : this.#flows.get(plainFunction(fn));
    const node = flow === undefined || flow === null ? undefined : givenExpression(flow.fn.node.body);
    return flow === undefined || flow === null || node === undefined ? undefined : { node, flow };
  }

  leave(text: string): void {
    this.left ??= text;
  }

  #flowOf(fn: object): NumberFlow | undefined {
    const known = this.#flows.get(fn);
    if (known !== undefined) return known ?? undefined;
    const isFew = this.#flows.size < maximumFunctions;
    const followed = isFew && !isBuiltIn(fn) ? followedFunction(fn) : undefined;
    const flow = followed === undefined ? null : new NumberFlow(fn, followed, this);
    this.#catches ||= followed?.catches === true;
    for (const name of followed?.written ?? []) this.#written.add(name);
    this.#flows.set(fn, flow);
    return flow ?? undefined;
  }
}

/** The expression that a function's body gives, if it does nothing else. */
function givenExpression(body: AnyNode): AnyNode | undefined {
  if (body.type !== 'BlockStatement') return body;
  const [only] = body.body;
  return only?.type === 'ReturnStatement' ? (only.argument ?? undefined) : undefined;
}

const objectsOf = (value: unknown): ReadonlySet<object> | undefined =>
  (typeof value === 'object' && value !== null) || typeof value === 'function' ? new Set([value]) : undefined;
