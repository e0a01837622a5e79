// Nested arrays of numbers become flat elements. In: any value; out: elements in row-major order with shape and dtype.
// Holes, ragged levels and foreign values are refused with their path. Nothing is converted twice. Typed arrays among them
// decide the dtype, as they do alone.
import { isFloat, isInteger } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { isWholeNumber } from '@tsinductor/graph';
import { promoteTypes } from '@tsinductor/ops';
import { encodeElement, makeElements } from './element-array.ts';
import type { ElementArray } from './element-array.ts';
import { deepArray, elementRange, notANumber, raggedArray, sparseArray } from './errors.ts';
import { maximumRank } from './layout.ts';
import { ownDType } from './typed-arrays.ts';

/** What `tensor` takes. */
export type TensorData = number | bigint | boolean | readonly TensorData[] | ArrayBufferView;

type Leaf = number | bigint | boolean;

interface Flat {
  readonly elements: ElementArray;
  readonly shape: readonly number[];
  readonly dtype: DType;
}

export function flattenNested(data: unknown, wanted: DType | undefined): Flat {
  const shape = leadingShape(data);
  const leaves: Leaf[] = [];
  const typed = new Set<DType>();
  const plain: Leaf[] = [];
  collect(data, { shape, leaves, typed: wanted === undefined ? typed : undefined, plain }, { depth: 0, path: 'data' });
  const dtype = wanted ?? dtypeTogether([...typed], plain);
  const elements = makeElements(dtype, leaves.length);
  leaves.forEach((leaf, position) => {
    requireRange(leaf, dtype, position);
    elements[position] = encodeElement(dtype, leaf);
  });
  return { elements, shape, dtype };
}

const isList = (value: unknown): value is ArrayLike<unknown> =>
  Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value);

const isLeaf = (value: unknown): value is Leaf =>
  typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean';

/** The shape that the first element of every level promises. */
function leadingShape(data: unknown): readonly number[] {
  const shape: number[] = [];
  for (let level = data; isList(level); level = level[0]) {
    if (shape.length === maximumRank) throw deepArray();
    shape.push(level.length);
    if (level.length === 0) break;
  }
  return shape;
}

interface Collected {
  readonly shape: readonly number[];
  readonly leaves: Leaf[];
  /** The dtypes of typed arrays, where these decide the dtype of all. */
  readonly typed: Set<DType> | undefined;
  /** Numbers that are in none. */
  readonly plain: Leaf[];
}

/** The dtype of typed arrays together; numbers beside them count as scalars do, which only make floats of integers. */
function dtypeTogether(typed: readonly DType[], plain: readonly Leaf[]): DType {
  const [first] = typed;
  if (first === undefined) return naturalDType(plain);
  const together = typed.reduce(promoteTypes, first);
  return plain.length > 0 && naturalDType(plain) === 'f32' && !isFloat(together) ? 'f32' : together;
}

function leafOf(value: unknown, path: string): Leaf {
  if (isList(value)) throw raggedArray(path, 'numbers', 'an array');
  if (!isLeaf(value)) throw notANumber(path, value);
  return value;
}

function collect(value: unknown, into: Collected, place: { depth: number; path: string; isTyped?: boolean }): void {
  const { shape, leaves } = into;
  const { depth, path, isTyped = false } = place;
  const wanted = shape[depth];
  if (wanted === undefined) {
    const leaf = leafOf(value, path);
    leaves.push(leaf);
    if (!isTyped) into.plain.push(leaf);
    return;
  }
  if (!isList(value)) throw isLeaf(value) ? raggedArray(path, 'arrays', 'a number') : notANumber(path, value);
  const isView = ArrayBuffer.isView(value);
  if (isView) into.typed?.add(ownDType(value));
  if (value.length !== wanted) throw raggedArray(path, `arrays of ${wanted}`, `an array of ${value.length}`);
  for (let i = 0; i < wanted; i += 1) {
    const item = value[i];
    if (item === undefined && !(i in value)) throw sparseArray(`${path}[${i}]`);
    collect(item, into, { depth: depth + 1, path: `${path}[${i}]`, isTyped: isView });
  }
}

/** As PyTorch infers it: any fraction makes floats, and any number beyond 64 bits; whole numbers are i64, booleans alone are bool. */
function naturalDType(leaves: readonly Leaf[]): DType {
  if (leaves.length === 0) return 'f32';
  const isFraction = (leaf: Leaf): boolean => typeof leaf === 'number' && (!isWholeNumber(leaf) || Object.is(leaf, -0));
  if (leaves.some(isFraction)) return 'f32';
  return leaves.every((leaf) => typeof leaf === 'boolean') ? 'bool' : 'i64';
}

const limits: Readonly<Partial<Record<DType, readonly [bigint, bigint]>>> = {
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
  i32: [-(2n ** 31n), 2n ** 31n - 1n],
  i16: [-(2n ** 15n), 2n ** 15n - 1n],
  i8: [-128n, 127n],
  u8: [0n, 255n],
};

function requireRange(leaf: Leaf, dtype: DType, position: number): void {
  if (!isInteger(dtype) || typeof leaf === 'boolean') return;
  const range = limits[dtype];
  const isWhole = typeof leaf === 'bigint' || Number.isFinite(leaf);
  if (range === undefined || isFloat(dtype)) return;
  const value = isWhole ? BigInt(typeof leaf === 'bigint' ? leaf : Math.trunc(leaf)) : undefined;
  if (value === undefined || value < range[0] || value > range[1])
    throw elementRange(`element ${position}`, leaf, dtype);
}
