// What the strategies know of the machine: threads, shared memory, widths of access. All constants that steer a choice
// are here. Nothing of it is asked of a device: a program for an architecture can be made anywhere.
import type { Positions } from '@tsinductor/codegen';

export type Architecture = 'sm_80' | 'sm_90a';

export interface CudaTarget {
  readonly architecture: Architecture;
  /** What the addresses of inputs are known to be multiples of, in bytes; an element's size if absent. */
  readonly inputAlignment?: number;
  /**
   * With `assumed` all index arithmetic is 32 bits wide, for the sizes that a program's `indexLimits` allow; else positions in
   * comparisons and casts whose ranges show that they fit.
   */
  readonly positions?: Positions;
  /** What to reckon with for symbolic sizes, with kernels for each; their ranges alone decide, if absent or empty. */
  readonly sizeHints?: readonly number[];
  /** Which products matrix instructions are considered for, and in which tiles; all if absent. */
  readonly matrix?: MatrixLimits;
  /** Bytes of shared memory of a block by which tiles of products and attention are chosen; what the architecture has if absent. */
  readonly sharedLimit?: number;
}

export interface MatrixLimits {
  /** Regular expressions over names of tiles, such as 128x128x32_w8: rows, columns, depth and warps. */
  readonly allow?: string | undefined;
  readonly deny?: string | undefined;
  /** Products that are computed element by element if they are fewer. */
  readonly leastVolume?: number;
}

/** Bytes that one thread moves at once at most. */
export const wideBytes: number = 16;

/** Threads of a block whose threads have nothing to do with each other. */
export const mapThreads: number = 256;

/** Blocks that fill any present device several times over: a grid is not larger, its threads stride. */
export const mostBlocks: number = 4096;

/** Threads of a team that shares one row. */
export const teamThreads: { readonly least: number; readonly most: number } = { least: 32, most: 512 };

/** Shorter rows are left to one thread each. */
export const shortRow: number = 32;

/** Shared memory of a block: what any launch may have without asking, and what we ask for at most. */
export const sharedLimit: number = 96 * 1024;

/** Scratch of one thread. */
export const threadScratchBytes: number = 2048;

/** Elements of a reduction to few results that one block takes: fixed, so that the order of a sum depends on sizes only. */
export const splitChunk: number = 8192;

/** So few results are reduced by blocks; of more that lie side by side, threads have one each. */
export const fewResults: number = 64;

/**
 * Results side by side whose threads would not fill a device are reduced in pieces: of at least so many elements, at most so many
 * pieces, for at most so many results.
 */
export const columnPieces: { readonly least: number; readonly most: number; readonly results: number } = {
  least: 128,
  most: 128,
  results: 2 ** 18,
};

/** The side of the square tiles that go through shared memory. */
export const tileSide: number = 32;

/** So many tiles of a matrix product keep all multiprocessors of any present device busy; of fewer, smaller ones are made. */
export const manyTiles: number = 128;
