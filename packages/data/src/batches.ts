// Batches of a data set, by how it is given: tensors, an object that makes batches, or a number of items that worker threads make them of.
import { Batches } from './batch-sequence.ts';
import { readCut } from './batch-options.ts';
import type { BatchOptions } from './batch-options.ts';
import { datasetOfRows, isDataset } from './dataset.ts';
import type { Dataset, Rows } from './dataset.ts';
import { badOption, notADataset } from './errors.ts';
import { PreparedBatches } from './prepared-batches.ts';
import { readWorkers } from './worker-options.ts';
import type { WorkerOptions } from './worker-options.ts';

/**
 * Batches of items, an epoch for each loop over them, in the order of the data or in one that is drawn for each epoch from `seed`. Where
 * it is, `stateDict` tells and `loadStateDict` restores.
 *
 * - `data` of tensors, each with one row for each item: a batch is the same nesting, of tensors with `size` rows.
 * - `data` with `length` and `batch(rows)`: a batch is what the function gives for the numbers of its items.
 * - `data` with a `length` alone, and `workers`: a batch is what a function of a module gives, in threads, ahead of the loop.
 *
 * ```ts
 * const train = batches({ images, labels }, { size: 128, shuffle: true, seed: 1, dropLast: true });
 * for (const { images, labels } of train) step(images, labels);
 * ```
 *
 * @throws UserError DATA_OPTION, DATA_OPTION_UNKNOWN, DATA_DATASET
 */
export function batches<Batch>(data: Dataset<Batch>, options: BatchOptions): Batches<Batch>;
export function batches<Batch>(
  data: { readonly length: number },
  options: BatchOptions & { readonly workers: WorkerOptions },
): PreparedBatches<Batch>;
export function batches<Data extends Rows>(data: Data, options: BatchOptions): Batches<Data>;
export function batches(
  data: Rows | Dataset<unknown> | { readonly length: number },
  options: BatchOptions & { readonly workers?: WorkerOptions },
): Batches<unknown> | PreparedBatches<unknown> {
  if (typeof data !== 'object' || (data as unknown) === null) throw notADataset(`it is of type ${typeof data}`);
  const { workers } = (options as typeof options | undefined) ?? {};
  if (workers !== undefined) return preparedBatches(data, options, workers);
  const dataset = isDataset(data) ? data : datasetOfRows(data as Rows);
  return new Batches(dataset, readCut(dataset.length, options));
}

function preparedBatches(data: object, options: BatchOptions, workers: WorkerOptions): PreparedBatches<unknown> {
  if (Object.keys(data).join() !== 'length')
    throw badOption('workers', {
      is: `given beside a data set with ${Object.keys(data).join(', ')}`,
      needs: 'a data set of { length } alone, whose batches the threads make,',
    });
  return new PreparedBatches(readCut((data as { length: unknown }).length, options), readWorkers(workers));
}
