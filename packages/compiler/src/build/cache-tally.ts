// How often the graphs of one function were found or built. In: what became of each. Out: counts, and why graphs went past the cache on
// disk.
import type { Config } from '@tsinductor/config';

export interface CacheCounts {
  /** Graphs whose code was in memory, for another function or another of its forms. */
  readonly memory: number;
  /** Graphs that were found in the cache on disk. */
  readonly disk: number;
  /** Graphs that another machine had built, and the remote cache had. */
  readonly remote: number;
  /** Graphs for which code was generated and compiled. */
  readonly builds: number;
  /** Graphs that went past the cache on disk, by the reason. */
  readonly bypasses: Readonly<Record<string, number>>;
}

export class CacheTally {
  readonly #counts = { memory: 0, disk: 0, remote: 0, builds: 0 };
  readonly #bypasses = new Map<string, number>();

  add(found: keyof Omit<CacheCounts, 'bypasses'>): void {
    this.#counts[found] += 1;
  }

  bypass(reason: string): void {
    this.#bypasses.set(reason, (this.#bypasses.get(reason) ?? 0) + 1);
  }

  counts(): CacheCounts {
    return { ...this.#counts, bypasses: Object.fromEntries(this.#bypasses) };
  }
}

/** Why what is built under these settings is not looked for on disk, or is not kept there; undefined where it is both. */
export function whyBypassed(
  { forceDisableCaches, fxGraphCache, forceRecompile }: Config,
  isTemporary: boolean,
): string | undefined {
  if (forceDisableCaches) return 'forceDisableCaches is set';
  if (!fxGraphCache) return 'fxGraphCache is off';
  if (forceRecompile) return 'forceRecompile is set';
  return isTemporary ? 'the cache directory cannot be used' : undefined;
}
