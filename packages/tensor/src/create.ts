// Tensors from the values of a program: nested arrays, typed arrays, numbers, memory. In: anything a user may pass; what
// does not fit is refused with its place in the data. Out: contiguous tensors. While a function is traced, literals are
// recorded as constants of its graph.
import { types } from 'node:util';
import { isDType } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { byteSize, convertElement, makeElements } from './element-array.ts';
import type { ElementArray } from './element-array.ts';
import {
  badArgument,
  cannotShare,
  detachedBuffer,
  elementCount,
  foreignArray,
  invalidDType,
  unalignedBuffer,
  unknownOption,
} from './errors.ts';
import { checkShape, elementsOf, reach, rowMajor, rowMajorLayout } from './layout.ts';
import { flattenNested } from './nested.ts';
import type { TensorData } from './nested.ts';
import { processState } from './process-state.ts';
import { allocate, shareMemory } from './storage.ts';
import { isTensor, placedTensor } from './tensor.ts';
import type { Tensor } from './tensor.ts';

export interface TensorOptions {
  /** Default: that of a typed array; else i64 for whole numbers, f32 for others, bool for booleans. */
  readonly dtype?: DType;
  /** Default: the nesting of the arrays. */
  readonly shape?: readonly number[];
  /** Use the memory of a typed array instead of copying it: both see each other's writes. */
  readonly share?: boolean;
}

const typedArrays: Readonly<Record<string, DType>> = {
  Float64Array: 'f64',
  Float32Array: 'f32',
  Float16Array: 'f16',
  BigInt64Array: 'i64',
  Int32Array: 'i32',
  Int16Array: 'i16',
  Int8Array: 'i8',
  Uint8Array: 'u8',
  Uint8ClampedArray: 'u8',
};

const remedies: Readonly<Record<string, string>> = {
  BigUint64Array: 'use a BigInt64Array, as with new BigInt64Array(array.buffer, array.byteOffset, array.length)',
  Uint32Array: 'convert it, as with BigInt64Array.from(array, BigInt) or Float64Array.from(array)',
  Uint16Array: "convert it with Int32Array.from(array); for the bits of half floats pass { dtype: 'f16' } or 'bf16'",
  DataView: 'use a typed array, or fromBuffer(view.buffer, { dtype })',
};

/**
 * A tensor of the given values: a number, bigint or boolean, nested arrays of them, or a typed array.
 *
 * @example tensor([[1, 2], [3, 4]], { dtype: 'f32' })
 * @example tensor(new Float32Array(6), { shape: [2, 3] })
 */
export function tensor(data: TensorData | Tensor, options: TensorOptions = {}): Tensor {
  const { dtype, shape, share } = checkOptions('tensor', options, ['dtype', 'shape', 'share']);
  if (isTensor(data)) throw badArgument('tensor', 'the data is a tensor already', 'use x.clone() or x.to(dtype)');
  if (types.isAnyArrayBuffer(data)) throw foreignArray('ArrayBuffer', 'use fromBuffer(buffer, { dtype })');
  if (ArrayBuffer.isView(data)) return fromView(data, { dtype, shape, share });
  if (share === true) throw cannotShare('only typed arrays have memory to share');
  const flat = flattenNested(data, dtype);
  return made(flat.elements, flat.dtype, fitShape(shape ?? flat.shape, flat.elements.length));
}

export interface BufferOptions {
  readonly dtype: DType;
  /** Default: one dim over the whole buffer. */
  readonly shape?: readonly number[];
  /** Steps between neighbours along each dim, in elements. Default: row-major. */
  readonly strides?: readonly number[];
  /** Where the storage begins, in bytes, and in it the first element, in elements. */
  readonly byteOffset?: number;
  readonly offset?: number;
}

/** A tensor over the bytes of a buffer, which it shares: both see each other's writes. */
export function fromBuffer(buffer: ArrayBuffer, options: BufferOptions): Tensor {
  const { dtype, shape, strides, byteOffset = 0, offset = 0 } = options;
  checkOptions('fromBuffer', options, ['dtype', 'shape', 'strides', 'byteOffset', 'offset']);
  if (!isDType(dtype)) throw invalidDType(dtype);
  if (!types.isArrayBuffer(buffer)) throw badArgument('fromBuffer', 'this is not an ArrayBuffer', 'pass array.buffer');
  requireAttached(buffer);
  for (const [name, place] of Object.entries({ byteOffset, offset })) {
    if (Number.isSafeInteger(place) && place >= 0 && place <= buffer.byteLength) continue;
    throw badArgument('fromBuffer', `${name} ${String(place)} is not in the buffer`, 'use a whole number inside it');
  }
  const size = byteSize(dtype, 1);
  if (byteOffset % size !== 0) throw unalignedBuffer('byteOffset', size);
  const available = (buffer.byteLength - byteOffset) / size - offset;
  const sizes = shape === undefined ? [Math.max(Math.floor(available), 0)] : checkShape(shape);
  if (shape === undefined && !Number.isInteger(available)) throw unalignedBuffer('the length of the buffer', size);
  const layout = { shape: sizes, strides: strides === undefined ? rowMajor(sizes) : checkStrides(strides, sizes), offset };
  const count = reach(layout) - offset;
  if (count > available) throw elementCount(sizes, count, Math.max(Math.floor(available), 0));
  return placedTensor(dtype, shareMemory({ buffer, byteOffset, byteLength: buffer.byteLength - byteOffset }), layout);
}

function checkStrides(strides: readonly number[], shape: readonly number[]): readonly number[] {
  const fits = Array.isArray(strides) && strides.length === shape.length && strides.every((stride) => Number.isSafeInteger(stride) && stride >= 0);
  if (!fits) throw badArgument('fromBuffer', 'the strides do not fit the shape', 'give a whole number from 0 for each dim');
  return [...strides];
}

type Given = Pick<TensorOptions, 'dtype' | 'shape' | 'share'>;

/** Options with known names and types only: a misspelt one must not be ignored. */
function checkOptions(where: string, options: Given, known: readonly string[]): { [K in keyof Given]: Given[K] | undefined } {
  if (typeof options !== 'object' || (options as unknown) === null || Array.isArray(options)) {
    throw badArgument(where, 'the options are not an object', `pass an object with ${known.join(', ')}`);
  }
  const stranger = Object.keys(options).find((name) => !known.includes(name));
  if (stranger !== undefined) throw unknownOption(where, stranger, known);
  if (options.dtype !== undefined && !isDType(options.dtype)) throw invalidDType(options.dtype);
  return options as { [K in keyof Given]: Given[K] | undefined };
}

function fitShape(shape: readonly number[], count: number): readonly number[] {
  const sizes = checkShape(shape);
  const wanted = elementsOf(sizes);
  if (wanted !== count) throw elementCount(sizes, wanted, count);
  return sizes;
}

function fromView(view: ArrayBufferView, { dtype, shape, share }: { [K in 'dtype' | 'shape' | 'share']: TensorOptions[K] | undefined }): Tensor {
  requireAttached(view.buffer);
  const name = Object.prototype.toString.call(view).slice(8, -1);
  const bitsOf = name === 'Uint16Array' && (dtype === 'f16' || dtype === 'bf16') ? dtype : undefined;
  const own = bitsOf ?? (Object.hasOwn(typedArrays, name) ? typedArrays[name] : undefined);
  if (own === undefined) throw foreignArray(name, remedies[name] ?? 'use a typed array with a matching dtype');
  const elements = view as unknown as ElementArray;
  const sizes = fitShape(shape ?? [elements.length], elements.length);
  const target = dtype ?? own;
  // A Float16Array reads as numbers: those become bits; every other array lies as its dtype's elements do.
  const liesAs: DType | undefined = name === 'Float16Array' ? undefined : own;
  if (share !== true) return made(liesAs === target ? elements : convert(elements, liesAs ?? 'f32', target), target, sizes);
  if (target !== own && !isBoolean(target, elements)) throw cannotShare(`the array holds ${own}, not ${target}`);
  if (!types.isArrayBuffer(view.buffer)) throw cannotShare('the memory is shared between threads');
  const { buffer, byteOffset, byteLength } = view;
  return placedTensor(target, shareMemory({ buffer: buffer as ArrayBuffer, byteOffset, byteLength }), rowMajorLayout(sizes));
}

/** Bytes that are all 0 or 1 are bools as they lie. */
const isBoolean = (dtype: DType, elements: ElementArray): boolean =>
  dtype === 'bool' && elements.BYTES_PER_ELEMENT === 1 && Array.from(elements as Uint8Array).every((value) => value === 0 || value === 1);

/** Elements in another dtype, as a cast gives them. */
function convert(elements: ElementArray, from: DType, to: DType): ElementArray {
  const converted = makeElements(to, elements.length);
  for (let i = 0; i < elements.length; i += 1) converted[i] = convertElement(elements[i] ?? 0, from, to) as never;
  return converted;
}

function requireAttached(buffer: ArrayBufferLike): void {
  try {
    new Uint8Array(buffer);
  } catch {
    throw detachedBuffer();
  }
}

/** A new tensor of the elements. */
function made(elements: ElementArray, dtype: DType, shape: readonly number[]): Tensor {
  const { recorder } = processState;
  if (recorder !== undefined) {
    const bytes = new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
    return recorder.literal(Uint8Array.from(bytes), { dtype, shape });
  }
  const storage = allocate(byteSize(dtype, elements.length), 'durable');
  storage.elements(dtype).set(elements as never);
  return placedTensor(dtype, storage, rowMajorLayout(shape));
}

/** A tensor of the given elements, copied; for files and random numbers. */
export const tensorOfElements: (elements: ElementArray, dtype: DType, shape: readonly number[]) => Tensor = made;
