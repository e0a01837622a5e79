// What a program is generated for: the machine, how many threads run it, and what the settings ask of it.
import type { Positions } from '@tsinductor/codegen';
import type { CacheSizes, Family } from './facts.ts';
import type { Isa } from './isa.ts';

export interface CpuTarget {
  readonly isa: Isa;
  readonly threads: number;
  /** Whether it is to run on other numbers of threads as well, so that no chunk is a thread's whole share; no, if absent. */
  readonly anyThreads?: boolean;
  /** Into how many compilation units the kernels of a graph are spread; 1 if absent. */
  readonly units?: number;
  /** Least work that is worth a thread, in elements of ordinary cost; 512 if absent. */
  readonly minChunk?: number;
  /** The family of its processor; `other`, if absent. */
  readonly family?: Family;
  /** Its data caches; `standardCaches`, if absent. */
  readonly caches?: CacheSizes;
  /** Rules of memory traffic that are left out, by name (see strategy/traffic/rules.ts); none, if absent. */
  readonly withoutRules?: readonly string[];
  /** Whether reductions to few results and scans of few rows may be computed in chunks, and in how many at least; yes, any, if absent. */
  readonly splitReductions?: boolean;
  readonly leastSplits?: number;
  /** What to reckon with for symbolic sizes, with a kernel for each; strategy/size-hints decides, if absent or empty. */
  readonly sizeHints?: readonly number[];
  /** Whether the entry clocks its kernels, in a block that is given behind the workspace; no, if absent. */
  readonly clocks?: boolean;
  /** Whether a loop over what exact vectors leave over is written too, though it is empty; no, if absent. */
  readonly emptyLoops?: boolean;
  /** Whether loops are cut where comparisons of a coordinate begin or cease to hold; yes, if absent. */
  readonly decidesBounds?: boolean;
  /**
   * Which positions in vectors are 32 bits wide: with `assumed` all, for the sizes that a program's `indexLimits` allow; else those
   * whose ranges show that they fit.
   */
  readonly positions?: Positions;
}

/** Cycles per element of ordinary cost: what `minChunk` elements take is work that pays for waking another thread. */
const cyclesPerElement = 4000 / 512;

export const chunkCycles = ({ minChunk = 512 }: CpuTarget): number => minChunk * cyclesPerElement;
