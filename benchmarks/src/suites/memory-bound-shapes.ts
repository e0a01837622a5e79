// What the rows of the suite of programs bound by memory share: how their matrices are shaped, and what they must move.
import type { Work, Workload } from '../workload.ts';

/** Where the main arrays of a workload lie. */
export type Place = 'in cache' | 'in L3' | 'in memory';

/** A workload before its suite and its place are known. */
export interface Row extends Omit<Workload, 'suite' | 'place' | 'shortfall'> {
  /** By place, why it stays below its limit: see `Workload.shortfall`. */
  readonly shortfalls?: Readonly<Partial<Record<Place, string>>>;
}

/** Arrays of `n` floats that are read and written. */
export const streams = (reads: number, writes: number, n: number): Work => ({ reads, writes, streamBytes: n * 4 });

/** Columns of the matrices; rows follow from the size. */
export const width = 1024;

export interface Matrix {
  readonly n: number;
  readonly rows: number;
  readonly columns: number;
}
export const matrix = (n: number): Matrix => ({ n, rows: n / width, columns: width });
export const params = ({ rows, columns }: Matrix): Row['params'] => ({ rows, columns });

export const rowOf = (index: number, columns: number): number => Math.floor(index / columns);
