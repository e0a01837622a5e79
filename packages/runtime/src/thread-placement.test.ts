// Where the thread pool's workers may run, read from the system's own account of threads.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBridge } from './bridge.ts';
import type { Bridge } from './bridge.ts';
import { compileUnitsSync } from './compile-units.ts';
import { source } from './test-support/bridge-library.ts';
import { findToolchain } from './toolchain.ts';

const { toolchain } = findToolchain({ path: process.env['PATH'] ?? '' });
const cpus = availableParallelism();
const ready = toolchain !== undefined && process.platform === 'linux' && cpus > 1;
if (!ready) console.log('skipped: placement of threads, because it takes Linux, a C++ compiler and two CPUs');

/** The CPUs of a list such as `0,2-3`. */
const cpusOf = (list: string): readonly number[] =>
  list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });

const statusOf = (task: string): string => readFileSync(`/proc/self/task/${task}/status`, 'utf8');
const allowedOf = (task: string): readonly number[] =>
  cpusOf(/^Cpus_allowed_list:\s*(.*)$/m.exec(statusOf(task))?.[1] ?? '');
const workers = (): readonly string[] =>
  readdirSync('/proc/self/task').filter((task) => /^Name:\s*tsinductor$/m.test(statusOf(task)));

(ready ? describe : describe.skip)('workers', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tsinductor-placement-'));
  let bridge: Bridge;
  let run: (threads: number) => void;

  beforeAll(() => {
    if (toolchain === undefined) return;
    const library = join(directory, 'test.so');
    bridge = openBridge({ toolchain, directory });
    compileUnitsSync(toolchain, [{ name: 'test', source }], { outPath: library });
    const { address } = bridge.allocate(4 * 1000);
    const call = bridge.bind(bridge.load(library, 'cover'), Float64Array.of(address, 1000, 1), {
      buffers: 1,
      sizes: 2,
    });
    run = (threads) => {
      bridge.setThreads(threads);
      call();
    };
  });
  afterAll(() => {
    bridge.setThreads(1);
    rmSync(directory, { recursive: true, force: true });
  });

  test('keep off one CPU, that of the caller, and may use every other', () => {
    run(2);
    const own = allowedOf(String(process.pid));
    const [worker] = workers();
    const allowed = worker === undefined ? [] : allowedOf(worker);
    expect(workers()).toHaveLength(1);
    expect(allowed).toHaveLength(own.length - 1);
    expect(own).toEqual(expect.arrayContaining([...allowed]));
  });

  test('may use every CPU where there are not enough of them', () => {
    run(cpus + 1);
    expect(workers()).toHaveLength(cpus);
    for (const worker of workers()) expect(allowedOf(worker)).toEqual(allowedOf(String(process.pid)));
    run(2);
    expect(workers().map((worker) => allowedOf(worker).length)).toEqual([cpus - 1]);
  });
});
