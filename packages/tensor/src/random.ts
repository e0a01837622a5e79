// Random tensors, counter-based: element i of the c-th call since the seed was set is a pure function of (seed, c, i), by
// the mapping in philox.ts, so that eager, traced and compiled programs draw the same numbers. Of the words w0.. of an element:
//
//   uniform   f32: (w0 >> 8) * 2^-24, f64: 53 bits of w0 w1, f16 and bf16: their 11 and 8 leading bits of w0; in [0, 1)
//   normal    Box-Muller: sqrt(-2 ln u) cos(2 pi v), u in (0, 1]; f32 and halves: u from w0, v from w1, in f32;
//             f64: u from w0 w1, v from w2 w3
//   integers  low + (63 bits of w0 w1) mod (high - low)
//
// Seed and number of calls are a tensor of two i64. A traced function reads and counts it up like any captured tensor, so
// its compiled form draws fresh numbers at every call. The words are computed here by plain integers, and in traces by
// the same steps as operators on i64; a test holds them together.
import { at, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { convertElement, makeElements } from './element-array.ts';
import { withoutGradients } from './autograd/grad-mode.ts';
import { tensorOfElements } from './create.ts';
import { ambientDevice, onDevice, parseDevice } from './device.ts';
import type { DeviceName } from './device.ts';
import { dispatchOne } from './dispatch.ts';
import { badArgument, invalidDType } from './errors.ts';
import { checkOptions } from './given-options.ts';
import { checkShape, elementsOf } from './layout.ts';
import { blocksTogether, leadingBits, philox } from './philox.ts';
import type { Words, WordsEach } from './philox.ts';
import { drawnForSamples } from './mapping/random-samples.ts';
import type { GivenShape, Known, Open, Shape } from './element-types.ts';
import { processState, unrecorded } from './process-state.ts';
import { boxMuller, tracedInteger, tracedNormal, tracedUniform } from './random-operators.ts';
import { outsideScopes } from './scope.ts';
import { placeOf } from './tensor.ts';
import type { Tensor } from './tensor.ts';
import { sendTo } from './transfer.ts';
import { copyInto, write } from './write.ts';

export interface RandomOptions<E extends DType = DType> {
  readonly dtype?: E;
  /** Where the numbers are to be: `cpu` by default. They are the same everywhere. */
  readonly device?: DeviceName;
}

export interface DrawOptions<E extends DType = DType> extends RandomOptions<E> {
  /** Where the numbers go: a tensor of the shape that is drawn, whose dtype and device are the default then. */
  readonly out?: Tensor<E>;
}

/** Restarts the random numbers: the same seed gives the same numbers. */
export function manualSeed(seed: number | bigint): void {
  if (typeof seed === 'number' && !Number.isSafeInteger(seed))
    throw badArgument('manualSeed', `seed ${String(seed)}`, 'use a whole number');
  const fresh = tensorOfElements(BigInt64Array.of(BigInt.asIntN(64, BigInt(seed)), 0n), 'i64', [2]);
  copyInto(randomState(), fresh, { operation: 'manualSeed' });
}

/** Seed and number of calls so far, as they are: a program may save a copy and write it back. */
export function randomState(): Tensor {
  const make = (): Tensor =>
    unrecorded(() => onDevice('cpu', () => tensorOfElements(new BigInt64Array(2), 'i64', [2])));
  // Outside of any scope: it lives as long as the process.
  return (processState.randomState ??= outsideScopes(make));
}

/** A copy of it, which later draws leave as it is. */
export const savedRandomState = (): Tensor => withoutGradients(() => dispatchOne('clone', [randomState()]));

/** Does `work` with the random numbers that followed when `state` was saved, and goes on as if it had drawn none. Undefined: just does it. */
export function withRandomState<T>(state: Tensor | undefined, work: () => T): T {
  if (state === undefined) return work();
  const after = savedRandomState();
  const restore = (to: Tensor): unknown => copyInto(randomState(), to, { operation: 'random numbers as before' });
  restore(state);
  try {
    return work();
  } finally {
    restore(after);
  }
}

/** Numbers are drawn on the host, and in a graph where they are used. */
function drawnOn(device: DeviceName | undefined, draw: () => Tensor): Tensor {
  const target = device === undefined ? ambientDevice() : parseDevice(device);
  if (processState.recorder !== undefined) return onDevice(target, draw);
  return sendTo(onDevice('cpu', draw), target);
}

interface Draw {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

interface Wanted {
  readonly name: string;
  readonly shape: readonly number[];
  readonly options: DrawOptions;
  /** Where nothing says another one. */
  readonly dtype: DType;
}

/** Draws, into `out` where that is given. */
function drawnInto<E extends DType, N extends Shape>(
  { name, shape, options, dtype: usual }: Wanted,
  draw: (dtype: DType, shape: readonly number[]) => Tensor,
): Tensor<Known<E>, N> {
  checkOptions(name, options, ['dtype', 'device', 'out']);
  const { out, dtype = out?.dtype ?? usual, device = out?.device } = options;
  if (out !== undefined && dtype !== out.dtype)
    throw badArgument(name, `dtype is ${dtype}, and out is ${out.dtype}`, 'leave dtype away');
  const numbers = drawnOn(device, () => drawnForSamples(name, shape, (all) => draw(dtype, all)));
  if (out === undefined) return numbers as Tensor<Known<E>, N>;
  write(out, numbers, { operation: `${name} with out` });
  return out as Tensor<Known<E>, N>;
}

/** Uniform numbers in [0, 1). */
export const rand = <E extends DType = 'f32', N extends Shape = Open>(
  shape: GivenShape<N>,
  options: DrawOptions<E> = {},
): Tensor<NoInfer<Known<E>>, N> =>
  drawnInto({ name: 'rand', shape, options, dtype: 'f32' }, (dtype, all) => {
    const draw = checkDraw('rand', all, dtype);
    return drawn(draw, uniformOf(dtype), (state) => tracedUniform(state, draw));
  });

/** Numbers with the standard normal distribution. */
export const randn = <E extends DType = 'f32', N extends Shape = Open>(
  shape: GivenShape<N>,
  options: DrawOptions<E> = {},
): Tensor<NoInfer<Known<E>>, N> =>
  drawnInto({ name: 'randn', shape, options, dtype: 'f32' }, (dtype, all) =>
    drawnNormal(checkDraw('randn', all, dtype)),
  );

function drawnNormal(draw: Draw): Tensor {
  if (processState.recorder !== undefined) return tracedNormal(randomState(), draw);
  const drawnPair = draw.dtype === 'f64' ? doublePair : singlePair;
  const [u, v] = drawTensors(draw.shape, drawnPair) as [Tensor, Tensor];
  return dispatchOne('to', [boxMuller(u, v), draw.dtype]);
}

/** Whole numbers from `low` to before `high`. */
// eslint-disable-next-line max-params -- the signature is PyTorch's
export function randint<E extends DType = 'i64', N extends Shape = Open>(
  low: number,
  high: number,
  shape: GivenShape<N>,
  options: DrawOptions<E> = {},
): Tensor<NoInfer<Known<E>>, N> {
  const sizes = checkShape(shape);
  if (![low, high].every(Number.isSafeInteger) || high <= low) {
    throw badArgument('randint', `no whole number from ${String(low)} to before ${String(high)}`, 'give low < high');
  }
  const range = BigInt(high) - BigInt(low);
  return drawnInto({ name: 'randint', shape: sizes, options, dtype: 'i64' }, (dtype, all) => {
    if (dtype === 'bool') throw invalidDType(dtype);
    const sample: Sample = (words, first) => {
      const bits = (BigInt(at(words, first) & 0x7fffffff) << 32n) | BigInt(at(words, first + 1));
      return convertElement(BigInt(low) + (bits % range), 'i64', dtype);
    };
    const draw = { shape: all, dtype };
    const samples = { dtype, each: 2, of: [sample] } as const;
    return drawn(draw, samples, (state) => tracedInteger(state, draw, { low, high }));
  });
}

/** A random order of 0 .. n - 1. */
export const randperm = <E extends DType = 'i64'>(
  n: number,
  options: DrawOptions<E> = {},
): Tensor<NoInfer<Known<E>>, [number]> =>
  drawnInto({ name: 'randperm', shape: checkShape([n]), options, dtype: 'i64' }, (dtype, all) =>
    drawnOrder(all, dtype),
  );

function drawnOrder(shape: readonly number[], dtype: DType): Tensor {
  const drawnKeys = rand(shape, { dtype: 'f64' });
  // The same order, as operators.
  if (processState.recorder !== undefined || shape.length > 1)
    return dispatchOne('to', [dispatchOne('argsort', [drawnKeys], { stable: true }), dtype]);
  const n = at(shape, 0);
  const keys = drawnKeys.toTypedArray() as Float64Array;
  const order = Array.from(keys.keys()).sort((a, b) => {
    const [first = 0, second = 0] = [keys[a], keys[b]];
    return first === second ? a - b : first - second;
  });
  const elements = makeElements(dtype, n);
  order.forEach((value, position) => {
    elements[position] = convertElement(BigInt(value), 'i64', dtype);
  });
  return tensorOfElements(elements, dtype, shape);
}

const like =
  (name: string, draw: (shape: readonly number[], options: RandomOptions) => Tensor) =>
  (input: Tensor, options: RandomOptions = {}): Tensor => {
    checkOptions(name, options, ['dtype', 'device']);
    const dtype = options.dtype ?? input.dtype;
    if (!isFloat(dtype)) throw badArgument(name, `the tensor is ${dtype}`, "give { dtype: 'f32' }");
    return draw(input.shape, { dtype, device: options.device ?? input.device });
  };

/** Draws in the shape of a tensor, in its dtype or another. */
type DrawLike = <D extends DType, S extends Shape, E extends DType = D>(
  input: Tensor<D, S>,
  options?: RandomOptions<E>,
) => Tensor<NoInfer<Known<E>>, S>;

/** Uniform numbers in the shape and dtype of a tensor. */
export const randLike: DrawLike = like('randLike', rand);
/** Normal numbers in the shape and dtype of a tensor. */
export const randnLike: DrawLike = like('randnLike', randn);

function checkDraw(name: string, shape: readonly number[], dtype: DType): Draw {
  if (!isFloat(dtype))
    throw badArgument(name, `dtype ${dtype} is not a float`, 'use f32, f64, f16 or bf16, or randint');
  return { shape: processState.recorder === undefined ? checkShape(shape) : shape, dtype };
}

/** What an element is, by its words from `first` on. */
type Sample = (words: Uint32Array, first: number) => number | bigint;

/** Tensors that are drawn from the same words, so many for each element. */
interface Samples {
  readonly dtype: DType;
  readonly each: WordsEach;
  readonly of: readonly Sample[];
}

/** A tensor of samples; the state counts one call more. */
function drawn({ shape }: Draw, samples: Samples, traced: (state: Tensor) => Tensor): Tensor {
  if (processState.recorder !== undefined) return traced(randomState());
  return at(drawTensors(shape, samples), 0);
}

function drawTensors(shape: readonly number[], { dtype, each, of: samples }: Samples): readonly Tensor[] {
  const { storage, layout } = placeOf(randomState(), 'random numbers');
  const state = storage.elements('i64', layout.offset) as BigInt64Array;
  const [seed, calls] = [at(state, 0), at(state, 1)];
  const count = elementsOf(shape);
  const filled = samples.map((sample) => {
    const elements = makeElements(dtype, count);
    return { sample, elements };
  });
  forEachElement({ seed, calls, count, each }, (words, first, element) => {
    for (const { sample, elements } of filled) elements[element] = sample(words, first);
  });
  storage.noteWrite();
  state[1] = calls + 1n;
  return filled.map(({ elements }) => tensorOfElements(elements, dtype, shape));
}

interface Drawing {
  readonly seed: bigint;
  readonly calls: bigint;
  readonly count: number;
  readonly each: WordsEach;
}

/** Visits every element with its words, from `first` on, block by block. */
function forEachElement(
  { seed, calls, count, each }: Drawing,
  visit: (words: Uint32Array, first: number, element: number) => void,
): void {
  const key = halves(seed);
  const counter: Words = [0, 0, ...halves(calls)];
  const words = new Uint32Array(counter.length);
  const shares = words.length / each;
  for (let block = 0; ; block += 1) {
    let element = firstElement(block, shares);
    if (element >= count) return;
    counter[0] = block >>> 0;
    counter[1] = Math.floor(block / 2 ** 32);
    philox(counter, key, words);
    for (let share = 0; share < shares && element < count; share += 1, element += blocksTogether)
      visit(words, share * each, element);
  }
}

/** The first of the elements that share a block. */
const firstElement = (block: number, shares: number): number =>
  Math.floor(block / blocksTogether) * blocksTogether * shares + (block % blocksTogether);

const halves = (value: bigint): [number, number] => [Number(value & 0xffffffffn), Number((value >> 32n) & 0xffffffffn)];

/** 53 bits in [0, 1). */
const double = (high: number, low: number): number => ((high >>> 5) * 2 ** 26 + (low >>> 6)) * 2 ** -53;

/** Reads of words are in bounds: a check of each would be most of the time. */
const wordAt = (words: Uint32Array, place: number): number => words[place] ?? 0;

/** 53 bits of two words. */
const doubleAt = (words: Uint32Array, place: number): number => double(wordAt(words, place), wordAt(words, place + 1));

function uniformOf(dtype: DType): Samples {
  if (dtype === 'f64') return { dtype, each: 2, of: [doubleAt] };
  const count = leadingBits(dtype);
  const [shift, scale] = [32 - count, 2 ** -count];
  const uniform = (words: Uint32Array, first: number): number => (wordAt(words, first) >>> shift) * scale;
  // Exact at f32.
  if (dtype === 'f32') return { dtype, each: 1, of: [uniform] };
  return { dtype, each: 1, of: [(words, first) => convertElement(uniform(words, first), 'f32', dtype)] };
}

/** What Box-Muller takes: u in (0, 1] and v in [0, 1). */
const singlePair: Samples = {
  dtype: 'f32',
  each: 2,
  of: [
    (words, first) => ((wordAt(words, first) >>> 8) + 1) * 2 ** -24,
    (words, first) => (wordAt(words, first + 1) >>> 8) * 2 ** -24,
  ],
};
const doublePair: Samples = {
  dtype: 'f64',
  each: 4,
  of: [(words, first) => doubleAt(words, first) + 2 ** -53, (words, first) => doubleAt(words, first + 2)],
};
