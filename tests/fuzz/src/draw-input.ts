// Inputs for programs: what their elements are, and how they lie in memory. In: a shape, a dtype, a class of contents.
// Out: an InputSpec. Contents range from well-behaved numbers to NaN, infinities, -0, denormals and the extreme integers;
// layouts from contiguous to transposed, stepped, offset and broadcast (stride 0).
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { f16ToBits, toBfloat16Bits } from '@tsinductor/ops';
import type { Contents, InputSpec } from './program.ts';
import type { Random } from './random.ts';

export const drawContents = (random: Random): Contents => ({
  kind: random.weighted([
    [45, 'normal'],
    [18, 'whole'],
    [10, 'unit'],
    [8, 'positive'],
    [4, 'wide'],
    [4, 'constant'],
    [8, 'special'],
    [3, 'full'],
  ] as const),
});

const specialFloats = [NaN, Infinity, -Infinity, 0, -0, 1, -1, 0.5, 2, 1e-3, 1e4];
/** The least normal number, the least denormal one and the largest one of each float dtype. */
const extremes: Partial<Record<DType, readonly number[]>> = {
  f64: [2.2250738585072014e-308, 5e-324, 1.7976931348623157e308],
  f32: [1.1754943508222875e-38, 1.401298464324817e-45, 3.4028234663852886e38],
  f16: [6.103515625e-5, 5.960464477539063e-8, 65504],
  bf16: [1.1754943508222875e-38, 9.183549615799121e-41, 3.3895313892515355e38],
};

function drawFloat(random: Random, contents: Contents, dtype: DType): number {
  switch (contents.kind) {
    case 'normal':
    case 'sorted':
    case 'constant':
      return random.normal();
    case 'whole':
      return random.between(-4, 4);
    case 'unit':
      return random.real();
    case 'positive':
      return 0.05 + 3 * random.real();
    case 'wide':
      return random.normal() * 10 ** random.between(-6, 6);
    case 'special':
    case 'full':
      if (!random.chance(0.2)) return random.normal() * 3;
      return random.chance(0.75)
        ? random.pick(specialFloats)
        : random.pick(extremes[dtype] ?? [0]) * random.pick([1, -1, 2, 0.75]);
    case 'indices':
      return random.below(contents.below);
  }
}

function drawInteger(random: Random, contents: Contents, dtype: DType): bigint {
  const { bytes, signed } = dtypeInfo[dtype];
  const bits = BigInt(bytes * 8);
  const [low, high] = signed ? [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n] : [0n, (1n << bits) - 1n];
  const small = (from: number, to: number): bigint => BigInt(random.between(signed ? from : 0, to));
  switch (contents.kind) {
    case 'unit':
      return small(0, 1);
    case 'positive':
      return small(1, 6);
    case 'indices':
      return BigInt(random.below(contents.below));
    case 'wide':
      return small(-100, 100);
    case 'special':
      if (random.chance(0.8)) return small(-5, 9);
      return random.pick([low, high, low + 1n, high - 1n, 0n]);
    case 'full':
      return (
        low + ((BigInt(random.below(2 ** 32)) * BigInt(2 ** 32) + BigInt(random.below(2 ** 32))) % (high - low + 1n))
      );
    case 'normal':
    case 'whole':
    case 'sorted':
    case 'constant':
      return small(-9, 9);
  }
}

/** `count` elements as the bytes of the dtype. */
function drawElements(
  random: Random,
  count: number,
  { dtype, contents }: { dtype: DType; contents: Contents },
): string {
  const { category, bytes } = dtypeInfo[dtype];
  const one = (): number | bigint =>
    category === 'float'
      ? drawFloat(random, contents, dtype)
      : category === 'bool'
        ? BigInt(random.below(2))
        : drawInteger(random, contents, dtype);
  const first = one();
  const values = Array.from({ length: count }, () => (contents.kind === 'constant' ? first : one()));
  if (contents.kind === 'sorted') values.sort((a, b) => Number(a) - Number(b));
  const buffer = Buffer.alloc(count * bytes);
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
  const write = writers[dtype];
  values.forEach((value, position) => {
    write(view, position * bytes, value);
  });
  return buffer.toString('base64');
}

type Writer = (view: DataView, at: number, value: number | bigint) => void;

const writers: Readonly<Record<DType, Writer>> = {
  f64: (view, at, value) => view.setFloat64(at, Number(value), true),
  f32: (view, at, value) => view.setFloat32(at, Number(value), true),
  f16: (view, at, value) => view.setUint16(at, f16ToBits(Number(value)), true),
  bf16: (view, at, value) => view.setUint16(at, toBfloat16Bits(Number(value)), true),
  i64: (view, at, value) => view.setBigInt64(at, BigInt(value), true),
  i32: (view, at, value) => view.setInt32(at, Number(value), true),
  i16: (view, at, value) => view.setInt16(at, Number(value), true),
  i8: (view, at, value) => view.setInt8(at, Number(value)),
  u8: (view, at, value) => view.setUint8(at, Number(value)),
  bool: (view, at, value) => view.setUint8(at, Number(value)),
};

const rowMajor = (shape: readonly number[]): number[] =>
  shape.map((_, axis) => shape.slice(axis + 1).reduce((product, size) => product * Math.max(size, 1), 1));

interface Layout {
  readonly strides: readonly number[];
  readonly offset: number;
}

/** Contiguous most of the time; else transposed, stepped, with an offset, or broadcast along an axis. */
function drawLayout(random: Random, shape: readonly number[]): Layout {
  const strides = rowMajor(shape);
  const contiguous: Layout = { strides, offset: 0 };
  if (shape.length === 0) return random.chance(0.9) ? contiguous : { strides, offset: random.between(1, 5) };
  const kind = random.weighted([
    [70, 'contiguous'],
    [10, 'permuted'],
    [8, 'stepped'],
    [5, 'offset'],
    [7, 'broadcast'],
  ] as const);
  switch (kind) {
    case 'contiguous':
      return contiguous;
    case 'permuted': {
      const order = random.shuffled(shape.map((_, axis) => axis));
      const moved = rowMajor(order.map((axis) => at(shape, axis)));
      return { strides: shape.map((_, axis) => at(moved, order.indexOf(axis))), offset: 0 };
    }
    case 'stepped': {
      const step = random.between(2, 3);
      return { strides: strides.map((stride) => stride * step), offset: random.below(3) };
    }
    case 'offset':
      return { strides, offset: random.between(1, 9) };
    case 'broadcast': {
      const axis = random.below(shape.length);
      const rest = rowMajor(shape.map((size, position) => (position === axis ? 1 : size)));
      return { strides: rest.map((stride, position) => (position === axis ? 0 : stride)), offset: 0 };
    }
  }
}

export interface Wanted {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly contents: Contents;
  /** Contiguous, whatever the dice say. */
  readonly contiguous?: boolean;
}

export function drawInput(random: Random, { dtype, shape, contents, contiguous = false }: Wanted): InputSpec {
  const { strides, offset } = contiguous ? { strides: rowMajor(shape), offset: 0 } : drawLayout(random, shape);
  const reach = shape.includes(0)
    ? 0
    : shape.reduce((furthest, size, axis) => furthest + (size - 1) * at(strides, axis), 1);
  return { dtype, shape, strides, offset, contents, data: drawElements(random, offset + reach, { dtype, contents }) };
}
