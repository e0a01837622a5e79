// What batches are made of: tensors with one row for each item, in any nesting, or an object that makes a batch of the rows it is asked for.
import { isTensor, noGrad, tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { notADataset } from './errors.ts';

/** Tensors whose first dim counts the items: one, or lists and records of such. */
export type Rows = Tensor | readonly Rows[] | { readonly [name: string]: Rows };

/** Items that a program makes itself. */
export interface Dataset<Batch> {
  /** How many items there are. */
  readonly length: number;
  /** A batch of the items with these numbers, in this order. It is called once for each batch. */
  batch(rows: Uint32Array): Batch;
}

/** Whether it makes its batches itself. */
export const isDataset = (data: object): data is Dataset<unknown> =>
  !isTensor(data) && 'batch' in data && typeof data.batch === 'function';

/**
 * The nesting as a data set: a batch is the same nesting, of copies of the rows.
 *
 * @throws UserError DATA_DATASET where there are no tensors, or their first dims differ
 */
export function datasetOfRows<Data extends Rows>(data: Data): Dataset<Data> {
  const found = leavesOf(data, { path: 'data', depth: 0 });
  const [first] = found;
  if (first === undefined) throw notADataset('it has no tensors');
  const length = first.tensor.shape[0];
  if (length === undefined) throw notADataset(`${first.path} has no dims, so it has no rows`);
  for (const { path, tensor: other } of found)
    if (other.shape[0] !== length)
      throw notADataset(
        `${first.path} has ${String(length)} rows, and ${path} has ${String(other.shape[0] ?? 'no dims')}`,
      );
  const batch = (rows: Uint32Array): Data =>
    noGrad(() => {
      using index = tensor(BigInt64Array.from(rows, BigInt));
      return mapRows(data, (whole) => whole.indexSelect(0, index)) as Data;
    });
  return { length, batch };
}

interface Leaf {
  readonly path: string;
  readonly tensor: Tensor;
}

/** Nestings are no deeper. What is within itself has no end. */
export const mostDepth = 500;

function leavesOf(data: unknown, { path, depth }: { path: string; depth: number }): readonly Leaf[] {
  if (depth > mostDepth)
    throw notADataset(`${path.slice(0, 40)} … is deeper than ${String(mostDepth)}, or within itself`);
  const inside = (part: unknown, step: string): readonly Leaf[] =>
    leavesOf(part, { path: path + step, depth: depth + 1 });
  if (isTensor(data)) return [{ path, tensor: data }];
  if (Array.isArray(data)) return data.flatMap((part, index) => inside(part, `[${String(index)}]`));
  if (isRecord(data)) return Object.entries(data).flatMap(([name, part]) => inside(part, `.${name}`));
  throw notADataset(`${path} is ${typeof data === 'object' ? 'an object of a class' : typeof data}`);
}

/** Whether it is a record, also one of another realm, and no object of a class. */
export function isRecord(data: unknown): data is Readonly<Record<string, unknown>> {
  if (typeof data !== 'object' || data === null) return false;
  const prototype: unknown = Object.getPrototypeOf(data);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function mapRows(data: Rows, change: (tensor: Tensor) => Tensor): Rows {
  if (isTensor(data)) return change(data);
  if (Array.isArray(data)) return (data as readonly Rows[]).map((part) => mapRows(part, change));
  return Object.fromEntries(Object.entries(data).map(([name, part]) => [name, mapRows(part, change)]));
}
