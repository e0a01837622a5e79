// What this process may use of the machine: CPUs and memory, as limited by affinity and by control groups (both
// versions). In: a reader of small files, so that tests can draw their own machine. Out: plain numbers.
import { readFileSync } from 'node:fs';
import { availableParallelism, freemem, totalmem } from 'node:os';

/** Reads a small text file; undefined where it cannot be read. */
export type ReadText = (path: string) => string | undefined;

interface HostResources {
  /** Whole CPUs that this process may keep busy, at least 1. */
  readonly cpus: number;
  /** Bytes of memory that this process and its group may use. */
  readonly totalMemory: number;
  /** Bytes of it that are free now. */
  readonly freeMemory: number;
}

export const readText: ReadText = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};

/** The directories of the process's group and of the groups around it, innermost first. */
function groupDirectories(controller: string, read: ReadText): string[] {
  const lines = (read('/proc/self/cgroup') ?? '').split('\n');
  const directories: string[] = [];
  for (const line of lines) {
    const [hierarchy = '', controllers = '', path = ''] = line.split(':');
    const unified = hierarchy === '0' && controllers === '';
    if (!unified && !controllers.split(',').includes(controller)) continue;
    const root = unified ? '/sys/fs/cgroup' : `/sys/fs/cgroup/${controller}`;
    const parts = path.split('/').filter((part) => part !== '' && part !== '..');
    for (let length = parts.length; length >= 0; length -= 1) {
      directories.push([root, ...parts.slice(0, length)].join('/'));
    }
  }
  // In a container the path may name the group outside; its own limits are then at the root.
  return directories.length === 0 ? ['/sys/fs/cgroup', `/sys/fs/cgroup/${controller}`] : directories;
}

const positive = (text: string | undefined): number | undefined => {
  const value = Number(text?.trim());
  return text !== undefined && text.trim() !== '' && Number.isFinite(value) && value > 0 ? value : undefined;
};

function cpuQuota(directory: string, read: ReadText): number | undefined {
  const [quota, period] = (read(`${directory}/cpu.max`) ?? '').trim().split(/\s+/);
  const unified = [positive(quota), positive(period)];
  const legacy = [positive(read(`${directory}/cpu.cfs_quota_us`)), positive(read(`${directory}/cpu.cfs_period_us`))];
  for (const [allowed, per] of [unified, legacy]) {
    if (allowed !== undefined && per !== undefined) return allowed / per;
  }
  return undefined;
}

/** CPUs this process may keep busy: its affinity, or less where a control group has a quota. */
export function cpuCount(read: ReadText = readText): number {
  const quotas = groupDirectories('cpu', read).map((directory) => cpuQuota(directory, read) ?? Infinity);
  return Math.max(1, Math.floor(Math.min(availableParallelism(), ...quotas)));
}

function groupMemory(directory: string, read: ReadText): { limit: number; used: number } | undefined {
  const limit = positive(read(`${directory}/memory.max`)) ?? positive(read(`${directory}/memory.limit_in_bytes`));
  if (limit === undefined) return undefined;
  const used = positive(read(`${directory}/memory.current`)) ?? positive(read(`${directory}/memory.usage_in_bytes`));
  return { limit, used: used ?? 0 };
}

/** CPUs and memory of this process. */
export function hostResources(read: ReadText = readText): HostResources {
  const available = /^MemAvailable:\s+(\d+) kB/m.exec(read('/proc/meminfo') ?? '')?.[1];
  let totalMemory = totalmem();
  let freeMemory = available === undefined ? freemem() : Number(available) * 1024;
  for (const directory of groupDirectories('memory', read)) {
    const group = groupMemory(directory, read);
    if (group === undefined) continue;
    totalMemory = Math.min(totalMemory, group.limit);
    freeMemory = Math.min(freeMemory, Math.max(0, group.limit - group.used));
  }
  return { cpus: cpuCount(read), totalMemory, freeMemory };
}

/** How many compilers may run at once: as many as there are CPUs and as fit into free memory. */
export const compileConcurrency = (host: HostResources): number =>
  Math.max(1, Math.min(host.cpus, Math.floor(host.freeMemory / (150 * 1024 * 1024))));
