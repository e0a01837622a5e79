// Sizes at which the C++ that sorts a row changes its way. The plan of a sort gives it scratch by the same numbers (strategy/plan/sort.ts),
// so they stand here once for both. All were measured on a Zen 4 (`npm run bench -- --suite sorting`).

export const sortSizes = {
  /** Shorter rows are sorted without counting the highest digits of their elements. */
  leastCounted: 128,
  /** Rows of so many elements are cut in chunks for threads, at most so many; where few elements are wanted, fewer. */
  leastCut: 32_768,
  mostChunks: 16,
  mostChunksOfFew: 8,
  /** Rows of so many elements are parted by digits of 11 bits, shorter ones by digits of 8. */
  leastWide: 1_048_576,
  /** Numbers that count the highest digits of a short row, and of each chunk of a long one. */
  shortCounts: 256,
  longCounts: 2048,
  /** Few elements are wanted where they are at most one of so many, of a row that is longer than this. */
  fewOf: 8,
  mostShortOfFew: 256,
  /** Candidates of a chunk are twice the elements that are wanted, and so many more. */
  moreCandidates: 128,
  /** Rows of so many elements are sampled, so often, to tell about where the wanted ones lie. */
  leastSampled: 4096,
  samples: 512,
} as const;
