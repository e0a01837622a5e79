// The language as TypeScript sees it inside a body: every block, scalar and pointer is a number, every test a boolean. The
// checker of this package knows dtypes and shapes; the editor knows names, arity and documentation.
import type { DType } from '@tsinductor/base';
import type { Binary, PointwiseName, Unary } from '@tsinductor/ops';
import type * as ops from '@tsinductor/ops';

/** A block or scalar. */
export type Block = number;
/** A block or scalar of bool. */
export type Mask = boolean;
type Shape = number | readonly number[];

/** Ops whose result is bool. */
type TestName =
  | 'eq'
  | 'ne'
  | 'lt'
  | 'le'
  | 'gt'
  | 'ge'
  | 'logicalNot'
  | 'logicalAnd'
  | 'logicalOr'
  | 'logicalXor'
  | 'isnan'
  | 'isinf'
  | 'isfinite'
  | 'isposinf'
  | 'isneginf'
  | 'isreal'
  | 'signbit';

type Result<Name> = Name extends TestName ? Mask : Block;
type Operand = Block | Mask;

/** The ops of the pointwise table, element by element with broadcasting, as `tl.exp(x)`. */
type PointwiseLanguage = {
  readonly [Name in Exclude<PointwiseName, 'where'>]: (typeof ops)[Name] extends Unary
    ? (x: Operand) => Result<Name>
    : (typeof ops)[Name] extends Binary
      ? (x: Operand, y: Operand) => Result<Name>
      : (x: Operand, y: Operand, z: Operand) => Result<Name>;
};

interface ReduceOptions {
  readonly axis?: number;
  readonly keepDims?: boolean;
}

/** The operations beside the pointwise ones. */
export interface CoreLanguage {
  /** Which instance of the grid this is, along `axis` (0, 1 or 2): an i32 scalar. */
  programId(axis: number): Block;
  /** How many instances the grid has along `axis`. */
  numPrograms(axis: number): Block;
  /** start, start + 1 ... end - 1 as an i32 block; the length is a power of two. */
  arange(start: number, end: number): Block;
  full(shape: Shape, value: number, dtype: DType): Block;
  zeros(shape: Shape, dtype: DType): Block;
  zerosLike(x: Block): Block;
  cast(x: Operand, dtype: DType, options?: { readonly bitcast?: boolean }): Block;
  bitcast(x: Block, dtype: DType): Block;
  /** Both operands at their common shape. */
  broadcast(x: Block, y: Block): readonly [Block, Block];
  broadcastTo(x: Operand, shape: Shape): Block;
  /** x with an axis of size 1 at `axis`. */
  expandDims(x: Operand, axis: number | readonly number[]): Block;
  squeeze(x: Block, axis: number): Block;
  reshape(x: Block, shape: Shape): Block;
  view(x: Block, shape: Shape): Block;
  ravel(x: Block): Block;
  trans(x: Block, order?: readonly number[]): Block;
  permute(x: Block, order: readonly number[]): Block;
  where(test: Operand, x: Operand, y: Operand): Block;
  clamp(x: Block, low: Block, high: Block): Block;
  fdiv(x: Block, y: Block): Block;
  cdiv(x: Block, y: Block): Block;
  nextPowerOf2(x: number): number;
  softmax(x: Block, options?: { readonly axis?: number }): Block;
  /** Elements at `pointer`; where `mask` is false nothing is read, and the element is `other` (or 0). */
  load(pointer: Block, mask?: Mask, other?: number): Block;
  store(pointer: Block, value: Operand, mask?: Mask): void;
  gather(source: Block, index: Block, axis: number): Block;
  /** [M, K] by [K, N], plus `acc`; floats are added in f32 (f64), integers in i32. */
  dot(a: Block, b: Block, acc?: Block, options?: { readonly precision?: 'ieee' | 'tf32' }): Block;
  reduce(x: Block, axis: number, combine: (a: number, b: number) => number, options?: ReduceOptions): Block;
  reduce<const Blocks extends readonly Block[]>(
    x: Blocks,
    axis: number,
    combine: (...elements: number[]) => readonly number[],
    options?: ReduceOptions,
  ): { readonly [Place in keyof Blocks]: Block };
  sum(x: Operand, options?: ReduceOptions & { readonly dtype?: DType }): Block;
  max(x: Block, options?: ReduceOptions): Block;
  min(x: Block, options?: ReduceOptions): Block;
  /** The largest element and its first position. */
  maxWithIndex(x: Block, options?: ReduceOptions): readonly [Block, Block];
  minWithIndex(x: Block, options?: ReduceOptions): readonly [Block, Block];
  argmax(x: Block, options?: ReduceOptions): Block;
  argmin(x: Block, options?: ReduceOptions): Block;
  xorSum(x: Block, options?: ReduceOptions): Block;
  reduceOr(x: Operand, options?: ReduceOptions): Block;
  associativeScan(
    x: Block,
    axis: number,
    combine: (a: number, b: number) => number,
    options?: { readonly reverse?: boolean },
  ): Block;
  associativeScan<const Blocks extends readonly Block[]>(
    x: Blocks,
    axis: number,
    combine: (...elements: number[]) => readonly number[],
    options?: { readonly reverse?: boolean },
  ): { readonly [Place in keyof Blocks]: Block };
  cumsum(x: Block, axis?: number, options?: { readonly reverse?: boolean; readonly dtype?: DType }): Block;
  cumprod(x: Block, axis?: number, options?: { readonly reverse?: boolean }): Block;
  /** Adds to elements of memory, as one step each; gives what was there before. */
  atomicAdd(pointer: Block, value: Operand, mask?: Mask): Block;
  atomicMax(pointer: Block, value: Operand, mask?: Mask): Block;
  atomicMin(pointer: Block, value: Operand, mask?: Mask): Block;
  atomicAnd(pointer: Block, value: Operand, mask?: Mask): Block;
  atomicOr(pointer: Block, value: Operand, mask?: Mask): Block;
  atomicXor(pointer: Block, value: Operand, mask?: Mask): Block;
  atomicXchg(pointer: Block, value: Operand, mask?: Mask): Block;
  /** Where an element equals `expected` it becomes `value`; gives what was there before. */
  atomicCas(pointer: Block, expected: Operand, value: Operand): Block;
  /** Four words of Philox 4x32-10 for a counter (c0, c1, 0, 0) and a key, as i32 blocks. */
  randint4x(seed: Block, offset: Block): readonly [Block, Block, Block, Block];
  randint(seed: Block, offset: Block): Block;
  /** Uniform in [0, 1), f32: what `tensor` calls give for that seed and element. */
  rand(seed: Block, offset: Block): Block;
  /** Normal, f32. */
  randn(seed: Block, offset: Block): Block;
  /** A loop when the kernel runs; `staticRange` is one when it is compiled. */
  range(start: number, end?: number, step?: number, options?: { readonly numStages?: number }): Iterable<number>;
  staticRange(start: number, end?: number, step?: number): Iterable<number>;
  /** Vouches that runs of x begin at multiples of n (one number for each axis). */
  multipleOf(x: Block, values: number | readonly number[]): Block;
  maxContiguous(x: Block, values: number | readonly number[]): Block;
  maxConstancy(x: Block, values: number | readonly number[]): Block;
  debugBarrier(): void;
  staticAssert(test: boolean, message?: string): void;
  /**
   * Prints a line for each element of each value, as C's printf writes it (`%.9g`, f64 `%.17g`, integers in decimal, bool as 0
   * and 1), in the manner of Triton: `pid (0, 0, 0) idx (3) x = 2.5`. The prefix stands as it is given; with several values it
   * is followed by `(operand 1) `.
   */
  devicePrint(prefix: string, ...values: Operand[]): void;
  /**
   * The launch fails with KERNEL_ASSERT where an element of the test is false and, if there is a mask, the mask true. The
   * instance goes no further; what the others do is undefined.
   */
  deviceAssert(test: Operand, message?: string, mask?: Mask): void;
  /** Vouches that a test of scalars holds. The interpreter checks it, compiled code does not. */
  assume(test: Operand): void;
}

/** The dtypes, as `tl.f32`. */
type LanguageDTypes = Readonly<Record<DType, DType>>;

/** The second parameter of a kernel's body. */
export interface Language extends CoreLanguage, PointwiseLanguage, LanguageDTypes {}
