import { describe, expect, test } from '@jest/globals';
import { availableParallelism, totalmem } from 'node:os';
import { compileConcurrency, cpuCount, hostResources } from './host.ts';

const machine =
  (files: Record<string, string>) =>
  (path: string): string | undefined =>
    files[path];

const gigabyte = 2 ** 30;

describe('cpuCount', () => {
  test('without control groups it is what the affinity allows', () => {
    expect(cpuCount(machine({}))).toBe(availableParallelism());
  });

  test('a version 2 quota rounds down, to one at least', () => {
    const files = { '/proc/self/cgroup': '0::/a/b\n', '/sys/fs/cgroup/a/b/cpu.max': '50000 100000\n' };
    expect(cpuCount(machine(files))).toBe(1);
    const half = { ...files, '/sys/fs/cgroup/a/b/cpu.max': '199999 100000\n' };
    expect(cpuCount(machine(half))).toBe(1);
  });

  test('no limit is not a quota', () => {
    const files = { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': 'max 100000\n' };
    expect(cpuCount(machine(files))).toBe(availableParallelism());
  });

  test('the quota of an outer group counts', () => {
    const files = {
      '/proc/self/cgroup': '0::/a/b\n',
      '/sys/fs/cgroup/a/b/cpu.max': 'max 100000',
      '/sys/fs/cgroup/a/cpu.max': '100000 100000',
    };
    expect(cpuCount(machine(files))).toBe(1);
  });

  test('version 1, and a container whose own limits are at the root', () => {
    const files = {
      '/proc/self/cgroup': '4:cpu:/docker/abc\n1:memory:/x\n',
      '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '100000',
      '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000',
    };
    expect(cpuCount(machine(files))).toBe(1);
    expect(cpuCount(machine({ ...files, '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1' }))).toBe(availableParallelism());
  });

  test('garbage is no limit', () => {
    const files = { '/proc/self/cgroup': 'what\n:::\n0::/../..\n', '/sys/fs/cgroup/cpu.max': 'lots of it' };
    expect(cpuCount(machine(files))).toBe(availableParallelism());
  });
});

describe('hostResources', () => {
  test('free memory is what the kernel calls available', () => {
    expect(hostResources(machine({ '/proc/meminfo': 'MemTotal: 9 kB\nMemAvailable:   2048 kB\n' }))).toMatchObject({
      totalMemory: totalmem(),
      freeMemory: 2048 * 1024,
    });
  });

  test('a group has less', () => {
    const files = {
      '/proc/self/cgroup': '0::/job\n',
      '/proc/meminfo': 'MemAvailable: 999999999 kB\n',
      '/sys/fs/cgroup/job/memory.max': String(gigabyte),
      '/sys/fs/cgroup/job/memory.current': String(gigabyte / 4),
    };
    expect(hostResources(machine(files))).toMatchObject({ totalMemory: gigabyte, freeMemory: (gigabyte * 3) / 4 });
    const full = { ...files, '/sys/fs/cgroup/job/memory.current': String(2 * gigabyte) };
    expect(hostResources(machine(full)).freeMemory).toBe(0);
  });

  test('this machine has some of each', () => {
    const { cpus, totalMemory, freeMemory } = hostResources();
    expect(cpus).toBeGreaterThanOrEqual(1);
    expect(totalMemory).toBeGreaterThan(freeMemory);
    expect(freeMemory).toBeGreaterThan(0);
  });

  test('compilers share the CPUs and the memory, and one may always run', () => {
    expect(compileConcurrency({ cpus: 8, totalMemory: gigabyte, freeMemory: gigabyte })).toBe(6);
    expect(compileConcurrency({ cpus: 2, totalMemory: gigabyte, freeMemory: gigabyte })).toBe(2);
    expect(compileConcurrency({ cpus: 8, totalMemory: gigabyte, freeMemory: 5 })).toBe(1);
  });
});
