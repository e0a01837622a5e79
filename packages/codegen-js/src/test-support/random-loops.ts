// For tests: loop programs of one node that no operator makes. In: a seed. Out: a map, a reduction, a scan or a scatter whose bodies are
// drawn from all ops, casts, masked loads, coordinates and loaded indices, over buffers of every dtype with extreme elements, read
// backwards, in steps, in the same place over and over, and by quotients and remainders.
import { allDTypes, at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import {
  add,
  allocateElements,
  axisIndex,
  BodyBuilder,
  floorDivide,
  indirect,
  int,
  modulo,
  multiply,
} from '@tsinductor/ir';
import type {
  Axis,
  Body,
  BufferDecl,
  BufferId,
  ElementArray,
  Index,
  LoopNode,
  LoopProgram,
  ScalarId,
} from '@tsinductor/ir';
import { f16ToBits, pointwise, reductions, toBfloat16Bits } from '@tsinductor/ops';
import type { PointwiseName, PointwiseOp, ReductionName } from '@tsinductor/ops';

interface Loops {
  readonly program: LoopProgram;
  readonly inputs: ReadonlyMap<BufferId, ElementArray>;
}

/** Elements of every input. */
const count = 97;

/** Whole numbers below 2^32, the same for a seed. */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  below(limit: number): number {
    return this.next() % limit;
  }

  pick<T>(items: readonly T[]): T {
    return at(items, this.below(items.length));
  }
}

const floats = [0, -0, 1, -1, 0.5, 1.5, 2, 3, -3, 7.25, 1e-3, 1e10, -1e19, 2 ** 31, -(2 ** 31), 2 ** 31 - 1, 2 ** 53, 2 ** 63, -(2 ** 63), 1e300, 2 ** -126, 2 ** -149, 2 ** -1074, 65504, 65520, 3.4e38, NaN, Infinity, -Infinity, 255.5, -128.5, 0.1]; // prettier-ignore
const integers = [0n, 1n, -1n, 2n, 3n, -3n, 7n, 31n, 32n, 63n, 64n, 65n, 127n, -128n, 255n, 2n ** 31n, -(2n ** 31n), 2n ** 31n - 1n, 2n ** 32n, 2n ** 52n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 62n, 2n ** 63n - 1n, -(2n ** 63n), 12345n]; // prettier-ignore

function elementOf(dice: Dice, dtype: DType): number | bigint {
  if (dtype === 'i64') return dice.pick(integers);
  const value = isFloat(dtype) ? dice.pick(floats) : Number(BigInt.asIntN(32, dice.pick(integers)));
  if (dtype === 'bool') return value & 1;
  if (dtype === 'f16') return f16ToBits(value);
  return dtype === 'bf16' ? toBfloat16Bits(value) : value;
}

function filled(dice: Dice, dtype: DType): ElementArray {
  const array = allocateElements(dtype, count);
  for (let place = 0; place < count; place += 1) array[place] = elementOf(dice, dtype);
  return array;
}

/** A place within the inputs. */
function placeOf(dice: Dice, axes: readonly Axis[]): Index {
  let sum: Index = int(dice.below(5));
  for (const axis of axes) sum = add(sum, multiply(axisIndex(axis), int(dice.pick([0, 1, 1, 2, -1, -3, 7]))));
  // The lowest place that it may have is moved to 0.
  for (const axis of axes) sum = add(sum, multiply(subtracted(axis), int(dice.below(4))));
  const shift = add(sum, int(4 * count * 16));
  const wrapped = modulo(shift, int(count));
  return dice.below(4) === 0 ? modulo(floorDivide(shift, int(dice.pick([2, 3, 5]))), int(count)) : wrapped;
}

const subtracted = (axis: Axis): Index => add(axisIndex(axis), int(-1));

/** A place that is linear in the axes where it fits, as pointers follow. */
function linearPlace(dice: Dice, axes: readonly Axis[]): Index {
  const strides = axes.map(() => dice.pick([0, 1, 1, 2, -1]));
  const spans = axes.map(({ extent }, axis) => (extent.kind === 'int' ? extent.value - 1 : 0) * at(strides, axis));
  const low = spans.reduce((sum, span) => sum + Math.min(0, span), 0);
  const high = spans.reduce((sum, span) => sum + Math.max(0, span), 0);
  if (high - low >= count) return placeOf(dice, axes);
  return axes.reduce<Index>(
    (sum, axis, position) => add(sum, multiply(axisIndex(axis), int(at(strides, position)))),
    int(-low),
  );
}

interface Drawing {
  readonly dice: Dice;
  readonly axes: readonly Axis[];
  readonly dtypes: readonly DType[];
  readonly builder: BodyBuilder;
  readonly pool: ScalarId[];
}

const compute = (dtype: DType): DType => dtypeInfo[dtype].compute;
/** Building blocks of decompositions have preconditions that drawn operands do not meet. */
const names = (Object.keys(pointwise) as PointwiseName[]).filter((name) => pointwise[name].internal !== true);

function loaded({ dice, axes, dtypes, builder, pool }: Drawing): ScalarId {
  const buffer = dice.below(dtypes.length);
  const dtype = at(dtypes, buffer);
  const mask = pool.find((id) => builder.dtypeOf(id) === 'bool');
  const how = mask === undefined || dice.below(4) > 0 ? {} : { mask };
  const place =
    dice.below(5) === 0
      ? indexed({ dice, axes, dtypes, builder, pool })
      : dice.below(2) === 0
        ? placeOf(dice, axes)
        : linearPlace(dice, axes);
  return builder.cast(builder.load(buffer, dtype, place, how), compute(dtype));
}

/** A loaded index that is brought into range, and checked. */
function indexed({ dice, builder, pool }: Drawing): Index {
  const from = pool.length === 0 ? builder.constant(3, 'i64') : dice.pick(pool);
  const bits = builder.apply('bitwiseAnd', [builder.cast(from, 'i64'), builder.constant(63, 'i64')]);
  const index = dice.below(2) === 0 ? bits : builder.apply('sub', [bits, builder.constant(20, 'i64')]);
  return indirect(builder.check(index, int(count), { site: 0, wraps: true }), int(count));
}

/** Whether an op is computed at a dtype. */
function accepts({ accepts: own, rule }: PointwiseOp, dtype: DType): boolean {
  if (own?.includes(dtype) === false) return false;
  if (rule === 'promoteToFloat' && !isFloat(dtype)) return false;
  return rule !== 'logical' || dtype === 'bool';
}

/** Ops whose meaning on integers has corners: quotients, shifts, what wraps. Half of what is drawn. */
const ofIntegers: readonly PointwiseName[] = [
  'add', 'sub', 'mul', 'neg', 'abs', 'divTrunc', 'divFloor', 'remainder', 'fmod', 'bitwiseLeftShift', 'bitwiseRightShift', 'bitwiseAnd', 'bitwiseOr',
  'bitwiseXor', 'bitwiseNot', 'minimum', 'maximum', 'where', 'lt', 'ge', 'eq',
]; // prettier-ignore

/** What was drawn lately, mostly. */
const drawnLately = ({ dice, pool }: Pick<Drawing, 'dice' | 'pool'>): ScalarId =>
  at(pool, pool.length - 1 - dice.below(dice.below(3) === 0 ? pool.length : Math.min(3, pool.length)));

/** An op on values that have one dtype; undefined where it takes none of that dtype. */
function applied({ dice, builder, pool }: Drawing): ScalarId | undefined {
  const name = dice.pick(dice.below(2) === 0 ? names : ofIntegers);
  const entry = pointwise[name];
  const dtype = compute(builder.dtypeOf(drawnLately({ dice, pool })));
  if (!accepts(entry, dtype)) return undefined;
  const operands = Array.from({ length: entry.arity }, (_, position) => {
    if (position === 1 && !isFloat(dtype) && dice.below(3) === 0)
      return builder.constant(dtype === 'bool' ? dice.below(2) : dice.pick(small), dtype);
    return builder.cast(drawnLately({ dice, pool }), entry.rule === 'select' && position === 0 ? 'bool' : dtype);
  });
  return builder.apply(name, operands);
}

/** Divisors, widths of shifts, factors. */
const small = [0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 52, 63, 64, 100];

function grow(drawing: Drawing): void {
  const { dice, axes, builder, pool } = drawing;
  const kind = dice.below(20);
  if (kind < 4) pool.push(loaded(drawing));
  else if (kind < 6) pool.push(builder.index(add(placeOf(dice, axes), int(-dice.pick([0, 50, 1000])))));
  else if (kind < 7) pool.push(constantOf(builder, dice));
  else if (kind < 9) pool.push(builder.cast(drawnLately(drawing), compute(dice.pick(allDTypes))));
  else if (kind < 10) {
    const id = dice.pick(pool);
    const { bytes } = dtypeInfo[builder.dtypeOf(id)];
    const target = dice.pick(
      allDTypes.filter((dtype) => dtypeInfo[dtype].bytes === bytes && compute(dtype) === dtype && dtype !== 'bool'),
    );
    if (builder.dtypeOf(id) !== 'bool' && !isFloat(builder.dtypeOf(id))) pool.push(builder.bitcast(id, target));
  } else {
    const made = applied(drawing);
    if (made !== undefined) pool.push(made);
  }
}

function constantOf(builder: BodyBuilder, dice: Dice): ScalarId {
  const dtype = dice.pick(allDTypes.filter((each) => compute(each) === each));
  if (dtype === 'i64') return builder.constant(dice.pick(integers), dtype);
  return builder.constant(elementOf(dice, dtype), dtype);
}

/** A value of the dtype that is made of everything drawn last. */
function drawn(drawing: Drawing, dtype: DType): ScalarId {
  const { dice, builder, pool } = drawing;
  pool.push(loaded(drawing));
  for (let step = 2 + dice.below(9); step > 0; step -= 1) grow(drawing);
  return builder.cast(at(pool, pool.length - 1), dtype);
}

const axesOf = (dice: Dice, extents: readonly (readonly number[])[]): readonly Axis[] =>
  dice.pick(extents).map((extent, position) => ({ name: `i${String(position)}`, extent: int(extent) }));

const shapes = [[1], [40], [5, 8], [3, 1, 7], [17, 5], [2, 3, 4], [300], [2, 70]] as const;

/** Row-major places of a node's axes. */
const dense = (axes: readonly Axis[]): { readonly place: Index; readonly size: number } =>
  axes.reduceRight<{ place: Index; size: number }>(
    ({ place, size }, axis) => ({
      place: add(place, multiply(axisIndex(axis), int(size))),
      size: size * (axis.extent.kind === 'int' ? axis.extent.value : 1),
    }),
    { place: int(0), size: 1 },
  );

/** The same for a seed. */
export function randomLoops(seed: number): Loops {
  const dice = new Dice(seed);
  const given = dice.below(3) === 0 ? (['i64', 'i32', 'u8'] as const) : allDTypes;
  const dtypes = [dice.pick(given), dice.pick(given), 'i64' as const];
  const kind = dice.pick(['map', 'map', 'reduce', 'scan', 'scatter'] as const);
  const axes = axesOf(dice, shapes);
  const made = make[kind]({ dice, dtypes, axes });
  return { program: programOf(made, dtypes), inputs: new Map(dtypes.map((dtype, id) => [id, filled(dice, dtype)])) };
}

interface Making {
  readonly dice: Dice;
  readonly dtypes: readonly DType[];
  readonly axes: readonly Axis[];
}

interface Made {
  readonly node: LoopNode;
  readonly out: { readonly dtype: DType; readonly size: number };
}

const out = 3;
const common = { id: 0, outs: [out], origins: [] } as const;

const make: Readonly<Record<'map' | 'reduce' | 'scan' | 'scatter', (making: Making) => Made>> = {
  map: ({ dice, dtypes, axes }) => {
    const dtype = dice.pick(allDTypes);
    const builder = new BodyBuilder();
    const body = builder.finish([drawn({ dice, axes, dtypes, builder, pool: [] }, dtype)]);
    const { place, size } = dense(axes);
    return { node: { ...common, kind: 'map', writes: [place], axes, body }, out: { dtype, size } };
  },
  scatter: ({ dice, dtypes, axes }) => {
    const dtype = dice.pick(allDTypes);
    const builder = new BodyBuilder();
    const drawing = { dice, axes, dtypes, builder, pool: [] };
    const value = drawn(drawing, dtype);
    const place = indexed(drawing);
    const { nodes, results } = builder.finish([value, place.kind === 'indirect' ? place.value : value]);
    const mode = dice.pick(['set', 'add', 'multiply', 'min', 'max'] as const);
    const write = place.kind === 'indirect' ? indirect(at(results, 1), int(count)) : place;
    const body = { nodes, results: results.slice(0, 1) };
    return { node: { ...common, kind: 'scatter', mode, writes: [write], axes, body }, out: { dtype, size: count } };
  },
  reduce: (making) => folded(making, 'reduce'),
  scan: (making) => folded(making, 'scan'),
};

function folded({ dice, dtypes, axes }: Making, kind: 'reduce' | 'scan'): Made {
  const name = dice.pick(Object.keys(reductions) as ReductionName[]);
  const op = reductions[name];
  const input = dice.pick(op.accepts ?? allDTypes);
  const positions: Axis = { name: 'k', extent: int(dice.pick([1, 3, 10, 70, 700])) };
  const state = op.state(input);
  const all = [...axes, positions];
  const body = (build: (builder: BodyBuilder) => readonly ScalarId[]): Body => {
    const builder = new BodyBuilder();
    return builder.finish(build(builder));
  };
  const named = (builder: BodyBuilder, letter: string, first = 0): Record<string, ScalarId> =>
    Object.fromEntries(state.map((dtype, slot) => [`${letter}${String(slot)}`, builder.carried(first + slot, dtype)]));
  const step = body((builder) => {
    const x = builder.cast(drawn({ dice, axes: all, dtypes, builder, pool: [] }, compute(input)), op.accumulate(input));
    const bindings = { ...named(builder, 's'), x, i: builder.index(axisIndex(positions)) };
    return op.step(input).map((term, slot) => builder.inlineTerm(term, bindings, at(state, slot)));
  });
  const dtype = op.result(input);
  const bodies = {
    init: body((builder) => op.init(input).map((term, slot) => builder.inlineTerm(term, {}, at(state, slot)))),
    step,
    merge: body((builder) =>
      op
        .merge(input)
        .map((term, slot) =>
          builder.inlineTerm(term, { ...named(builder, 'a'), ...named(builder, 'b', state.length) }, at(state, slot)),
        ),
    ),
    finish: body((builder) => [
      builder.cast(builder.inlineTerm(op.finish(input), named(builder, 's'), compute(dtype)), dtype),
    ]),
  };
  const { place, size } = dense(kind === 'scan' ? all : axes);
  const node: LoopNode = { ...common, kind, writes: [place], axes, over: [positions], state, ...bodies };
  return { node, out: { dtype, size } };
}

function programOf({ node, out: { dtype, size } }: Made, dtypes: readonly DType[]): LoopProgram {
  const declared = (id: number, own: DType, length: number): BufferDecl => ({
    id, name: `b${String(id)}`, dtype: own, shape: [int(length)], strides: [int(1)], size: int(length),
    role: id === out ? 'output' : 'input',
  }); // prettier-ignore
  return {
    buffers: [...dtypes.map((own, id) => declared(id, own, count)), declared(out, dtype, size)],
    inputs: dtypes.map((_, id) => id),
    outputs: [out],
    nodes: [node],
    sizes: [],
    sites: [{ op: 'take', what: 'the index' }],
  };
}
