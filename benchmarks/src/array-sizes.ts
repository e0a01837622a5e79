// How large the main arrays of programs bound by memory are, so that they lie where their rows say. A virtual machine shows the
// whole cache of its host, of which it has a share: what reading costs tells more than what the system says.
import type { CpuCaches } from '@tsinductor/runtime';
import type { LimitProbe } from './limits.ts';
import { median } from './statistics.ts';

/** Bytes of a main array by the place where it is to lie: square matrices of f32, so powers of four. */
export interface ArraySizes {
  readonly cache: number;
  readonly lastLevel: number;
  readonly memory: number;
}

export const mebibyte: number = 1 << 20;
export const standardSizes: ArraySizes = { cache: mebibyte / 4, lastLevel: 4 * mebibyte, memory: 64 * mebibyte };

/** Larger ones would not fit beside those of every contender. */
const largest = 256 * mebibyte;

/** A cache of which the standard arrays leave nothing: at most half of one. */
const outgrown = standardSizes.memory / 2;

/** What sizes are chosen for. */
export interface Run {
  readonly threads: number;
  /** Bytes of memory that each contender may take. */
  readonly room: number;
}

/** Bytes of an array in a last-level cache beside so much of the second level in all. */
function lastLevelSize({ second = 0, last = 0 }: CpuCaches): number {
  let bytes = standardSizes.lastLevel;
  while (bytes < 2 * second && 8 * bytes <= last && 4 * bytes < standardSizes.memory) bytes *= 4;
  return bytes;
}

/** Arrays that a contender holds at most: seven of Adam's, and twice as many that it or its allocator keeps meanwhile. */
const arraysHeld = 21;

/**
 * Sizes for this machine. Arrays in the last-level cache are at least twice what the second-level caches of all threads hold, where
 * the last one, as the system says, has room for two such arrays, and they stay smaller than those in memory. Where it may hold
 * arrays of 64 MiB, those in memory are the largest if these are read slower; `note` says if there is no room for them.
 *
 * @param rateOf bytes per time at which an array of so many bytes is read over and over; where it cannot be measured, nothing.
 */
export async function sizesFor(
  { second = 0, last = 0 }: CpuCaches,
  { threads, room }: Run,
  rateOf?: (bytes: number) => Promise<number>,
): Promise<{ readonly sizes: ArraySizes; readonly note?: string }> {
  const { memory } = standardSizes;
  const standard = { ...standardSizes, lastLevel: lastLevelSize({ second: second * threads, last }) };
  if (last <= outgrown || rateOf === undefined) return { sizes: standard };
  const far = await rateOf(largest);
  if ((await rateOf(memory)) <= 1.15 * far) return { sizes: standard };
  if (arraysHeld * largest <= room) return { sizes: { ...standard, memory: largest } };
  const note =
    'the last-level cache has part of arrays of 64 MiB, and there is no memory for larger ones beside each other: ' +
    'what is said to be in memory may be faster than memory is; use fewer --peers';
  return { sizes: standard, note };
}

/** The rate at which all threads read an array, once caches have what they keep of it. */
export const readingRate =
  (probe: LimitProbe) =>
  async (streamBytes: number): Promise<number> => {
    const rates: number[] = [];
    for (let turn = 0; turn < 15; turn += 1) {
      const { ordinary } = await probe.measure({ reads: 1, writes: 0, streamBytes });
      rates.push(ordinary);
    }
    return median(rates);
  };

export const describeSizes = ({ cache, lastLevel, memory }: ArraySizes): string =>
  `arrays of ${String(cache / 1024)} KiB in cache, ${String(lastLevel / mebibyte)} MiB in L3, ${String(memory / mebibyte)} MiB in memory`;
