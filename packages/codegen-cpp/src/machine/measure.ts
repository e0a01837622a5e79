// By which rows of `npm run bench` choices and rules are measured: the name of a suite, and that of a row of it. A test holds them
// against the suites.

/** `suite: row`. */
export type BenchRow = `${string}: ${string}`;

/** Where the main arrays of a program bound by memory lie. */
type Place = 'in cache' | 'in L3' | 'in memory';

/** Some programs bound by memory, all at one place or several. */
export const memoryBound = (places: Place | readonly Place[], ...names: readonly string[]): readonly BenchRow[] =>
  [places].flat().flatMap((place) => names.map((name): BenchRow => `memory-bound: ${name} ${place}`));

/** Rows of another suite. */
export const rowsOf = (suite: string, ...names: readonly string[]): readonly BenchRow[] =>
  names.map((name): BenchRow => `${suite}: ${name}`);
