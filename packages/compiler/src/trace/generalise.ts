// Tracing a call so that what was compiled serves other numbers and sizes as well. JavaScript numbers are primitives: nothing in one
// trace shows what became of them. So the function's source says which of them only meet arithmetic and operators
// (number-flow.ts), and it is traced for three sets of values: what differs in the traces follows from them, by a formula that holds
// in all three (explain-number.ts). A last trace, for the call as it is, has inputs and symbolic sizes in these places.
//
// What decides something, or is not explained, is guarded: a plain number by its value, a size by being fixed where it is read.
import { at } from '@tsinductor/base';
import type { AdaptedCall, BoundCall } from '@tsinductor/tensor/internal';
import type { AnyNode } from 'acorn';
import { markedSizeFixed } from '../errors.ts';
import { explainCalls } from './explain-calls.ts';
import type { Explained, Unexplained } from './explain-calls.ts';
import type { Formula, Point, Points } from './explain-number.ts';
import { fixedNotes } from './fixed-notes.ts';
import { answer, evaluate } from './formula.ts';
import type { GuardNode } from './guard.ts';
import { anySize, sizeLabel } from './held-numbers.ts';
import type { Labels } from './held-numbers.ts';
import { namesOf } from './names-of-source.ts';
import { flowOf } from './program-flow.ts';
import type { Flow, Getter } from './program-flow.ts';
import { otherNumber, otherSize, ways } from './other-values.ts';
import type { PointCondition } from './point-condition.ts';
import { CallLog } from './probe.ts';
import { exactly, traceOnce } from './trace-call.ts';
import type { AliasedCall, Call, TracePlan, TracedCall, Tracing } from './trace-call.ts';

/** What may be other than it is in this call. */
interface Freedom {
  readonly numbers: ReadonlySet<string>;
  readonly sizes: boolean;
  /** Set: sizes that are equal in the call stay so, as those of two caches that grow together. Orders of sizes, by what they are. */
  readonly together?: ReadonlyMap<number, number>;
}

interface Generalised {
  readonly traced: TracedCall | AliasedCall;
  /** What is said of numbers and sizes that decide something, and are fixed. */
  readonly notes: readonly string[];
}

/** Throws UserError MARKED_SIZE_FIXED where the function needs a marked size to be one number. */
export function traceCall(call: Call, tracing: Tracing): Generalised {
  const found = generalise(call, tracing);
  const [mark] = 'error' in found.traced ? [] : found.traced.fixedMarks;
  if (mark !== undefined) throw markedSizeFixed(mark);
  return found;
}

function generalise(call: Call, tracing: Tracing): Generalised {
  const plain = traceOnce(call, tracing, exactly);
  const isPlain = 'error' in plain || (plain.variable.size === 0 && plain.readSizes.length === 0);
  if (isPlain) return { traced: plain, notes: fixedNotes(plain, undefined) };
  const isOf = (kind: GuardNode['expect']['kind'], at: string): boolean =>
    plain.guards.nodes.some(({ path, expect }) => path === at && expect.kind === kind);
  const flow = flowOf(
    call.fn,
    {
      paths: [...plain.variable.keys()],
      call: call.scope,
      isTensorAt: (path) => isOf('tensor', path),
      isInstanceAt: (path) => isOf('instance', path),
    },
    gettersOf(plain.guards.nodes),
  );
  if (flow === undefined || flow.writes) return { traced: plain, notes: fixedNotes(plain, flow) };
  const conditions = conditionsOf(plain, flow);
  const numbers = new Set([...plain.variable.keys()].filter((path) => !flow.decided.has(path)));
  const sizes = plain.readSizes.length > 0 && plain.readSizes.some((axis) => isFree(flow, axis));
  const traced = widest(call, tracing, {
    flow,
    conditions,
    freedom: { numbers, sizes },
    equalSizes: ordersOfEqual(plain.point.sizes),
  });
  return { traced: traced ?? plain, notes: fixedNotes(traced ?? plain, flow) };
}

/** Functions behind properties that were read. */
const gettersOf = (nodes: readonly GuardNode[]): readonly Getter[] =>
  nodes.flatMap(({ path, expect }) => {
    const [, owner] = /^(.*) \(the getter of [^)]*\)$/.exec(path) ?? [];
    return owner !== undefined && expect.kind === 'value' && typeof expect.value === 'function'
      ? [{ fn: expect.value, path: owner }]
      : [];
  });

const isFree = ({ decided: found }: Flow, axis: number): boolean => !found.has(anySize) && !found.has(sizeLabel(axis));

interface Condition {
  readonly text: string;
  readonly labels: Labels;
  readonly isMet: (point: Point) => boolean;
}

interface Search {
  readonly flow: Flow;
  readonly conditions: readonly Condition[];
  readonly freedom: Freedom;
  /** The orders of sizes, where some are equal. */
  readonly equalSizes: ReadonlyMap<number, number> | undefined;
}

/** The trace that leaves most open, of those in which everything is explained. */
function widest(call: Call, tracing: Tracing, { freedom, ...rest }: Search): TracedCall | undefined {
  const alone = [...freedom.numbers].map((path): Freedom => ({ numbers: new Set([path]), sizes: false }));
  const attempt = (tried: Freedom): TracedCall | undefined =>
    tried.numbers.size === 0 && !tried.sizes ? undefined : traceFreely(call, tracing, { ...rest, freedom: tried });
  const all = attempt(freedom) ?? attemptTogether(attempt, freedom, rest.equalSizes);
  if (all !== undefined) return all;
  const good =
    freedom.numbers.size < 2
      ? freedom.numbers
      : new Set(alone.filter((one) => attempt(one) !== undefined).flatMap(({ numbers }) => [...numbers]));
  return (
    attempt({ numbers: good, sizes: freedom.sizes && freedom.numbers.size > good.size }) ??
    (freedom.sizes
      ? (attempt({ numbers: good, sizes: false }) ?? attempt({ numbers: new Set(), sizes: true }))
      : undefined)
  );
}

function attemptTogether(
  attempt: (tried: Freedom) => TracedCall | undefined,
  freedom: Freedom,
  equalSizes: Search['equalSizes'],
): TracedCall | undefined {
  return freedom.sizes && equalSizes !== undefined ? attempt({ ...freedom, together: equalSizes }) : undefined;
}

/** The order of each size among those that differ; undefined where all differ. */
function ordersOfEqual(sizes: ReadonlyMap<string, number>): ReadonlyMap<number, number> | undefined {
  const different = [...new Set(sizes.values())];
  return different.length === sizes.size ? undefined : new Map(different.map((size, order) => [size, order]));
}

/** Sizes that were equal are equal. */
function staysTogether(sizes: ReadonlyMap<string, number>): readonly PointCondition[] {
  const names = [...sizes.keys()];
  return names.flatMap((name, position) => {
    const first = names.slice(0, position).find((other) => sizes.get(other) === sizes.get(name));
    return first === undefined
      ? []
      : [{ text: `${first} == ${name}`, isMet: (point: Point) => point.sizes.get(first) === point.sizes.get(name) }];
  });
}

/** A number that is open alone decides what came out to be another in other traces. */
function noteDecided({ flow, freedom }: Search, what: string): void {
  const open = [...freedom.numbers, ...(freedom.sizes ? [anySize] : [])];
  const [label] = open;
  if (label !== undefined && open.length === 1 && what !== '' && !flow.decided.has(label))
    flow.decided.set(label, what);
}

function traceFreely(call: Call, tracing: Tracing, search: Search): TracedCall | undefined {
  const probes = probesOf(call, tracing, search);
  if (probes === undefined) return undefined;
  const attempt = (opensArguments: boolean): TracedCall | undefined => {
    const found = explain(probes, search, opensArguments);
    if (!('decides' in found)) return traceExplained(call, tracing, { search, found });
    noteDecided(search, found.decides);
    return undefined;
  };
  return attempt(false) ?? attempt(true);
}

/** The trace of a call with inputs and symbolic sizes where its numbers follow from what it was given. */
function traceExplained(
  call: Call,
  tracing: Tracing,
  { search, found }: { readonly search: Search; readonly found: Explained },
): TracedCall | undefined {
  const { numbers, opened } = found;
  const ofAttributes = [...opened.values()].flatMap(({ inputs }) => [...inputs.values()]);
  const traced = attempted(() =>
    traceOnce(call, tracing, {
      ...planOf(search, 0),
      numbers: [...numbers.values(), ...ofAttributes],
      adapt: (session, made, { position }) => replaced(made, position, { session, found }),
    }),
  );
  const relevant = search.conditions.filter(({ labels }) => [...labels].some((label) => isOpen(search.freedom, label)));
  return traced === undefined
    ? undefined
    : {
        ...traced,
        conditions: [
          ...relevant,
          ...found.exact,
          ...(search.freedom.together === undefined ? [] : staysTogether(traced.point.sizes)),
        ],
      };
}

/** What follows from the numbers and sizes of the call, and how; or what they decide, where something differs that no formula gives. */
function explain(probes: Probes, search: Search, opensArguments: boolean): Explained | Unexplained {
  const [first, second, third] = probes;
  const points: Points = [first.point, second.point, third.point];
  const other = probes.find(({ structure }) => structure.some((line, index) => line !== first.structure[index]));
  if (other !== undefined) return { decides: differingCall(first, other) };
  const written = search.flow.passed.map(
    ({ node, flow }): Formula =>
      (point) =>
        evaluate(node, namesOf({ traced: first.traced, program: search.flow, point }, flow)),
  );
  return explainCalls({ logs: [first.log, second.log, third.log], points, written, opensArguments });
}

/** The first thing that is another one in another trace. */
function differingCall(first: Probe, other: Probe): string {
  const position = first.structure.findIndex((line, index) => line !== other.structure[index]);
  const name = first.log.calls[position]?.made.operator.name;
  if (name !== undefined) return `a call of ${name}`;
  const literals = position - first.log.structure.length;
  return literals < first.log.literals.length ? 'elements of a tensor' : 'what comes out';
}

type Probes = readonly [Probe, Probe, Probe];

const isOpen = ({ numbers, sizes }: Freedom, label: string): boolean =>
  label.startsWith(anySize) ? sizes : numbers.has(label);

/** The call as it is, and two for other values for which every condition has the same answer. */
function probesOf(call: Call, tracing: Tracing, search: Search): Probes | undefined {
  const first = probe(call, tracing, { search, round: 0 });
  if (first === undefined) return undefined;
  const others: Probe[] = [];
  for (let round = 1; round <= ways && others.length < 2; round += 1) {
    const point = otherPoint(first, search, round);
    if (!search.conditions.every(({ isMet }) => isMet(point))) continue;
    if (!areApart([first, ...others].map((probed) => probed.point).concat(point), search.freedom)) continue;
    const other = probe(call, tracing, { search, round });
    if (other === undefined) return undefined;
    others.push(other);
  }
  const [second, third] = others;
  return second === undefined || third === undefined ? undefined : [first, second, third];
}

function otherPoint({ point }: Probe, search: Search, round: number): Point {
  const plan = planOf(search, round);
  return {
    numbers: new Map([...point.numbers].map(([path, value]) => [path, plan.shown(path, value)])),
    sizes: new Map([...point.sizes].map(([name, size], order) => [name, plan.hint(size, order)])),
  };
}

/** Numbers and sizes as they are in this call, then twice others. */
function planOf({ flow, freedom }: Search, round: number): TracePlan {
  return {
    ...exactly,
    isVariable: (path) => freedom.numbers.has(path),
    shown: (path, value) =>
      freedom.numbers.has(path) ? otherNumber(value, round, [...freedom.numbers].indexOf(path)) : value,
    hint: (size, order) => (freedom.sizes ? otherSize(size, round, freedom.together?.get(size) ?? order) : size),
    readsFreely: (axis) => freedom.sizes && isFree(flow, axis),
    isFollowed: flow.left === undefined,
  };
}

/** Whether every number and size that is open is another one at each point: else nothing shows what follows from it. */
function areApart(points: readonly Point[], freedom: Freedom): boolean {
  const first = at(points, 0);
  const apart = (values: readonly (number | undefined)[]): boolean => new Set(values).size === values.length;
  const sizes = freedom.sizes ? [...first.sizes.keys()] : [];
  return (
    [...first.numbers.keys()].every((path) => apart(points.map(({ numbers }) => numbers.get(path)))) &&
    sizes.every((name) => apart(points.map((point) => point.sizes.get(name))))
  );
}

interface Probe {
  readonly structure: readonly string[];
  readonly log: CallLog;
  readonly point: Points[0];
  readonly traced: TracedCall;
}

function probe(call: Call, tracing: Tracing, { search, round }: { search: Search; round: number }): Probe | undefined {
  const log = new CallLog();
  const adapt: TracePlan['adapt'] = (session, made, { position, metas }) => {
    log.note({ made, metas: metas(), sizes: session.sizes }, position);
    return made;
  };
  const sawLiteral: TracePlan['sawLiteral'] = (bytes, literal) => {
    log.noteLiteral(bytes, literal);
  };
  const traced = attempted(() => traceOnce(call, tracing, { ...planOf(search, round), adapt, sawLiteral }));
  if (traced === undefined) return undefined;
  // What bodies of loops and branches call is in the log, as all calls are.
  const rest = traced.graph.nodes.flatMap((node) => {
    if (node.kind !== 'host') return [];
    const flow = node.flow && { ...node.flow, bodies: node.flow.bodies.map(({ inputs }) => inputs) };
    return [JSON.stringify([node.target, node.attrs, flow])];
  });
  return {
    structure: [...log.structure, ...log.literals, ...rest, JSON.stringify(traced.template, withEveryValue)],
    log,
    traced,
    point: traced.point,
  };
}

/** Numbers and values that JSON does not write, or writes as another one. */
const withEveryValue = (_: string, value: unknown): unknown =>
  typeof value === 'number' && Number.isFinite(value) && !Object.is(value, -0)
    ? value
    : ['number', 'bigint', 'undefined', 'symbol', 'function'].includes(typeof value)
      ? `${typeof value} ${Object.is(value, -0) ? '-0' : String(value)}`
      : value;

/** A trace that succeeds; for other numbers than those of the call, one may well fail. */
function attempted(trace: () => TracedCall | AliasedCall): TracedCall | undefined {
  try {
    const traced = trace();
    return 'error' in traced ? undefined : traced;
  } catch {
    return undefined;
  }
}

type Session = Parameters<NonNullable<TracePlan['adapt']>>[0];

interface Replacements {
  readonly session: Session;
  readonly found: Explained;
}

/** The call with inputs and symbolic sizes where its numbers follow from what it was given. */
function replaced(call: BoundCall, position: number, { session, found }: Replacements): AdaptedCall {
  const { numbers: inputs, indexes } = found;
  const opened = found.opened.get(position);
  if (opened !== undefined && opened.inputs.size > 0) {
    const standIns = [...opened.inputs].map(([place, { tensor }]) => [place, session.input(tensor)] as const);
    return { ...call, opened: { call: opened.call, inputs: new Map(standIns) } };
  }
  const tensors = [...call.tensors];
  const args = call.args.map((arg, index) => {
    const input = inputs.get(`${String(position)} argument ${String(index)}`);
    return input === undefined
      ? arg
      : ({ kind: 'value', node: tensors.push(session.input(input.tensor)) - 1, result: 0 } as const);
  });
  const changed = (attr: BoundCall['attrs'][string], where: string): BoundCall['attrs'][string] => {
    const size = indexes.get(`${String(position)} ${where}`);
    if (size !== undefined) return { size };
    return Array.isArray(attr)
      ? attr.map((item: typeof attr, index) => changed(item, `${where} ${String(index)}`))
      : attr;
  };
  const attrs = Object.fromEntries(Object.entries(call.attrs).map(([name, attr]) => [name, changed(attr, name)]));
  return { ...call, args, attrs, tensors };
}

function printCondition({ type }: AnyNode, text: string, before: number): string {
  if (type === 'CallExpression') return `${text} as it came out`;
  return before === 0 ? `not ${text}` : text;
}

/** The comparisons of the source that can be made again for any call; what the others test decides something. */
function conditionsOf(plain: TracedCall, found: Flow): readonly Condition[] {
  const point = { numbers: plain.variable, sizes: plain.point.sizes };
  return found.conditions.flatMap(({ node, flow, labels }) => {
    const before = answer(node, namesOf({ traced: plain, program: found, point }, flow));
    const text = flow.fn.textOf(node);
    if (before === undefined) for (const label of labels) found.decided.set(label, text);
    return before === undefined
      ? []
      : [
          {
            text: printCondition(node, text, before),
            labels,
            isMet: (other: Point) =>
              Object.is(answer(node, namesOf({ traced: plain, program: found, point: other }, flow)), before),
          },
        ];
  });
}
