// Functions that tests name for worker threads: they import the package as a program does.
import { setTimeout as wait } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';
import { tensor } from 'tsinductor';

/** The items themselves, and what the request says. */
export const batch = ({ rows, epoch, batch: number, seed, data }) => ({
  rows: tensor(Float32Array.from(rows), { shape: [rows.length, 1] }),
  half: tensor([1.5, -2], { dtype: 'bf16' }),
  isEven: tensor(Array.from(rows, (row) => row % 2 === 0)),
  list: [Float64Array.of(number), 'text', 7n],
  epoch,
  seed,
  data,
});

/** Takes longest for the first batches, so that later ones are done before. */
export async function slowAtFirst({ rows, batch: number }) {
  await wait(number < 2 ? 60 : 1);
  return { rows: Array.from(rows), thread: threadId };
}

export function broken({ batch: number }) {
  if (number === 1) throw new RangeError('the photo is torn');
  return number;
}

export const table = [1, 2];

/** Gives what cannot be sent to another thread. */
export const unsendable = () => new Map([['x', tensor([1])]]);

export function throwsNothing() {
  throw null;
}

export function ending({ batch: number }) {
  if (number === 1) process.exit(3);
  return number;
}
