// Where a program is in the batches: an epoch, and a batch in it. The rows of a batch follow from that and from how batches are cut.
import { batchesIn } from './batch-options.ts';
import type { Cut } from './batch-options.ts';
import { isWhole } from './checked-options.ts';
import { stateDiffers } from './errors.ts';
import { shuffledRows } from './shuffle.ts';

/** A position that can be written as JSON: which batch is the next one, and of what. */
export interface BatchState {
  readonly epoch: number;
  /** How many batches of the epoch were handed out. */
  readonly batch: number;
  readonly length: number;
  readonly size: number;
  readonly shuffle: boolean;
  readonly seed: number;
  readonly dropLast: boolean;
}

/** The place of one batch, and its items. */
interface BatchRows {
  readonly epoch: number;
  readonly batch: number;
  readonly rows: Uint32Array;
}

const described = ['length', 'size', 'shuffle', 'seed', 'dropLast'] as const;

export class BatchPosition {
  readonly cut: Cut;
  /** How many batches an epoch has. */
  readonly length: number;
  #epoch = 0;
  #batch = 0;
  /** The order of the epoch that was asked for last. */
  #order: { readonly epoch: number; readonly rows: Uint32Array } | undefined;

  constructor(cut: Cut) {
    this.cut = cut;
    this.length = batchesIn(cut);
  }

  get epoch(): number {
    return this.#epoch;
  }

  get batch(): number {
    return this.#batch;
  }

  /** The rows of the next batch, or of one `ahead` of it in the same epoch; undefined where the epoch has none. */
  peek(ahead = 0): BatchRows | undefined {
    const [epoch, batch] = [this.#epoch, this.#batch + ahead];
    if (batch >= this.length) return undefined;
    const { size, length } = this.cut;
    const [start, end] = [batch * size, Math.min((batch + 1) * size, length)];
    const order = this.#orderOf(epoch);
    const rows = order?.slice(start, end) ?? Uint32Array.from({ length: end - start }, (_, row) => start + row);
    return { epoch, batch, rows };
  }

  /** Goes on behind the next batch: to the next epoch, where it was the last one. */
  advance(): void {
    this.#batch += 1;
    if (this.#batch < this.length) return;
    this.#epoch += 1;
    this.#batch = 0;
  }

  read(): BatchState {
    const { length, size, shuffle, seed, dropLast } = this.cut;
    return { epoch: this.#epoch, batch: this.#batch, length, size, shuffle, seed, dropLast };
  }

  /** Throws UserError DATA_STATE, having changed nothing. */
  write(state: BatchState | null): void {
    if (typeof state !== 'object' || state === null) throw stateDiffers('it is no record');
    const { epoch, batch } = state;
    for (const name of described)
      if (state[name] !== this.cut[name])
        throw stateDiffers(`its ${name} is ${String(state[name])}, and here it is ${String(this.cut[name])}`);
    if (!isWhole(epoch, 0) || !isWhole(batch, 0) || batch >= this.length)
      throw stateDiffers(
        `it is at batch ${String(batch)} of epoch ${String(epoch)}, of ${String(this.length)} batches each`,
      );
    this.#epoch = epoch;
    this.#batch = batch;
  }

  #orderOf(epoch: number): Uint32Array | undefined {
    const { length, shuffle, seed } = this.cut;
    if (!shuffle) return undefined;
    if (this.#order?.epoch !== epoch) this.#order = { epoch, rows: shuffledRows(length, seed, epoch) };
    return this.#order.rows;
  }
}
