// What the strategies know of the machine: vector width, threads, caches. All constants that steer a choice are here.
import type { DType } from '@tsinductor/base';
import type { Positions } from '@tsinductor/codegen';

export type Isa = 'avx512' | 'avx2' | 'neon' | 'scalar';

export interface CpuTarget {
  readonly isa: Isa;
  readonly threads: number;
  /** Whether it is to run on other numbers of threads as well, so that no chunk is a thread's whole share; no, if absent. */
  readonly anyThreads?: boolean;
  /** Into how many compilation units the kernels of a graph are spread; 1 if absent. */
  readonly units?: number;
  /** Least work that is worth a thread, in elements of ordinary cost; 512 if absent. */
  readonly minChunk?: number;
  /** Which processors it is for, of those that deal with memory in ways of their own; any, if absent. */
  readonly family?: Family;
  /** Whether reductions to few results and scans of few rows may be computed in pieces, and in how many at least; yes, any, if absent. */
  readonly splitReductions?: boolean;
  readonly leastSplits?: number;
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

export interface CpuModel {
  /** Bytes of a vector register; 0: scalar code. */
  readonly vectorBytes: number;
  readonly vectorRegisters: number;
  /** Rows and vectors of the register tile of a matrix product. */
  readonly tileRows: number;
  readonly tileVectors: number;
}

export const cpuModels: Readonly<Record<Isa, CpuModel>> = {
  avx512: { vectorBytes: 64, vectorRegisters: 32, tileRows: 6, tileVectors: 4 },
  avx2: { vectorBytes: 32, vectorRegisters: 16, tileRows: 6, tileVectors: 2 },
  neon: { vectorBytes: 16, vectorRegisters: 32, tileRows: 6, tileVectors: 4 },
  scalar: { vectorBytes: 0, vectorRegisters: 0, tileRows: 4, tileVectors: 4 },
};

/** Lanes of a full vector of elements with `bytes` bytes. */
export const lanesFor = (isa: Isa, bytes: number): number =>
  Math.max(1, Math.floor(cpuModels[isa].vectorBytes / bytes));

/** Whether lanes so far apart, or backwards, are taken out of the few registers that they lie in: see prelude/spread-functions.ts. */
export function isSpread(
  isa: Isa,
  { lanes, bytes }: { readonly lanes: number; readonly bytes: number },
  step: number | undefined,
): boolean {
  const isRegister = lanes >= 4 && lanes * bytes <= cpuModels[isa].vectorBytes;
  return isRegister && step !== undefined && (step === -1 || (step > 1 && step <= 4));
}

/** Bytes that caches and memory exchange at once. */
export const lineBytes: number = 64;

/** Within this, lines that are read in order are foreseen. */
export const pageBytes: number = 4096;

/** Results of at least this many bytes are written past the caches, where they are not asked for before. */
export const streamingBytes: number = 24 * 1024 * 1024;

/**
 * Results of at least so many bytes that are asked for ahead of being written (see strategy/asked-results.ts): how far ahead, by
 * kernels that read at most so many bytes for each that they write, on at most so many threads. More cores are held up by memory
 * itself, which moves a third less of a copy where results go past the caches. (`mostThreads` is reasoned, not measured: at
 * 12 GB/s, eight cores take what the memory channels of a server's socket give.)
 */
export const asking: Readonly<Record<'leastBytes' | 'bytes' | 'mostReads' | 'mostThreads', number>> = {
  leastBytes: 8 * 1024 * 1024,
  bytes: 2048,
  mostReads: 2,
  mostThreads: 8,
};

/** Processors that deal with memory alike; `rapids` are Intel's servers since Sapphire Rapids. */
export type Family = 'zen' | 'rapids' | 'other';

export interface MemoryHabits {
  /** Whether few threads ask for the lines of large results before they write them; else these go past the caches. */
  readonly asksForResults: boolean;
  /** Whether passes over memory from end to end ask for what lies further on: where the processor foresees too little of it. */
  readonly asksInPasses: boolean;
  /** Whether tiles of what a last-level cache has ask for the next one across the grain. */
  readonly asksInTiles: boolean;
  /** Whether passes that take windows out of rows of memory ask for the next such rows. */
  readonly asksForWindows: boolean;
  /** Of how many arrays at most the last pass over a row asks for the next one, or a later one. */
  readonly nextRows: number;
  /** How rows of memory are asked for, and those that loaded values choose. */
  readonly memory: RowHabits;
  readonly chosen: RowHabits;
  /** Which row of a lone array of memory the last pass over one asks for at most where rows are short: 1 is the next one. */
  readonly laterRows: number;
  /**
   * Whether what is read in the order of addresses alone is foreseen: rows that are read side by side are asked for before, in that
   * order, and a row that one pass reads is one sequence (see strategy/row-streams.ts).
   */
  readonly asksInOrder: boolean;
  /** How many bytes at most a pass over memory that does little with them loads at once (see strategy/half-loads.ts). */
  readonly mostLoaded: number;
  /**
   * Whether lanes at offsets are taken by the gather instruction of AVX-512 (a Redwood Cove: 0.19 ns an element of f32 by an i64
   * against 0.46 in loads of their own; a Cascade Lake 1.9 against 1.0, and many times that where microcode was mended against data
   * sampling). Under a mask they always are.
   */
  readonly gathers: boolean;
  /**
   * Whether registers of f32 are divided by a constant as two products (see passes/split-reciprocal.ts; a Redwood Cove: 0.84 ns instead
   * of 2.57), and their roots taken as products (prelude/target-functions.ts; Adam in the caches takes a fifth less).
   */
  readonly dividesSlowly: boolean;
  /** Smaller results than `streamingBytes` go past the caches too: how large ones, where the kernel moves so many bytes. */
  readonly pastBeside: { readonly bytes: number; readonly moved: number };
  /** How many short rows of a result that goes past the caches are written one after another (see strategy/unit-axes.ts). */
  readonly rowsInRun: number;
  /** Whether the second of two threads adds its table of rows to the first one's alone (see strategy/scatter-tables.ts). */
  readonly tablesInTurn: boolean;
  /** Of how many bytes stores past the caches are at least, where that is less than a register. */
  readonly leastPast: number;
}

/** How rows are asked for before they are read. */
export interface RowHabits {
  readonly into: 'first' | 'second';
  /** How far ahead: so many rows at least where they are short, and so many bytes of them. */
  readonly least: number;
  readonly bytes: number;
}

/** Into the first cache, which holds little more: what a larger cache has, and chosen elements, which are read in no order. */
export const nearRows: RowHabits = { into: 'first', least: 1, bytes: 4096 };

/** Into the second, which keeps more requests on their way, some rows earlier. */
export const secondRows: RowHabits = { into: 'second', least: 2, bytes: 8192 };

/**
 * On an AMD Zen a store past the caches holds up nobody, and lines in a row are foreseen. (Measured on a Zen 4 with two threads,
 * arrays of 64 MB: a copy takes 2.5 ms past the caches, 3.5 by way of them, asked for or not; softmax 3.7 and 6.1, Adam 11.5 and
 * 21, columns set beside each other 1.9 and 4.9. Without asking, a full sum takes 11 % less, sums of rows of 4 MB in a third-level
 * cache 20 %.)
 *
 * What is asked for of memory goes by way of the second-level cache there, which keeps more requests on their way than the first:
 * softmax of rows of 64 KB takes 32 % less so, rows by their indices 25, and 30 where two of 4 KB are asked for ahead; arrays of
 * 4 MB, which a third-level cache has, take 3 to 8 % more so, and elements chosen in rows of memory 28, but a third less where their
 * indices are asked for too (see strategy/row-ahead.ts). Of two arrays the next row
 * alone: softmax's backward pass takes 7 to 12 % less than without asking, and 5 to 7 more where the row after that is asked for (10
 * to 28 if into the first cache).
 *
 * Lines are foreseen there where they are read in the order of their addresses alone: two rows of 4 KB side by side, end to end 64 MB,
 * take up to twice as long as one after the other (see strategy/rows-beside.ts and strategy/columns-in-order.ts).
 *
 * On Intel's Granite Rapids too a store past the caches holds up nobody, but what is read wants to be asked for. (Measured with two
 * threads, arrays of 256 MB, of which its third-level cache has nothing: softmax takes 12.1 ms, 15.0 without asking, and 20.1 by way of the
 * caches; Adam 37, 40 and 60; a GELU gate 20.6, 30.9 and 23.7; int8 widened to f32 6.4, 7.3 and 14.7; a SiLU gate of bf16, whose results are
 * halves of lines, 15, 38 and 15, a sum of two 10.9, 13.9 and 14.1.) Into the second-level cache alone the rows that indices choose are
 * asked for (11.6 ms, 13.7 into the first); softmax takes 16 % more so, the gates of bf16 too. Of rows of 2 KB not the next one is asked for
 * but that after it: softmax of bf16 takes 8 % less so, group norm 5 %, and 23 % more with the fourth.
 *
 * The others are as measured on Intel's Cascade Lake.
 */
const memoryHabits: Readonly<Record<Family, MemoryHabits>> = {
  zen: {
    asksForResults: false,
    asksInPasses: false,
    asksInTiles: false,
    asksForWindows: false,
    nextRows: 2,
    memory: secondRows,
    chosen: secondRows,
    laterRows: Infinity,
    asksInOrder: true,
    mostLoaded: 32,
    gathers: false,
    dividesSlowly: false,
    pastBeside: { bytes: 8 * 1024 * 1024, moved: 64 * 1024 * 1024 },
    rowsInRun: 1,
    tablesInTurn: true,
    leastPast: 32,
  },
  rapids: {
    asksForResults: false,
    asksInPasses: true,
    asksInTiles: true,
    asksForWindows: true,
    nextRows: Infinity,
    memory: nearRows,
    chosen: secondRows,
    laterRows: 2,
    asksInOrder: false,
    mostLoaded: Infinity,
    gathers: true,
    dividesSlowly: true,
    pastBeside: { bytes: 8 * 1024 * 1024, moved: 64 * 1024 * 1024 },
    rowsInRun: 16,
    tablesInTurn: false,
    leastPast: 32,
  },
  other: {
    asksForResults: true,
    asksInPasses: true,
    asksInTiles: false,
    asksForWindows: false,
    nextRows: Infinity,
    memory: nearRows,
    chosen: nearRows,
    laterRows: 1,
    asksInOrder: false,
    mostLoaded: Infinity,
    gathers: false,
    dividesSlowly: false,
    pastBeside: { bytes: Infinity, moved: Infinity },
    rowsInRun: 1,
    tablesInTurn: true,
    leastPast: Infinity,
  },
};

export const habitsOf = ({ family = 'other' }: Pick<CpuTarget, 'family'>): MemoryHabits => memoryHabits[family];

/** Whether the lines of large results are asked for before they are written. */
export const asksForResults = (target: Pick<CpuTarget, 'family'> & { readonly threads?: number }): boolean =>
  habitsOf(target).asksForResults && (target.threads ?? 1) <= asking.mostThreads;

/** From which size of a buffer, and for which lengths of its rows in bytes, the next row is asked for ahead of its use. */
export const ahead: { readonly bufferBytes: number; readonly leastRow: number; readonly mostRow: number } = {
  bufferBytes: 1024 * 1024,
  leastRow: 512,
  mostRow: 256 * 1024,
};

/** Rows of memory from this many bytes on are read as several streams at once where one pass reads them from end to end. */
export const streams: {
  readonly count: number;
  readonly bufferBytes: number;
  readonly leastRow: number;
  readonly mostRow: number;
} = { count: 2, bufferBytes: 4 * 1024 * 1024, leastRow: 8 * 1024, mostRow: Infinity };

/** The same for rows that one pass reads: of memory alone, and not so long that they end seldom. */
export const passes: { readonly bufferBytes: number; readonly leastRow: number; readonly mostRow: number } = {
  bufferBytes: 4 * 1024 * 1024,
  leastRow: 512,
  mostRow: 64 * 1024,
};

/** How far ahead passes over rows that are too long for that ask. */
export const longRowsAheadBytes: number = 4096;

/** Rows of which a second-level cache holds several beside all else, in bytes. */
export const shortRowBytes: number = 32 * 1024;

/** Rows side by side, all of which are asked for while those before them are read: a quarter of a second-level cache. */
export const nextRowsBytes: number = 256 * 1024;

/** How far ahead of their use a pass over arrays of memory asks for their lines. */
export const aheadBytes: number = 1024;

/**
 * How many vectors a loop computes side by side whose work per point, in machine operations, is above `over` and up to `upTo`:
 * short reductions, which wait for their own sums, and long chains of operations, such as an exponential, which wait for each
 * other: more of those that are single instructions, where there are registers for them, and of chains so long that a
 * processor sees no second one beside them. (Measured on a Cascade Lake: Black-Scholes takes 27 % less in four vectors.)
 */
export const sideBySide: Readonly<Record<'reductions' | 'points' | 'instructions' | 'chains', SideBySide>> = {
  reductions: { over: 0, upTo: 8, vectors: 8 },
  points: { over: 16, upTo: 128, vectors: 2 },
  instructions: { over: 16, upTo: 96, vectors: 4 },
  chains: { over: 128, upTo: 256, vectors: 4 },
};

/**
 * Into how many parts the axis of lanes is cut at most, and maps of how much work (see strategy/lane-parts.ts): code is written
 * again for each. Parts of fewer points than `mostJoined` may be one loop: what is asked for 2 KB ahead is then in another row.
 */
export const lanesInParts: Readonly<Record<'most' | 'mostWork' | 'mostJoined', number>> = {
  most: 5,
  mostWork: 64,
  mostJoined: 256,
};

/** Vectors that are computed side by side at most. */
export const mostBeside: number = 16;

/** Which part of the work of vectors side by side it takes that they share for that alone. */
export const leastShare: number = 0.5;

/** Registers that `sideBySide.instructions` and `chains` take. */
export const manyRegisters: number = 32;

export interface SideBySide {
  readonly over: number;
  readonly upTo: number;
  readonly vectors: number;
}

/** What `minChunk` elements of ordinary cost take, in cycles: work that pays for waking another thread. */
export const chunkCycles = ({ minChunk = 512 }: CpuTarget): number => (minChunk * 4000) / 512;

/** Units per thread that axes are cut into, from which chunks are made. */
export const unitsPerThread: number = 4;

/**
 * Chunks per thread: 1, or so many that a thread which is held up does not stall the rest, and how many times the work that pays for a
 * thread each of these has at least. The pool makes one of what are fewer (runtime/native/thread-pool.h, `longJob`).
 */
export const chunks: Readonly<Record<'several' | 'most' | 'claimed', number>> = { several: 4, most: 16, claimed: 16 };

/** Scratch that lives on a thread's stack at most. */
export const stackScratchBytes: number = 64 * 1024;

/** Scratch for the states of a block of columns: half of a first-level cache. */
export const columnScratchBytes: number = 16 * 1024;

/** Elements per chunk of a reduction to few results, or a scan of few rows: fixed, so that the order of a sum depends on sizes only. */
export const reductionChunk: number = 32 * 1024;

/**
 * The same of rows that are reduced down their columns, where those rows have at most so many bytes: chunks of 1 MB of f32, so that
 * the states that they leave are few beside what they read.
 */
export const columnChunk: number = 256 * 1024;
export const columnRowBytes: number = 8 * 1024;

/**
 * Tables that rows are added into by index, a stretch of the rows each: bytes of one at most (half of a second-level cache); how
 * many at most; the points that each of their elements must stand for, fewer where each thread has one table; elements that one
 * thread sums at a time; and the part of the rows that the first of two stretches has: who adds them fills the out before, whose
 * lines the other changed last. (Measured on a Zen 4: 1,024 rows of 4 KB into 64 take a fifth to a third less so than by columns that a
 * thread owns, and 5 to 10 % less with 7/16 of them in the first stretch than with half.)
 */
export const tables: Readonly<
  Record<'bytes' | 'most' | 'leastPoints' | 'leastPointsAlone' | 'block' | 'firstPart', number>
> = {
  bytes: 512 * 1024,
  most: 16,
  leastPoints: 32,
  leastPointsAlone: 8,
  block: 4096,
  firstPart: 7 / 16,
};

/** Of an array beside the caches: larger than they are, so that its results are worth asking for, or far larger. */
export type Extent = 'large' | 'huge';

export function extentOf(bytes: number): Extent | undefined {
  if (bytes >= streamingBytes) return 'huge';
  return bytes >= asking.leastBytes ? 'large' : undefined;
}

/** The stored form of a dtype that a register holds as bits. */
export const isHalf = (dtype: DType): boolean => dtype === 'f16' || dtype === 'bf16';
