// Batches that worker threads make ahead of the loop that uses them. Whichever is done first, they come in their order, so that a run is the
// same with any number of threads.
import type { Piscina } from 'piscina';
import { batchesClosed, workerFailed } from './errors.ts';
import type { Cut } from './batch-options.ts';
import { BatchPosition } from './batch-position.ts';
import type { BatchState } from './batch-position.ts';
import type { PrepareTask } from './prepare-task.ts';
import { batchSeed } from './shuffle.ts';
import { received } from './thread-values.ts';
import { workerFiles } from './worker-files.ts';
import type { WorkerOptions } from './worker-options.ts';

const messageOf = (cause: unknown): string => {
  const message: unknown = Object(cause) === cause ? (cause as { message?: unknown }).message : undefined;
  if (typeof message === 'string') return message;
  // What says why it could not be sent cannot be sent either.
  return Object(cause) === cause ? 'what it gave or threw cannot be sent from one thread to another' : String(cause);
};

/**
 * Batches, an epoch at a time, made by a function in worker threads. Threads start with the first batch, and a process goes on until the
 * batches under way are made; `close()` ends threads at once.
 *
 * ```ts
 * const workers = { module: new URL('./photos.js', import.meta.url), export: 'decode', threads: 2 };
 * await using train = batches<{ images: Tensor }>({ length: 50_000 }, { size: 64, shuffle: true, workers });
 * for await (const { images } of train) step(images);
 * ```
 */
export class PreparedBatches<Batch> implements AsyncIterable<Batch>, AsyncDisposable {
  readonly #workers: Required<WorkerOptions>;
  readonly #position: BatchPosition;
  /** Batches under way, from the next one on, in order. */
  #begun: Promise<unknown>[] = [];
  /** Done when the batch that was asked for last is taken: several loops at once take one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #pool: Promise<Piscina> | undefined;
  #isClosed = false;

  constructor(cut: Cut, workers: Required<WorkerOptions>) {
    this.#workers = workers;
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

  /**
   * The batches that are left of the epoch. A loop that is left goes on where it was with the next loop.
   *
   * @throws UserError DATA_WORKER, DATA_CLOSED
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Batch, void, undefined> {
    const { epoch } = this.#position;
    for (;;) {
      const turn = this.#turn.then(() => (this.#position.epoch === epoch ? this.#next() : undefined));
      this.#turn = turn.catch(() => undefined);
      const taken = await turn;
      if (taken === undefined) return;
      yield taken.batch;
    }
  }

  /** Where it is, as a record that JSON can hold. Batches that wait to be taken are not handed out. */
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
    this.#begun = [];
  }

  /** Ends the threads. No batch can be taken any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#begun = [];
    await (await this.#pool)?.destroy();
    this.#pool = undefined;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #next(): Promise<{ readonly batch: Batch }> {
    this.#requireOpen();
    for (let ahead = this.#begun.length; ahead < this.#workers.ahead; ahead += 1) {
      const place = this.#position.peek(ahead);
      if (place === undefined) break;
      const batch = this.#begin(place);
      // Whoever takes the batch is told; one that nobody takes is nobody's failure.
      batch.catch(() => undefined);
      this.#begun.push(batch);
    }
    const begun = this.#begun;
    const made = await begun[0]?.catch((cause: unknown) => {
      this.#begun = [];
      // Closed meanwhile, its thread has ended.
      this.#requireOpen();
      throw workerFailed(messageOf(cause), cause);
    });
    if (begun === this.#begun) {
      void begun.shift();
      this.#position.advance();
    }
    return { batch: received(made) as Batch };
  }

  #requireOpen(): void {
    if (this.#isClosed) throw batchesClosed();
  }

  async #begin({ epoch, batch, rows }: { epoch: number; batch: number; rows: Uint32Array }): Promise<unknown> {
    const { module, export: name, data } = this.#workers;
    const seed = batchSeed(this.#position.cut.seed, epoch, batch);
    const task: PrepareTask = { module: String(module), name, request: { rows, epoch, batch, seed, data } };
    this.#pool ??= this.#open();
    return (await this.#pool).run(task);
  }

  async #open(): Promise<Piscina> {
    const { Piscina: Pool } = await import('piscina');
    const { threads } = this.#workers;
    const pool = new Pool({
      filename: new URL('prepare-batch.js', workerFiles).href,
      minThreads: threads,
      maxThreads: threads,
    });
    // What becomes of a task, whoever asked for it is told; an answer that comes when the pool is closed has nobody to go to.
    pool.on('error', () => undefined);
    return pool;
  }
}
