// Facts of the machine that code is generated for, as far as they steer what is generated: its caches, and the family of its
// processor. Numbers that trade one thing for another are no facts: they stand in choices.ts.

/** Processors whose memory systems behave alike; `rapids` are Intel's servers since Sapphire Rapids. */
export type Family = 'zen' | 'rapids' | 'other';

/** Bytes of the data caches that one core reaches. */
export interface CacheSizes {
  readonly first: number;
  readonly second: number;
  /** The last level, of which a process counts on no more than `mostLastLevel`. */
  readonly last: number;
}

/** What is taken where the machine does not say. */
export const standardFirstLevel: number = 32 * 1024;
export const standardSecondLevel: number = 1024 * 1024;

/** A virtual machine shows the whole last-level cache of its host, of which it has a share: this much is counted on. */
export const mostLastLevel: number = 32 * 1024 * 1024;

export const standardCaches: CacheSizes = {
  first: standardFirstLevel,
  second: standardSecondLevel,
  last: mostLastLevel,
};

/** Bytes that caches and memory exchange at once. */
export const lineBytes: number = 64;

/** The hardware prefetcher follows sequences of lines within a page. */
export const pageBytes: number = 4096;
