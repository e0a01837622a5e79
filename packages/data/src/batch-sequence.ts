// Batches of a data set, made where they are used: one pass of a loop is one epoch.
import type { Cut } from './batch-options.ts';
import { BatchPosition } from './batch-position.ts';
import type { BatchState } from './batch-position.ts';
import type { Dataset } from './dataset.ts';

/**
 * Batches, an epoch at a time. A loop that is left goes on where it was with the next loop: what was handed out is done.
 *
 * ```ts
 * const train = batches({ images, labels }, { size: 128, shuffle: true, seed: 1, dropLast: true });
 * while (train.epoch < 10) for (const { images, labels } of train) step(images, labels);
 * ```
 */
export class Batches<Batch> implements Iterable<Batch> {
  readonly #dataset: Dataset<Batch>;
  readonly #position: BatchPosition;

  constructor(dataset: Dataset<Batch>, cut: Cut) {
    this.#dataset = dataset;
    this.#position = new BatchPosition(cut);
  }

  /** How many batches an epoch has. */
  get length(): number {
    return this.#position.length;
  }

  /** How many epochs are done. */
  get epoch(): number {
    return this.#position.epoch;
  }

  /** The batches that are left of the epoch. */
  *[Symbol.iterator](): Generator<Batch, void, undefined> {
    const { epoch } = this.#position;
    while (this.#position.epoch === epoch) {
      const next = this.#position.peek();
      if (next === undefined) return;
      const batch = this.#dataset.batch(next.rows);
      this.#position.advance();
      yield batch;
    }
  }

  /** Where it is, as a record that JSON can hold. */
  stateDict(): BatchState {
    return this.#position.read();
  }

  /**
   * Goes on from a saved position: the batches that follow are the same.
   *
   * @throws UserError DATA_STATE, having changed nothing, where the position is of other batches
   */
  loadStateDict(state: BatchState): void {
    this.#position.write(state);
  }
}
