// Choices of memory traffic: what is prefetched and how far ahead, how wide loads of memory are, and how results are written. The
// measurements behind each row are in docs/notes/memory-traffic.md, under the name of the rule that reads it.
import type { ChoiceTable } from '../choice.ts';
import { memoryBound, rowsOf } from '../measure.ts';

/** How rows are prefetched: into which cache, and how far ahead. */
export interface RowDistance {
  readonly into: 'first' | 'second';
  /** So many rows at least where they are short, and so many bytes of them. */
  readonly leastRows: number;
  readonly bytes: number;
}

/** Rows along an axis: of arrays of at least `bufferBytes`, each of a length between two bounds, in bytes. */
export interface RowLimits {
  readonly bufferBytes: number;
  readonly leastRow: number;
  readonly mostRow: number;
}

/** Into the first-level cache, which holds little more than the next row. */
export const nextRowDistance: RowDistance = { into: 'first', leastRows: 1, bytes: 4096 };

/** Into the second-level cache, which has room for more requests, some rows earlier. */
const secondLevelDistance: RowDistance = { into: 'second', leastRows: 2, bytes: 8192 };

export interface TrafficChoices {
  readonly memoryBytes: number;
  readonly nonTemporalBytes: number;
  readonly nonTemporalSmaller: { readonly bytes: number; readonly moved: number };
  readonly leastNonTemporalStore: number;
  readonly prefetchesResults: boolean;
  readonly resultPrefetch: { readonly distance: number; readonly mostReads: number; readonly mostThreads: number };
  readonly prefetchesStreams: boolean;
  readonly prefetchesCachedTiles: boolean;
  readonly prefetchesWindows: boolean;
  readonly prefetchesInAddressOrder: boolean;
  readonly nextRow: RowLimits;
  readonly nextRowArrays: number;
  readonly nextRowWork: number;
  readonly laterRow: number;
  readonly memoryRows: RowDistance;
  readonly gatheredRows: RowDistance;
  readonly passRows: RowLimits;
  readonly lineDistance: number;
  readonly longRowDistance: number;
  readonly shortRowBytes: number;
  readonly columnRows: { readonly ahead: number; readonly least: number };
  readonly windowStep: number;
  readonly tilesAhead: number;
  readonly tileRowDistance: { readonly bytes: number; readonly leastRows: number; readonly mostBytes: number };
  readonly cachedTilesAcross: number;
  readonly narrowLoadBytes: number;
  readonly narrowLoads: { readonly mostOperations: number; readonly leastRow: number; readonly leastAddedRow: number };
  readonly rowStreams: RowLimits & { readonly count: number };
  readonly prefetchedRows: RowLimits;
  readonly scatteredRows: number;
}

export const trafficChoices: ChoiceTable<TrafficChoices> = {
  memoryBytes: {
    doc: 'From which size on an array may not be in the last-level cache.',
    unit: 'bytes',
    trades:
      'lower: prefetches of what the cache has anyway cost issue slots; higher: arrays that share the cache with others wait.',
    measure: memoryBound('in L3', 'softmax', 'gather of rows'),
    value: ({ caches }) => caches.last / 4,
  },
  nonTemporalBytes: {
    doc: 'From which size on a result is written by non-temporal stores: the caches will not have it in the end.',
    unit: 'bytes',
    trades: 'lower: who reads the result next finds it in memory; higher: each line is read before it is written.',
    measure: memoryBound(['in L3', 'in memory'], 'gelu(x*s+b)*sigmoid(z)', 'softmax', 'cat along columns'),
    value: ({ caches }) => (caches.last * 3) / 4,
  },
  nonTemporalSmaller: {
    doc: 'Smaller results that are written so too: of at least `bytes`, by kernels that move at least `moved` in all.',
    unit: 'bytes',
    trades: 'as nonTemporalBytes, for results of kernels that read far more than they write.',
    measure: memoryBound('in memory', 'image normalise and halve'),
    value: { bytes: Infinity, moved: Infinity },
    families: {
      zen: { value: { bytes: 8 << 20, moved: 64 << 20 }, because: 'a non-temporal store holds up nobody there' },
      rapids: { value: { bytes: 8 << 20, moved: 64 << 20 }, because: 'a non-temporal store holds up nobody there' },
    },
  },
  leastNonTemporalStore: {
    doc: 'The narrowest non-temporal store, where that is less than a register.',
    unit: 'bytes',
    trades: 'halves of a line with work between them may each go to memory alone, at several times the traffic.',
    measure: memoryBound('in memory', 'bf16 sum and scale', 'bf16 softmax'),
    value: Infinity,
    families: {
      zen: { value: 32, because: 'halves of a line that follow one another are combined' },
      rapids: { value: 32, because: 'halves of a line that follow one another are combined' },
    },
  },
  prefetchesResults: {
    doc: 'Whether few threads prefetch the lines of large results before they write them, instead of using non-temporal stores.',
    unit: 'yes or no',
    trades:
      'memory reads every line before it is written; but a core has more places for lines on their way by way of the caches.',
    measure: memoryBound('in memory', 'gelu(x*s+b)*sigmoid(z)', 'softmax', 'gather of rows'),
    value: true,
    families: {
      zen: { value: false, because: 'a non-temporal store holds up nobody there' },
      rapids: { value: false, because: 'a non-temporal store holds up nobody there' },
    },
  },
  resultPrefetch: {
    doc: 'How far ahead results are prefetched, by kernels that read at most `mostReads` bytes for each that they write, on at most `mostThreads` threads.',
    unit: 'bytes, bytes per byte, threads',
    trades: 'more cores are held up by memory itself, which moves a third less of a copy by non-temporal stores.',
    measure: memoryBound('in memory', 'gelu(x*s+b)*sigmoid(z)'),
    value: { distance: 2048, mostReads: 2, mostThreads: 8 },
  },
  prefetchesStreams: {
    doc: 'Whether passes over memory from end to end prefetch what lies further on.',
    unit: 'yes or no',
    trades:
      'a prefetch for each line, against what the hardware prefetcher misses while arithmetic or stores hold it up.',
    measure: memoryBound('in memory', 'gelu(x*s+b)*sigmoid(z)', 'Adam', 'full sum'),
    value: true,
    families: { zen: { value: false, because: 'its hardware prefetcher follows sequences of lines by itself' } },
  },
  prefetchesCachedTiles: {
    doc: 'Whether tiles of what a last-level cache has prefetch the next one across the grain.',
    unit: 'yes or no',
    trades: 'a prefetch for each line of a tile, against its latency from the last-level cache.',
    measure: memoryBound('in L3', 'NCHW to NHWC'),
    value: false,
    families: { rapids: { value: true, because: 'its last-level cache answers late' } },
  },
  prefetchesWindows: {
    doc: 'Whether passes that take windows out of rows of memory prefetch the next such rows.',
    unit: 'yes or no',
    trades: 'a prefetch for each line, against what the hardware prefetcher misses where rows are read side by side.',
    measure: memoryBound('in memory', 'image normalise and halve'),
    value: false,
    families: { rapids: { value: true, because: 'was measured there alone' } },
  },
  prefetchesInAddressOrder: {
    doc: 'Whether rows that are read side by side are prefetched one after another, and a row that one pass reads is one sequence.',
    unit: 'yes or no',
    trades: 'index arithmetic for each prefetch, against a hardware prefetcher that follows one order alone.',
    measure: memoryBound(
      'in memory',
      'image normalise and halve',
      'rotary embedding',
      'sum over a middle axis',
      'a.T + b',
    ),
    value: false,
    families: {
      zen: { value: true, because: 'it foresees lines only where they are read in the order of their addresses' },
    },
  },
  nextRow: {
    doc: 'Of which arrays the last pass over a row prefetches the next one, and how long such rows are.',
    unit: 'bytes',
    trades: 'shorter rows are over before a prefetch arrives; longer ones leave the cache before they are read.',
    measure: memoryBound(['in L3', 'in memory'], 'softmax', 'layer norm'),
    value: { bufferBytes: 1 << 20, leastRow: 512, mostRow: 256 << 10 },
  },
  nextRowArrays: {
    doc: 'Of how many arrays at most the last pass over a row prefetches the next row, or a later one.',
    unit: 'arrays',
    trades: 'each array takes prefetches of its own, which compete for places in the caches.',
    measure: memoryBound('in memory', 'softmax backward', 'layer norm backward'),
    value: Infinity,
    families: { zen: { value: 2, because: 'with three the prefetches push each other out' } },
  },
  nextRowWork: {
    doc: 'How much the passes over a row of memory compute at least for each of its elements where the last one prefetches the next row.',
    unit: 'machine operations',
    trades: 'where little is computed memory works all the time, and prefetches only take turns from loads.',
    measure: memoryBound('in memory', 'softmax', 'layer norm', 'RMS norm', 'RMS norm backward', 'group norm'),
    value: 0,
    families: { zen: { value: 20, because: 'its hardware prefetcher keeps memory at work where passes are short' } },
  },
  laterRow: {
    doc: 'Which row of a lone array of memory the last pass over one prefetches at most where rows are short: 1 is the next one.',
    unit: 'rows',
    trades: 'nearer: the prefetch arrives late; farther: the row leaves the cache again.',
    measure: memoryBound('in memory', 'softmax', 'group norm', 'bf16 softmax'),
    value: 1,
    families: {
      zen: { value: Infinity, because: 'its second-level cache holds what memoryRows says' },
      rapids: { value: 2, because: 'with the fourth row softmax of bf16 takes a quarter longer' },
    },
  },
  memoryRows: {
    doc: 'How rows of memory are prefetched.',
    unit: 'cache, rows, bytes',
    trades: 'the first-level cache is nearer, the second has room for more requests on their way.',
    measure: [...memoryBound('in memory', 'softmax'), ...rowsOf('choices', 'softmax [1024,16384]')],
    value: nextRowDistance,
    families: {
      zen: { value: secondLevelDistance, because: 'it keeps more requests on their way into the second level' },
    },
  },
  gatheredRows: {
    doc: 'How rows are prefetched that loaded indices choose.',
    unit: 'cache, rows, bytes',
    trades: 'as memoryRows.',
    measure: memoryBound('in memory', 'gather of rows'),
    value: nextRowDistance,
    families: {
      zen: { value: secondLevelDistance, because: 'it keeps more requests on their way into the second level' },
      rapids: { value: secondLevelDistance, because: 'it keeps more requests on their way into the second level' },
    },
  },
  passRows: {
    doc: 'Of which arrays a single pass that reduces rows prefetches rows further on, and how long such rows are.',
    unit: 'bytes',
    trades: 'longer rows end too seldom for the gap at their end to matter.',
    measure: memoryBound('in memory', 'row sum', 'argmax of rows'),
    value: { bufferBytes: 4 << 20, leastRow: 512, mostRow: 64 << 10 },
  },
  lineDistance: {
    doc: 'How far ahead of their use a pass over arrays of memory prefetches lines.',
    unit: 'bytes',
    trades: 'nearer: the line arrives late; farther: it leaves the first-level cache again.',
    measure: memoryBound('in memory', 'gelu(x*s+b)*sigmoid(z)', 'Adam'),
    value: 1024,
  },
  longRowDistance: {
    doc: 'How far ahead a reduction prefetches rows that are too long for passRows.',
    unit: 'bytes',
    trades: 'as lineDistance; a reduction comes to a line sooner, as it writes nothing.',
    measure: memoryBound('in memory', 'full sum'),
    value: 4096,
  },
  shortRowBytes: {
    doc: 'Up to which length rows are short: a second-level cache holds several beside all else.',
    unit: 'bytes',
    trades: 'longer rows are prefetched one at a time.',
    measure: [...memoryBound('in memory', 'softmax'), ...rowsOf('choices', 'softmax [1024,16384]')],
    value: ({ caches }) => caches.second / 32,
  },
  columnRows: {
    doc: 'How many rows ahead columns prefetch that are read downwards, where there are at least so many rows.',
    unit: 'rows',
    trades:
      'what is side by side is a few lines, too few for the hardware prefetcher; few rows end before a prefetch arrives.',
    measure: memoryBound('in memory', 'cumulative sum of columns'),
    value: { ahead: 8, least: 64 },
  },
  windowStep: {
    doc: 'How many elements apart the elements of a window are at most.',
    unit: 'elements',
    trades: 'windows that are farther apart are not loaded as whole vectors, so lines would be prefetched in vain.',
    measure: memoryBound('in memory', 'image normalise and halve'),
    value: 4,
  },
  tilesAhead: {
    doc: 'Which later tile each tile prefetches.',
    unit: 'tiles',
    trades: 'nearer: lines arrive late; farther: they leave the first-level cache again.',
    measure: memoryBound('in memory', 'a.T + b', 'permute [a,b,c] to [c,a,b]'),
    value: 4,
  },
  tileRowDistance: {
    doc: 'How far ahead the next rows of tiles are prefetched in the order of memory; of how many rows of tiles a block is at least; and how many bytes of next rows a scan prefetches so.',
    unit: 'bytes, rows of tiles, bytes',
    trades: 'nearer: lines arrive late; what is prefetched behind the last row of a block may be of no use.',
    measure: memoryBound('in memory', 'a.T + b', 'cumulative sum of rows'),
    value: ({ caches }) => ({ bytes: 16 << 10, leastRows: 4, mostBytes: caches.second / 4 }),
  },
  cachedTilesAcross: {
    doc: 'How many tiles across the grain a thread has at least where each prefetches the next one of what a last-level cache has.',
    unit: 'tiles',
    trades: 'with one tile across, what is prefetched is of no use.',
    measure: memoryBound('in L3', 'NCHW to NHWC'),
    value: 4,
  },
  narrowLoadBytes: {
    doc: 'How many bytes at most a pass over memory that does little with them loads at once.',
    unit: 'bytes',
    trades: 'twice as many loads, against more lines on their way to the core.',
    measure: memoryBound('in memory', 'full sum', 'row sum', 'index add of rows'),
    value: Infinity,
    families: { zen: { value: 32, because: 'each half of a register requests its line by itself' } },
  },
  narrowLoads: {
    doc: 'Passes whose loads are narrowed: of at most so many operations a point, over rows of at least so many bytes, and over rows that are added by index.',
    unit: 'operations, bytes, bytes',
    trades: 'where more is computed, or rows are short, twice as many loads cost more than they gain.',
    measure: memoryBound('in memory', 'row sum', 'index add of rows'),
    value: { mostOperations: 8, leastRow: 1024, leastAddedRow: 4096 },
  },
  rowStreams: {
    doc: 'Long rows of memory that one pass reads as so many sequences at once.',
    unit: 'sequences, bytes',
    trades: 'each is one more sequence for the hardware prefetcher, and takes an accumulator.',
    measure: rowsOf('pointwise', 'row sum [8192,8192]'),
    value: { count: 2, bufferBytes: 4 << 20, leastRow: 8 << 10, mostRow: Infinity },
  },
  prefetchedRows: {
    doc: 'Rows that loops prefetch for which nothing more is said: those of arrays that do not stay in the caches.',
    unit: 'bytes',
    trades: 'of smaller arrays prefetches cost more than they gain.',
    measure: memoryBound('in L3', 'softmax', 'row sum', 'gather of rows', 'index add of rows'),
    value: { bufferBytes: 4 << 20, leastRow: 0, mostRow: Infinity },
  },
  scatteredRows: {
    doc: 'How many rows ahead a loop prefetches whose rows are added by index.',
    unit: 'rows',
    trades: 'nearer: lines arrive late; farther: they leave the first-level cache again.',
    measure: memoryBound(['in L3', 'in memory'], 'index add of rows'),
    value: 2,
  },
};
