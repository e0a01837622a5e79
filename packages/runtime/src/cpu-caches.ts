// The data caches that one core reaches, as Linux describes those of its first CPU. In: a reader of small files, so that tests can
// draw their own machine. Out: plain numbers. Other systems describe none.
import { readText } from './host.ts';
import type { ReadText } from './host.ts';

/** Bytes by level; absent where the system does not say. */
export interface CpuCaches {
  readonly first?: number;
  /** A core's share, where several cores have one second-level cache together. */
  readonly second?: number;
  /** The whole of the last level, which all cores that share it may fill: the third, or a higher one, or else all of the second. */
  readonly last?: number;
}

interface Cache {
  readonly level: number;
  readonly bytes: number;
  /** CPUs that have it together, threads of one core among them. */
  readonly sharers: number;
}

const directory = '/sys/devices/system/cpu/cpu0/cache';

/** What the caches of data and of both are; those of instructions are left out. */
export function cpuCaches(read: ReadText = readText): CpuCaches {
  const caches = describedCaches(read);
  const [first, second] = [1, 2].map((level) => caches.find((cache) => cache.level === level));
  const last = caches.reduce<Cache | undefined>(
    (highest, cache) => (cache.level >= (highest?.level ?? 2) ? cache : highest),
    undefined,
  );
  // A first-level cache is one core's, so those who share it are that core's threads.
  const cores = second === undefined ? 1 : Math.max(1, Math.round(second.sharers / (first?.sharers ?? 1)));
  return {
    ...(first === undefined ? {} : { first: first.bytes }),
    ...(second === undefined ? {} : { second: second.bytes / cores }),
    ...(last === undefined ? {} : { last: last.bytes }),
  };
}

function describedCaches(read: ReadText): readonly Cache[] {
  const caches: Cache[] = [];
  for (let index = 0; ; index += 1) {
    const entry = (name: string): string | undefined => read(`${directory}/index${String(index)}/${name}`)?.trim();
    const level = entry('level');
    if (level === undefined) return caches;
    const bytes = bytesOf(entry('size') ?? '');
    if (entry('type') !== 'Instruction' && bytes > 0)
      caches.push({ level: Number(level), bytes, sharers: cpusOf(entry('shared_cpu_map') ?? '') });
  }
}

const units: Readonly<Record<string, number>> = { '': 1, K: 1 << 10, M: 1 << 20, G: 1 << 30 };

/** `32K`, as the system writes it; 0 for what is no size. */
function bytesOf(text: string): number {
  const [, count = '0', unit = ''] = /^(\d+)([KMG]?)$/.exec(text) ?? [];
  return Number(count) * (units[unit] ?? 0);
}

/** How many CPUs a mask such as `00000000,0000000f` names, one at least. */
function cpusOf(mask: string): number {
  const digits = mask.match(/[0-9a-f]/gi) ?? [];
  const counts = digits.map((digit) => Number.parseInt(digit, 16).toString(2).replaceAll('0', '').length);
  return Math.max(
    1,
    counts.reduce((sum, count) => sum + count, 0),
  );
}
