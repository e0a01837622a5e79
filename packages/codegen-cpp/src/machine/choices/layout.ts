// Choices of how loops are laid out: vectors side by side, parts of an axis, chunks for threads, scratch, columns and tiles.
import type { ChoiceTable } from '../choice.ts';
import { memoryBound, rowsOf } from '../measure.ts';

/** Vectors per iteration of a loop whose work per point, in machine operations, is above `over` and up to `upTo`. */
interface Interleaving {
  readonly over: number;
  readonly upTo: number;
  readonly vectors: number;
}

/** A block of tiles, in tiles across the grain and along it. */
interface TileExtent {
  readonly across: number;
  readonly along: number;
}

/** A block that is transposed as a whole: its rows, and the bytes of each. */
export interface TransposedExtent {
  readonly rows: number;
  readonly rowBytes: number;
}

export interface LayoutChoices {
  readonly accessCost: Readonly<
    Record<'contiguous' | 'uniform' | 'transposed' | 'transposedScan' | 'stridedStore', number>
  >;
  readonly interleave: Readonly<Record<'reductions' | 'points' | 'instructions' | 'chains', Interleaving>>;
  readonly accumulators: number;
  readonly mostInterleaved: number;
  readonly manyRegisters: number;
  readonly sharedWork: { readonly least: number; readonly worthMore: number };
  readonly laneParts: { readonly most: number; readonly mostWork: number; readonly mostJoined: number };
  readonly unitsPerThread: number;
  readonly chunks: { readonly several: number; readonly most: number; readonly worthClaiming: number };
  readonly stackScratchBytes: number;
  readonly reductionChunk: number;
  readonly cascade: { readonly steps: number; readonly levels: number };
  readonly columnChunk: { readonly elements: number; readonly rowBytes: number };
  readonly columns: {
    readonly scratchBytes: number;
    readonly rows: number;
    readonly scannedRows: number;
    readonly leastColumns: number;
    readonly leastRows: number;
    readonly leastMemoryRows: number;
    readonly narrowBytes: number;
  };
  readonly columnBlock: { readonly reduced: number; readonly scanned: number };
  readonly cachedTiles: TileExtent;
  readonly streamedTiles: TileExtent;
  readonly orderedTilesAcross: number;
  readonly transposedBlock: TransposedExtent;
  readonly phasedBlock: TransposedExtent;
  readonly rowRuns: { readonly rows: number; readonly mostRowBytes: number };
  readonly tables: Readonly<
    Record<'bytes' | 'most' | 'leastPoints' | 'leastPointsAlone' | 'block' | 'firstPart', number>
  >;
  readonly tablesInTurn: boolean;
  readonly ownedColumns: number;
}

export const layoutChoices: ChoiceTable<LayoutChoices> = {
  accessCost: {
    doc: 'What an access costs per vector by how it lies along the lanes, beside one for each lane of a gather; a strided store times its lanes.',
    unit: 'cycles',
    trades: 'decides which axis has the lanes, and so whether accesses are transposed in tiles.',
    measure: memoryBound(['in L3', 'in memory'], 'a.T + b', 'column sum', 'cumulative sum of rows'),
    value: { contiguous: 0.7, uniform: 0.3, transposed: 3, transposedScan: 12, stridedStore: 1.5 },
  },
  interleave: {
    doc: 'How many vectors a loop computes side by side: reductions and long chains of operations wait for their own results.',
    unit: 'operations, operations, vectors',
    trades: 'more vectors hide latency, and take registers.',
    measure: [
      ...rowsOf('pointwise', 'gelu(x*s+b)*sigmoid(z) 4096'),
      ...memoryBound('in cache', 'sum over a middle axis', 'dropout'),
    ],
    value: {
      reductions: { over: 0, upTo: 8, vectors: 8 },
      points: { over: 16, upTo: 128, vectors: 2 },
      instructions: { over: 16, upTo: 96, vectors: 4 },
      chains: { over: 128, upTo: 256, vectors: 4 },
    },
  },
  accumulators: {
    doc: 'Vectors of states that a reduction along its lanes has side by side; half as many of more than two states, a quarter of more than four.',
    unit: 'vectors',
    trades: 'more hide the latency of sums, and are merged at the end of each row.',
    measure: memoryBound('in cache', 'row sum'),
    value: 4,
  },
  mostInterleaved: {
    doc: 'Vectors that are computed side by side at most.',
    unit: 'vectors',
    trades: 'more share more work, and take registers and code.',
    measure: memoryBound('in memory', 'dropout'),
    value: 16,
  },
  manyRegisters: {
    doc: 'With how many registers the rows instructions and chains of interleave hold.',
    unit: 'registers',
    trades: 'with fewer, vectors side by side spill.',
    measure: rowsOf('pointwise', 'gelu(x*s+b)*sigmoid(z) 4096'),
    value: 32,
  },
  sharedWork: {
    doc: 'Which part of the work of neighbouring vectors it takes that they share for them to stand side by side, and how much more for twice as many.',
    unit: 'part',
    trades: 'less shared work does not pay for the registers.',
    measure: memoryBound('in cache', 'dropout'),
    value: { least: 0.5, worthMore: 0.05 },
  },
  laneParts: {
    doc: 'Into how many parts the axis of the lanes is cut at most, maps of how much work, and below how many points parts may be one loop.',
    unit: 'parts, operations, points',
    trades: 'code is written again for each part, against masks and tests at every point.',
    measure: memoryBound(['in cache', 'in memory'], 'cat along columns', 'rotary embedding'),
    value: { most: 5, mostWork: 64, mostJoined: 256 },
  },
  unitsPerThread: {
    doc: 'Units for each thread that axes are cut into, from which chunks are made.',
    unit: 'units',
    trades: 'more balance threads better; fewer have less to begin and end.',
    measure: memoryBound('in cache', 'gelu(x*s+b)*sigmoid(z)', 'softmax', 'row sum', 'a.T + b'),
    value: 4,
  },
  chunks: {
    doc: 'Chunks for each thread: one, or up to `most`, where there is work for `several` of at least `worthClaiming` times what pays for a thread.',
    unit: 'chunks, chunks, times',
    trades: 'a thread that is held up stalls the others less; each claim waits for what was stored before it.',
    measure: [...memoryBound('in cache', 'sum over a middle axis'), ...memoryBound('in memory', 'softmax')],
    value: { several: 4, most: 16, worthClaiming: 16 },
  },
  stackScratchBytes: {
    doc: 'Scratch that lies on the stack of a thread at most.',
    unit: 'bytes',
    trades: 'larger rows are kept between the passes over them; stacks are bounded.',
    measure: rowsOf('choices', 'softmax [1024,16384]'),
    value: 64 << 10,
  },
  reductionChunk: {
    doc: 'Elements per chunk of a reduction to few results, or of a scan of few rows: the order of a sum depends on it.',
    unit: 'elements',
    trades: 'fewer give threads more to share, and more states to merge.',
    measure: [
      ...memoryBound(['in cache', 'in L3', 'in memory'], 'full sum'),
      ...rowsOf('choices', 'cumulative sum of one row'),
    ],
    value: 32 << 10,
  },
  cascade: {
    doc: 'Elements that the state of a sum takes one after another before it is merged, and how many such sums are merged so; and how deep such blocks are nested where their number is not known.',
    unit: 'steps, blocks',
    trades: 'fewer round less often on the way to a result, and are merged more often.',
    measure: memoryBound('in cache', 'row sum', 'full sum'),
    value: { steps: 16, levels: 4 },
  },
  columnChunk: {
    doc: 'Elements per chunk of rows of at most `rowBytes` that are reduced down their columns.',
    unit: 'elements, bytes',
    trades: 'the states that chunks leave are to be few beside what they read.',
    measure: memoryBound('in memory', 'column sum'),
    value: { elements: 256 << 10, rowBytes: 8 << 10 },
  },
  columns: {
    doc: 'Blocks of columns that are reduced or scanned together: bytes of their states, rows at a time, the fewest columns and rows (of memory) that gain, and bytes of a row for a thread where threads share pages.',
    unit: 'bytes, rows, columns',
    trades: 'more columns read longer sequences of each row; their states must stay in the first-level cache.',
    measure: memoryBound(['in L3', 'in memory'], 'column sum', 'cumulative sum of columns'),
    value: ({ caches }) => ({
      scratchBytes: caches.first / 2,
      rows: 8,
      scannedRows: 4,
      leastColumns: 256,
      leastRows: 64,
      leastMemoryRows: 8,
      narrowBytes: 512,
    }),
  },
  columnBlock: {
    doc: 'Columns at most of such a block, where they are reduced and where they are scanned.',
    unit: 'columns',
    trades: 'longer sequences of each row, against more states to read and write.',
    measure: [
      ...memoryBound(['in L3', 'in memory'], 'column sum'),
      ...rowsOf('gemm', 'decode f32, 1 row', 'decode int8, 1 row'),
    ],
    value: { reduced: 4096, scanned: 1024 },
    families: {
      rapids: { value: { reduced: 1024, scanned: 1024 }, because: 'a page of floats was measured to be enough there' },
    },
  },
  cachedTiles: {
    doc: 'A block of tiles whose results stay in the caches: many rows of the accesses across the grain, few lines of the others.',
    unit: 'tiles',
    trades: 'both sides of a block are to stay in the first two caches.',
    measure: memoryBound('in L3', 'a.T + b'),
    value: { across: 16, along: 4 },
  },
  streamedTiles: {
    doc: 'A block of tiles whose results are written by non-temporal stores: tiles follow what is read across the grain.',
    unit: 'tiles',
    trades: 'longer sequences across the grain, against the lines of the other side that must be kept.',
    measure: memoryBound('in memory', 'permute [a,b,c] to [c,a,b]'),
    value: { across: 64, along: 1 },
  },
  orderedTilesAcross: {
    doc: 'The same across the grain where the next row of tiles is prefetched in the order of memory.',
    unit: 'tiles',
    trades: 'as streamedTiles.',
    measure: memoryBound('in memory', 'permute [a,b,c] to [c,a,b]'),
    value: 128,
  },
  transposedBlock: {
    doc: 'A block that is transposed into scratch before it is computed with.',
    unit: 'rows, bytes',
    trades: 'longer sequences of memory on both sides, against what the second-level cache holds.',
    measure: memoryBound('in memory', 'a.T + b'),
    value: { rows: 128, rowBytes: 1024 },
  },
  phasedBlock: {
    doc: 'The same where it is prefetched in two phases, each in the order of memory.',
    unit: 'rows, bytes',
    trades: 'as transposedBlock.',
    measure: memoryBound('in memory', 'a.T + b'),
    value: { rows: 512, rowBytes: 256 },
  },
  rowRuns: {
    doc: 'How many short rows of a result that is written by non-temporal stores are written one after another, and how long a short row is at most.',
    unit: 'rows, bytes',
    trades: 'memory gets pages of a result instead of lines of many; what is read comes in another order.',
    measure: memoryBound('in memory', 'heads [b,s,h,d] to [b,h,s,d]'),
    value: { rows: 1, mostRowBytes: 512 },
    families: { rapids: { value: { rows: 16, mostRowBytes: 512 }, because: 'was measured to gain there alone' } },
  },
  tables: {
    doc: 'Tables of their own that chunks of rows are added into by index: bytes of one at most, how many at most, points for each element of a table, fewer where each thread has one table, elements that a thread sums at a time, and the part of the rows that the first of two chunks has.',
    unit: 'bytes, tables, points, points, elements, part',
    trades: 'each table is read from end to end by one thread; the tables have to be summed.',
    measure: memoryBound(['in L3', 'in memory'], 'index add of rows'),
    value: ({ caches }) => ({
      bytes: caches.second / 2,
      most: 16,
      leastPoints: 32,
      leastPointsAlone: 8,
      block: 4096,
      firstPart: 7 / 16,
    }),
  },
  tablesInTurn: {
    doc: 'Whether the second of two threads adds its table to the result of the first alone; else both add up two tables.',
    unit: 'yes or no',
    trades: 'lines that another core has changed are dear to read; one thread waits for the other.',
    measure: memoryBound('in L3', 'index add of rows'),
    value: true,
    families: { rapids: { value: false, because: 'its cores share one cache' } },
  },
  ownedColumns: {
    doc: 'Columns that a thread owns at least where rows are added by index.',
    unit: 'columns',
    trades: 'fewer share lines of memory between threads.',
    measure: memoryBound(['in L3', 'in memory'], 'index add of rows'),
    value: 64,
  },
};
