// Tensors from the values of a program: nested arrays, typed arrays, numbers, memory. In: anything a user may pass; what
// does not fit is refused with its place in the data. Out: contiguous tensors. While a function is traced, literals are
// recorded as constants of its graph.
import { types } from 'node:util';
import type { DType } from '@tsinductor/base';
import { ambientDevice, onDevice, parseDevice } from './device.ts';
import type { DeviceName } from './device.ts';
import type { Known, Open } from './element-types.ts';
import { convertElement, makeElements } from './element-array.ts';
import type { ElementArray } from './element-array.ts';
import { badArgument, cannotShare, elementCount, foreignArray } from './errors.ts';
import { checkOptions, requireAttached } from './given-options.ts';
import { checkShape, elementsOf, rowMajorLayout } from './layout.ts';
import { flattenNested } from './nested.ts';
import type { TensorData } from './nested.ts';
import { processState } from './process-state.ts';
import { shareMemory } from './storage.ts';
import { isTensor, placedTensor } from './tensor.ts';
import type { Tensor } from './tensor.ts';
import { placedElements } from './transfer.ts';
import { nameOfView, ownDType } from './typed-arrays.ts';

export interface TensorOptions<E extends DType = DType> {
  /** Default: that of a typed array; else i64 for whole numbers, f32 for others, bool for booleans. */
  readonly dtype?: E;
  /** Default: the nesting of the arrays. */
  readonly shape?: readonly number[];
  /** Use the memory of a typed array instead of copying it: both see each other's writes. */
  readonly share?: boolean;
  /** Where it is to be: `cpu` by default. */
  readonly device?: DeviceName;
}

/**
 * A tensor of the given values: a number, bigint or boolean, nested arrays of them, or a typed array.
 *
 * @example tensor([[1, 2], [3, 4]], { dtype: 'f32' })
 * @example tensor(new Float32Array(6), { shape: [2, 3] })
 */
export function tensor<E extends DType = Open>(
  data: TensorData | Tensor,
  options: TensorOptions<E> = {},
): Tensor<NoInfer<Known<E>>> {
  checkOptions('tensor', options, ['dtype', 'shape', 'share', 'device']);
  const { dtype, shape, share, device } = options;
  if (device !== undefined && parseDevice(device) !== ambientDevice())
    return onDevice(parseDevice(device), () => tensor(data, options));
  if (isTensor(data)) throw badArgument('tensor', 'the data is a tensor already', 'use x.clone() or x.to(dtype)');
  if (types.isAnyArrayBuffer(data)) throw foreignArray('ArrayBuffer', 'use fromBuffer(buffer, { dtype })');
  if (ArrayBuffer.isView(data)) return fromView(data, options) as Tensor<Known<E>>;
  if (share === true) throw cannotShare('only typed arrays have memory to share');
  const flat = flattenNested(data, dtype);
  return made(flat.elements, flat.dtype, fitShape(shape ?? flat.shape, flat.elements.length)) as Tensor<Known<E>>;
}

function fitShape(shape: readonly number[], count: number): readonly number[] {
  const sizes = checkShape(shape);
  const wanted = elementsOf(sizes);
  if (wanted !== count) throw elementCount(sizes, wanted, count);
  return sizes;
}

/** Elements as they lie in a typed array, and the dtype of which they are. */
interface Source {
  readonly elements: ElementArray;
  readonly own: DType;
  /** False for a Float16Array, which reads as numbers where tensors keep bits. */
  readonly liesAsOwn: boolean;
}

function sourceOf(view: ArrayBufferView, dtype: DType | undefined): Source {
  const name = nameOfView(view);
  const own = name === 'Uint16Array' && (dtype === 'f16' || dtype === 'bf16') ? dtype : ownDType(view);
  return { elements: view as unknown as ElementArray, own, liesAsOwn: name !== 'Float16Array' };
}

function fromView(view: ArrayBufferView, { dtype, shape, share }: TensorOptions): Tensor {
  requireAttached(view.buffer);
  const source = sourceOf(view, dtype);
  const { elements, own } = source;
  const sizes = fitShape(shape ?? [elements.length], elements.length);
  const target = dtype ?? own;
  if (share === true && ambientDevice() !== 'cpu') throw cannotShare(`${ambientDevice()} has memory of its own`);
  if (share === true) return shared(view, source, { dtype: target, shape: sizes });
  const isReady = source.liesAsOwn && own === target;
  return made(isReady ? elements : convert(elements, source.liesAsOwn ? own : 'f32', target), target, sizes);
}

function shared(
  { buffer, byteOffset, byteLength }: ArrayBufferView,
  { elements, own }: Source,
  meta: Required<Pick<TensorOptions, 'dtype' | 'shape'>>,
): Tensor {
  const { dtype, shape } = meta;
  if (dtype !== own && !isBoolean(dtype, elements)) throw cannotShare(`the array holds ${own}, not ${dtype}`);
  if (!types.isArrayBuffer(buffer)) throw cannotShare('the memory is shared between threads');
  return placedTensor(dtype, shareMemory({ buffer, byteOffset, byteLength }), rowMajorLayout(shape));
}

/** Bytes that are all 0 or 1 are bools as they lie. */
const isBoolean = (dtype: DType, elements: ElementArray): boolean =>
  dtype === 'bool' &&
  elements.BYTES_PER_ELEMENT === 1 &&
  Array.from(elements as Uint8Array).every((value) => value === 0 || value === 1);

/** Elements in another dtype, as a cast gives them. */
function convert(elements: ElementArray, from: DType, to: DType): ElementArray {
  const converted = makeElements(to, elements.length);
  for (let i = 0; i < elements.length; i += 1) converted[i] = convertElement(elements[i] ?? 0, from, to);
  return converted;
}

/** A new tensor of the elements. */
function made(elements: ElementArray, dtype: DType, shape: readonly number[]): Tensor {
  const { recorder } = processState;
  if (recorder !== undefined) {
    const bytes = new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
    return recorder.literal(Uint8Array.from(bytes), { dtype, shape });
  }
  return placedElements(elements, { dtype, shape }, ambientDevice());
}

/** A tensor of the given elements, copied; for files and random numbers. */
export const tensorOfElements: (elements: ElementArray, dtype: DType, shape: readonly number[]) => Tensor = made;
