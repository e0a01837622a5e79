// Where the thread pool's workers may run, read from the system's own account of threads.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBridge } from './bridge.ts';
import type { Bridge } from './bridge.ts';
import { compileUnitsSync } from './compile-units.ts';
import { source } from './test-support/bridge-library.ts';
import { findToolchain } from './toolchain.ts';

const { toolchain } = findToolchain({ path: process.env['PATH'] ?? '' });

/** The CPUs of a list such as `0,2-3`. */
const cpusOf = (list: string): readonly number[] =>
  list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });

const statusOf = (task: string): string => readFileSync(`/proc/self/task/${task}/status`, 'utf8');
const allowedOf = (task: string): readonly number[] =>
  cpusOf(/^Cpus_allowed_list:\s*(.*)$/m.exec(statusOf(task))?.[1] ?? '');
const namedTasks = (): readonly string[] =>
  readdirSync('/proc/self/task').filter((task) => /^Name:\s*tsinductor$/m.test(statusOf(task)));

const mostThreads = 256;
const own = process.platform === 'linux' ? allowedOf(String(process.pid)) : [];
const ready = toolchain !== undefined && own.length > 1 && own.length < mostThreads;
if (!ready) console.log('skipped: placement of threads, because it takes Linux, a C++ compiler and 2 to 255 CPUs');

(ready ? describe : describe.skip)('workers', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tsinductor-placement-'));
  // Another pool of this process may have threads of the same name.
  const others = new Set(namedTasks());
  const workers = (): readonly string[] => namedTasks().filter((task) => !others.has(task));
  let bridge: Bridge;
  let call: () => number;

  beforeAll(() => {
    if (toolchain === undefined) return;
    const library = join(directory, 'test.so');
    bridge = openBridge({ toolchain, directory });
    compileUnitsSync(toolchain, [{ name: 'test', source }], { outPath: library });
    const { address } = bridge.allocate(4 * 1000);
    call = bridge.bind(bridge.load(library, 'whereFrom'), Float64Array.of(address, 1000), { buffers: 1, sizes: 1 });
  });
  afterAll(() => {
    bridge.setThreads(1);
    rmSync(directory, { recursive: true, force: true });
  });

  /** The CPU from which a job was shared, and the CPUs of its workers. */
  function share(threads: number): { readonly cpu: number; readonly allowed: readonly (readonly number[])[] } {
    bridge.setThreads(threads);
    let cpu = call();
    for (let again = 0; cpu < 0 && again < 100; again += 1) cpu = call();
    return { cpu, allowed: workers().map(allowedOf) };
  }

  test('keep off the CPU of the caller, and may use every other', () => {
    const { cpu, allowed } = share(2);
    expect(allowed).toEqual([own.filter((one) => one !== cpu)]);
  });

  test('may use every CPU where there are not enough of them', () => {
    expect(share(own.length + 1).allowed).toEqual(own.map(() => own));
    const { cpu, allowed } = share(2);
    expect(allowed).toEqual([own.filter((one) => one !== cpu)]);
  });
});
