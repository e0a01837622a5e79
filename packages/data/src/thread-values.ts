// Batches on their way between threads: a tensor crosses as its elements, dtype and shape, and is a tensor again on the other side. All else
// that can be cloned crosses as it is.
import type { DType } from '@tsinductor/base';
import { isTensor, tensor } from '@tsinductor/tensor';
import { isRecord } from './dataset.ts';

/** A tensor as data. The mark is a word that no record of a program will have. */
interface SentTensor {
  readonly tsinductorTensor: DType;
  readonly shape: readonly number[];
  readonly elements: Parameters<typeof tensor>[0];
}

const isSent = (value: object): value is SentTensor => 'tsinductorTensor' in value;

/** What has a value at each place of a nesting: lists and plain records are gone through, and nothing else is. */
function mapNested(value: unknown, change: (leaf: object) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const changed = change(value);
  if (changed !== undefined) return changed;
  if (Array.isArray(value)) return value.map((part) => mapNested(part, change));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, mapNested(part, change)]));
}

/** The value with its tensors as data, and the memory that may be handed over instead of copied. */
export function toSend(value: unknown): { readonly value: unknown; readonly memory: readonly ArrayBuffer[] } {
  const memory: ArrayBuffer[] = [];
  const sent = mapNested(value, (leaf) => {
    if (!isTensor(leaf)) return undefined;
    const elements = leaf.toTypedArray();
    memory.push(elements.buffer);
    return { tsinductorTensor: leaf.dtype, shape: leaf.shape, elements } satisfies SentTensor;
  });
  return { value: sent, memory };
}

/** What `toSend` was given. */
export const received = (value: unknown): unknown =>
  mapNested(value, (leaf) =>
    isSent(leaf) ? tensor(leaf.elements, { dtype: leaf.tsinductorTensor, shape: leaf.shape }) : undefined,
  );
