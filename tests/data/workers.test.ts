// Batches that worker threads make, of a module that imports the package as a program does: the same as others, in their order, also behind a
// saved position; and failures.
import { spawnSync } from 'node:child_process';
import { afterEach, describe, expect, test } from '@jest/globals';
import { arange, isTensor } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { batches } from 'tsinductor/data';
import type { BatchOptions, PreparedBatches } from 'tsinductor/data';

const numbersOf = (x: Tensor): number[] => x.flatten().toArray() as number[];
/** The numbers of the items in each batch of the first epoch. */
const rowsOf = (length: number, options: BatchOptions): number[][] =>
  Array.from(batches(arange(length, { dtype: 'i32' }), options), numbersOf);

describe('in worker threads', () => {
  const module = new URL('worker.mjs', import.meta.url);
  let opened: PreparedBatches<never> | undefined;
  afterEach(async () => {
    await opened?.close();
  });
  const inThreads = <Batch>(
    length: number,
    options: Parameters<typeof batches>[1] & object,
  ): PreparedBatches<Batch> => {
    const made = batches<Batch>({ length }, options as never);
    opened = made as PreparedBatches<never>;
    return made;
  };
  const all = async <Batch>(made: PreparedBatches<Batch>): Promise<Batch[]> => {
    const found: Batch[] = [];
    for await (const batch of made) found.push(batch);
    return found;
  };

  test('batches are the same, with tensors of any dtype, and what the request says', async () => {
    interface Made {
      readonly rows: Tensor;
      readonly half: Tensor;
      readonly isEven: Tensor;
      readonly list: readonly unknown[];
      readonly epoch: number;
      readonly seed: number;
      readonly data: unknown;
    }
    const options = { size: 3, shuffle: true, seed: 5 };
    const made = inThreads<Made>(7, { ...options, workers: { module, data: { name: 'x' } } } as never);
    const found = await all(made);
    const rows = found.map((batch) => numbersOf(batch.rows));
    expect(rows).toEqual(rowsOf(7, options));
    const [first] = found;
    expect(isTensor(first?.half) && first.half.dtype).toBe('bf16');
    expect(first?.rows.shape).toEqual([3, 1]);
    expect(first?.half.toArray()).toEqual([1.5, -2]);
    expect(first?.isEven.toArray()).toEqual(rows[0]?.map((row) => row % 2 === 0));
    expect(first?.list).toEqual([Float64Array.of(0), 'text', 7n]);
    expect(first?.data).toEqual({ name: 'x' });
    expect(new Set(found.map(({ seed }) => seed)).size).toBe(3);
    const second = await all(made);
    expect(second.map(({ epoch }) => epoch)).toEqual([1, 1, 1]);
    expect(new Set([...found, ...second].map(({ seed }) => seed)).size).toBe(6);
  });

  test('they come in their order, from several threads, and go on from a saved position', async () => {
    interface Made {
      readonly rows: readonly number[];
      readonly thread: number;
    }
    const options = { size: 2, shuffle: true, workers: { module, export: 'slowAtFirst', threads: 2, ahead: 4 } };
    const made = inThreads<Made>(14, options);
    const found: (readonly number[])[] = [];
    const threads = new Set<number>();
    for await (const { rows, thread } of made) {
      threads.add(thread);
      if (found.push(rows) === 3) break;
    }
    const state = made.stateDict();
    expect(state.batch).toBe(3);
    const rest = await all(made);
    for (const { rows, thread } of rest) {
      threads.add(thread);
      found.push(rows);
    }
    expect(found).toEqual(rowsOf(14, { size: 2, shuffle: true }));
    expect(threads.size).toBe(2);
    made.loadStateDict(state);
    expect((await all(made)).map(({ rows }) => rows)).toEqual(rest.map(({ rows }) => rows));
  });

  test('a failure is one of its batch, with what the function threw', async () => {
    const made = inThreads<number>(3, { size: 1, workers: { module, export: 'broken' } } as never);
    const found: number[] = [];
    const run = async (): Promise<void> => {
      for await (const batch of made) found.push(batch);
    };
    await expect(run()).rejects.toMatchObject({
      code: 'DATA_WORKER',
      message: expect.stringContaining('the photo is torn') as unknown,
    });
    expect(found).toEqual([0]);
  });

  test('a thread that ends itself is told as well', async () => {
    const made = inThreads<number>(3, { size: 1, workers: { module, export: 'ending', ahead: 1 } } as never);
    await expect(all(made)).rejects.toMatchObject({ code: 'DATA_WORKER' });
    expect(made.stateDict().batch).toBe(1);
  });

  test.each([
    ['an export that is not there', { module, export: 'bach' }],
    ['one that is no function', { module, export: 'table' }],
    ['a module that is not there', { module: new URL('nowhere.mjs', import.meta.url) }],
  ])('%s is told', async (_, workers) => {
    await expect(all(inThreads(2, { size: 1, workers } as never))).rejects.toMatchObject({ code: 'DATA_WORKER' });
  });

  test.each([
    ['unsendable', 'cannot be sent'],
    ['throwsNothing', 'threw null'],
  ])('%s is told in words', async (name, says) => {
    const made = inThreads<number>(2, { size: 1, workers: { module, export: name } } as never);
    await expect(all(made)).rejects.toMatchObject({
      code: 'DATA_WORKER',
      message: expect.stringContaining(says) as unknown,
    });
  });

  test('two loops at once share the batches', async () => {
    const made = inThreads<{ rows: Tensor }>(6, { size: 1, workers: { module } } as never);
    const found = await Promise.all([all(made), all(made)]);
    const rows = found.flat().flatMap((batch) => numbersOf(batch.rows));
    expect([...rows].sort()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(made.stateDict()).toMatchObject({ epoch: 1, batch: 0 });
  });

  test('closed ones give no batch', async () => {
    const made = inThreads(2, { size: 1, workers: { module } } as never);
    await all(made);
    await made.close();
    await expect(all(made)).rejects.toMatchObject({ code: 'DATA_CLOSED' });
  });

  test('threads are no reason for a process to go on', () => {
    const program = `import { batches } from 'tsinductor/data';
      const made = batches({ length: 9 }, { size: 1, workers: { module: ${JSON.stringify(module.href)}, threads: 2 } });
      for await (const { rows } of made) { console.log(rows.shape.join()); break; }`;
    const { stdout, status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
    });
    expect([stdout, status, stderr]).toEqual(['1,1\n', 0, '']);
  });
});
