// The caches of machines as Linux describes them.
import { expect, test } from '@jest/globals';
import { cpuCaches } from './cpu-caches.ts';
import type { ReadText } from './host.ts';

const [kib, mib] = [1 << 10, 1 << 20];

/** A machine with these entries: level, type, size, CPUs that share it. */
const machine = (
  ...entries: readonly (readonly [level: number, type: string, size: string, sharers: string])[]
): ReadText => {
  const files = new Map(
    entries.flatMap(([level, type, size, sharers], index) => {
      const entry = { level: String(level), type, size, shared_cpu_map: sharers };
      return Object.entries(entry).map(([name, text]): readonly [string, string] => [
        `/sys/devices/system/cpu/cpu0/cache/index${String(index)}/${name}`,
        `${text}\n`,
      ]);
    }),
  );
  return (path) => files.get(path);
};

test('are those of data and of both, and of one core', () => {
  const zen = machine(
    [1, 'Data', '32K', '1'],
    [1, 'Instruction', '64K', '1'],
    [2, 'Unified', '1024K', '1'],
    [3, 'Unified', '32768K', '3'],
  );
  expect(cpuCaches(zen)).toEqual({ first: 32 * kib, second: mib, last: 32 * mib });
});

test('threads of one core share what is its own, cores share the second level by parts, and the last as a whole', () => {
  const threads = machine(
    [1, 'Data', '48K', '10001'],
    [2, 'Unified', '2M', '10001'],
    [3, 'Unified', '480M', 'ffffffff,ffffffff'],
  );
  expect(cpuCaches(threads)).toEqual({ first: 48 * kib, second: 2 * mib, last: 480 * mib });
  const cluster = machine([1, 'Data', '32K', '1'], [2, 'Unified', '4096K', 'f'], [3, 'Unified', '36M', 'ffff']);
  expect(cpuCaches(cluster)).toEqual({ first: 32 * kib, second: mib, last: 36 * mib });
});

test('without a third level the last one is all of the second', () => {
  expect(cpuCaches(machine([1, 'Data', '64K', '1'], [2, 'Unified', '12M', '3f']))).toEqual({
    first: 64 * kib,
    second: 2 * mib,
    last: 12 * mib,
  });
});

test('what the system does not say, or says as nonsense, is left out', () => {
  expect(cpuCaches(() => undefined)).toEqual({});
  expect(cpuCaches(machine([1, 'Data', 'much', '1'], [3, 'Unified', '0K', '1']))).toEqual({});
  expect(cpuCaches(machine([1, 'Data', '32K', '']))).toEqual({ first: 32 * kib });
});
