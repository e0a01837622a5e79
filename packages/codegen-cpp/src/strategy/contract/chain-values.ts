// What is known of values between products, in all columns, where the operands of the first products are moderate numbers: far from
// where their products overflow. Where a product sums over rows, a column that a mask excludes may only be left out if each weight there is
// 0 and no NaN: so no row may be undefined as a whole, and what is multiplied by 0 has to be finite.
//
// In: the nodes between the products, in order. Out: whether a value is moderate. Nodes are evaluated in part:
//
// moderate  a finite number of about the size of a product
// some      moderate, or -Infinity, but not in all columns of a row
// low       the same, perhaps in all columns
// shift     some, less the largest of the row: at most 0, and 0 in some column
// lowShift  low, less the largest of the row, or 0 where that is -Infinity
// share     exp of shift: from 0 to 1, and 1 in some column
// part      exp of lowShift: from 0 to 1
// parts     a sum of parts: 0 where all columns are masked, else 1 or more
// total     a sum of shares: 1 or more
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { columnOf, isDiagonal, loadedBy } from '@tsinductor/codegen';
import type { Between, IsFinite } from '@tsinductor/codegen';
import { axisIndex, printIndex, substitute } from '@tsinductor/ir';
import type { Body, BufferId, LoopNode, Scalar, ScalarId } from '@tsinductor/ir';

type Range = 'moderate' | 'some' | 'low' | 'shift' | 'lowShift' | 'share' | 'part' | 'parts' | 'total' | 'unknown';

interface Values extends Between {
  /** What the first products make. */
  readonly products: readonly BufferId[];
  readonly dtypeOf: (buffer: BufferId) => DType;
}

export function moderateValues(values: Values): IsFinite {
  const evaluation = new Evaluation(values);
  for (const node of values.nodes) evaluation.add(node);
  return (node, body, id) => isModerate(evaluation.rangeOf({ node, body }, id));
}

/** What a value is in: a body of a node. */
interface Place {
  readonly node: LoopNode;
  readonly body: Body;
}

type Apply = Scalar & { readonly kind: 'apply' };

const isModerate = (range: Range): boolean => ['moderate', 'share', 'part', 'parts', 'total'].includes(range);

class Evaluation {
  readonly #values: Values;
  readonly #ranges = new Map<BufferId, Range>();
  readonly #rangesOf = new Map<Body, Map<ScalarId, Range>>();
  /** A short name for each text, so that what is used many times is written out once. */
  readonly #names = new Map<string, string>();
  /** What the largest of each row is the largest of. */
  readonly #largest = new Map<BufferId, string>();

  constructor(values: Values) {
    this.#values = values;
    for (const buffer of values.products)
      this.#ranges.set(buffer, values.dtypeOf(buffer) === 'f16' ? 'unknown' : 'moderate');
  }

  add(node: LoopNode): void {
    node.outs.forEach((out, slot) => {
      const isNarrow = this.#values.dtypeOf(out) === 'f16';
      const range = this.#resultOf(node, slot);
      this.#ranges.set(out, isNarrow && range === 'moderate' ? 'unknown' : range);
    });
  }

  #resultOf(node: LoopNode, slot: number): Range {
    if (node.kind === 'map') return this.rangeOf({ node, body: node.body }, at(node.body.results, slot));
    const step = node.kind === 'reduce' && isPlain(node.finish, slot) ? stepOf(node.step, slot) : undefined;
    if (node.kind !== 'reduce' || step === undefined) return 'unknown';
    const place = { node, body: node.step };
    const range = this.rangeOf(place, step.other);
    if (step.op === 'maximum') this.#largest.set(at(node.outs, slot), this.#textOf(place, step.other));
    return reduced[step.op]?.[range] ?? 'unknown';
  }

  /** Each value once, however many others are made of it. */
  rangeOf(place: Place, id: ScalarId): Range {
    const known = this.#rangesOf.get(place.body) ?? new Map<ScalarId, Range>();
    this.#rangesOf.set(place.body, known);
    const range = known.get(id) ?? this.#find(place, id);
    known.set(id, range);
    return range;
  }

  #find(place: Place, id: ScalarId): Range {
    const scalar = at(place.body.nodes, id);
    switch (scalar.kind) {
      case 'constant':
        return this.#constant(place, id);
      case 'index':
        return 'moderate';
      case 'cast':
        return this.#cast(this.rangeOf(place, scalar.value), scalar.dtype);
      case 'load':
        return scalar.mask === undefined ? this.#loaded(scalar) : 'unknown';
      case 'apply':
        return this.#applied(place, scalar);
      case 'carried':
      case 'bitcast':
      case 'check':
        return 'unknown';
    }
  }

  #constant({ body }: Place, id: ScalarId): Range {
    if (isNumber(body, id, '-Infinity')) return 'low';
    return numberOf(body, id) === undefined ? 'unknown' : 'moderate';
  }

  #cast(range: Range, dtype: DType): Range {
    return dtype === 'f16' && range === 'moderate' ? 'unknown' : range;
  }

  /** What comes from elsewhere may be anything, but for words and truth values. */
  #loaded({ buffer, dtype }: Scalar & { readonly kind: 'load' }): Range {
    return (
      this.#ranges.get(buffer) ?? (dtype === 'bool' || dtype === 'i64' || dtype === 'i32' ? 'moderate' : 'unknown')
    );
  }

  #applied(place: Place, scalar: Apply): Range {
    const ranges = scalar.args.map((id) => this.rangeOf(place, id));
    const rule = rules[scalar.op];
    if (rule !== undefined) return rule({ ...place, scalar, ranges });
    if (scalar.op === 'where') return this.#chosen(place, scalar, ranges);
    const shifted = scalar.op === 'sub' ? this.#shifted(place, scalar, ranges) : undefined;
    return shifted ?? (moderateOps.has(scalar.op) && ranges.every(isModerate) ? 'moderate' : 'unknown');
  }

  #chosen(place: Place, scalar: Apply, ranges: readonly Range[]): Range {
    const [, yes = 'unknown', no = 'unknown'] = ranges;
    const call = { ...place, scalar, ranges };
    const special = insteadOf(call) ?? cutFrom(call);
    if (special !== undefined) return special;
    const [condition, , other] = scalar.args;
    if (condition !== undefined && isModerate(yes) && isNumber(place.body, other, '-Infinity'))
      return isDiagonal(place.node, place.body, { ...this.#values, id: condition }) ? 'some' : 'low';
    if (isModerate(yes) && isModerate(no)) return 'moderate';
    return [yes, no].every((range) => isModerate(range) || isLow(range)) ? 'low' : 'unknown';
  }

  /** A value less the largest of its row. */
  #shifted(place: Place, { args }: Apply, [value, most]: readonly Range[]): Range | undefined {
    const [whole, largest] = args;
    const buffer = largest === undefined ? undefined : largestIn(place.body, largest);
    if (buffer === undefined || whole === undefined || most !== 'moderate') return undefined;
    if (this.#largest.get(buffer) !== this.#textOf(place, whole)) return undefined;
    if (value === 'some' || (value !== undefined && isModerate(value))) return 'shift';
    return value === 'low' ? 'lowShift' : undefined;
  }

  /** A value as text, in which all loops over columns are one. */
  #textOf({ node, body }: Place, id: ScalarId): string {
    const column = columnOf(node, this.#values);
    const names = new Map(
      column === undefined ? [] : [[column.name, axisIndex({ ...column, name: 'column' })] as const],
    );
    const named = new Map<ScalarId, string>();
    const text = (own: ScalarId): string => {
      const before = named.get(own);
      if (before !== undefined) return before;
      const whole = written(own);
      const name = this.#names.get(whole) ?? `$${String(this.#names.size)}`;
      this.#names.set(whole, name);
      named.set(own, name);
      return name;
    };
    const written = (own: ScalarId): string => {
      const scalar = at(body.nodes, own);
      switch (scalar.kind) {
        case 'constant':
          return `${scalar.dtype} ${String(typeof scalar.value === 'object' ? scalar.value.bigint : scalar.value)}`;
        case 'index':
          return printIndex(substitute(scalar.value, names));
        case 'load':
          return scalar.mask === undefined
            ? `${String(scalar.buffer)}[${printIndex(substitute(scalar.at, names))}]`
            : `masked ${String(own)} of ${String(node.id)}`;
        case 'cast':
          return `${scalar.dtype}(${text(scalar.value)})`;
        case 'apply':
          return `${scalar.op}(${scalar.args.map(text).join(', ')})`;
        case 'carried':
        case 'bitcast':
        case 'check':
          return `${scalar.kind} ${String(own)} of ${String(node.id)}`;
      }
    };
    return text(id);
  }
}

/** A call of an op, with what is known of its arguments. */
interface Call extends Place {
  readonly scalar: Apply;
  readonly ranges: readonly Range[];
}

/** What the largest and the sum of a row are, by what its elements are. */
const reduced: Readonly<Record<string, Readonly<Partial<Record<Range, Range>>>>> = {
  maximum: {
    moderate: 'moderate',
    share: 'moderate',
    part: 'moderate',
    total: 'moderate',
    some: 'moderate',
    low: 'low',
  },
  add: { moderate: 'moderate', share: 'total', part: 'parts', parts: 'moderate', total: 'moderate' },
};

const ofTruth = (): Range => 'moderate';
const powers: Readonly<Partial<Record<Range, Range>>> = { shift: 'share', lowShift: 'part' };

const rules: Readonly<Record<string, (call: Call) => Range>> = {
  ...{ eq: ofTruth, ne: ofTruth, lt: ofTruth, le: ofTruth, gt: ofTruth, ge: ofTruth },
  ...{ logicalAnd: ofTruth, logicalOr: ofTruth, logicalNot: ofTruth },
  exp: ({ ranges }) => powers[ranges[0] ?? 'unknown'] ?? 'unknown',
  reciprocal: ({ ranges }) => (ranges[0] === 'total' ? 'moderate' : 'unknown'),
  div: (call) =>
    scaledBy(call, [0, 1], (factor) => factor > 1e-4) ?? (call.ranges[1] === 'total' ? whole(call, 0) : 'unknown'),
  mul: (call) =>
    scaledBy(call, [0, 1], (factor) => factor > 0) ??
    scaledBy(call, [1, 0], (factor) => factor > 0) ??
    (call.ranges.every(isModerate) ? 'moderate' : 'unknown'),
};

const whole = ({ ranges }: Call, place: number): Range =>
  isModerate(ranges[place] ?? 'unknown') ? 'moderate' : 'unknown';

/** A value by a constant: -Infinity stays that by one above 0. */
function scaledBy(
  { body, scalar, ranges }: Call,
  [value, by]: readonly [number, number],
  isAllowed: (factor: number) => boolean,
): Range | undefined {
  const range = ranges[value] ?? 'unknown';
  const factor = numberOf(body, scalar.args[by]);
  if (factor === undefined || !(isLow(range) || isModerate(range))) return undefined;
  if (isAllowed(factor)) return isLow(range) ? range : 'moderate';
  return isModerate(range) && isAllowed(-factor) ? 'moderate' : undefined;
}

/** Another number for the largest of a row without columns, and for the sum of its shares. */
function insteadOf({ body, scalar, ranges }: Call): Range | undefined {
  const [condition, yes, no] = scalar.args;
  const isTested = (value: number | string): boolean => isTest(body, condition, { op: 'eq', of: no, value });
  const number = numberOf(body, yes);
  if (ranges[2] === 'low' && number !== undefined && isTested('-Infinity')) return 'moderate';
  return (ranges[2] === 'parts' || ranges[2] === 'total') && number === 1 && isTested(0) ? 'total' : undefined;
}

interface Test {
  readonly op: string;
  readonly of: ScalarId | undefined;
  readonly value: number | string;
}

/** Whether a condition compares a value with a constant. */
function isTest(body: Body, id: ScalarId | undefined, { op, of, value }: Test): boolean {
  const test = id === undefined ? undefined : at(body.nodes, id);
  if (test?.kind !== 'apply' || test.op !== op || of === undefined || !test.args.includes(of)) return false;
  return test.args.some((arg) => isNumber(body, arg, value));
}

/** What is far below the largest may as well be left out. */
function cutFrom({ body, scalar, ranges }: Call): Range | undefined {
  const [condition, yes, no] = scalar.args;
  const test = condition === undefined ? undefined : at(body.nodes, condition);
  const [range] = ranges.slice(2);
  if (test?.kind !== 'apply' || test.op !== 'lt' || test.args[0] !== no || !isNumber(body, yes, '-Infinity'))
    return undefined;
  const limit = numberOf(body, test.args[1]);
  return limit !== undefined && limit < 0 && (range === 'shift' || range === 'lowShift') ? range : undefined;
}

/** What moderate numbers stay moderate under. */
const moderateOps: ReadonlySet<string> = new Set(['add', 'sub', 'neg', 'abs', 'tanh', 'minimum', 'maximum']);

const isPlain = ({ nodes, results }: Body, slot: number): boolean => {
  const scalar = at(nodes, at(results, slot));
  return scalar.kind === 'carried' && scalar.slot === slot;
};

/** What a step joins to its state, and by which op. */
function stepOf({ nodes, results }: Body, slot: number): { readonly op: string; readonly other: ScalarId } | undefined {
  const step = at(nodes, at(results, slot));
  if (step.kind !== 'apply' || step.args.length !== 2) return undefined;
  const [other, ...more] = step.args.filter((id) => at(nodes, id).kind !== 'carried');
  return other === undefined || more.length > 0 ? undefined : { op: step.op, other };
}

/** A constant that leaves moderate numbers such, however many of them there are. */
function numberOf({ nodes }: Body, id: ScalarId | undefined): number | undefined {
  const scalar = id === undefined ? undefined : at(nodes, id);
  return scalar?.kind === 'constant' && typeof scalar.value === 'number' && Math.abs(scalar.value) <= 1 << 16
    ? scalar.value
    : undefined;
}

const isNumber = ({ nodes }: Body, id: ScalarId | undefined, value: number | string): boolean => {
  const scalar = id === undefined ? undefined : at(nodes, id);
  return scalar?.kind === 'constant' && scalar.value === value;
};

const isLow = (range: Range): boolean => range === 'some' || range === 'low';

/** The largest of a row, or a number in its place where the row has no columns. */
function largestIn(body: Body, id: ScalarId): BufferId | undefined {
  const scalar = at(body.nodes, id);
  return scalar.kind === 'apply' && scalar.op === 'where' ? loadedBy(body, scalar.args[2]) : loadedBy(body, id);
}
