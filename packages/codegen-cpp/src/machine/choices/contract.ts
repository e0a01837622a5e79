// Choices of matrix products: register tiles, blocks, and from which sizes on a form is taken.
import type { ChoiceTable } from '../choice.ts';
import { rowsOf } from '../measure.ts';
import type { Isa } from '../isa.ts';

/** Rows and vectors of columns whose sums are kept in registers. */
export interface RegisterTile {
  readonly rows: number;
  readonly vectors: number;
}

export interface ContractChoices {
  readonly registerTiles: Readonly<Record<Isa, RegisterTile>>;
  readonly fewRowsVectors: Readonly<Record<number, number>>;
  readonly fewVectorsRows: Readonly<Partial<Record<Isa, Readonly<Record<number, number>>>>>;
  readonly evenRowsVectors: Readonly<Partial<Record<Isa, Readonly<Record<number, number>>>>>;
  readonly wholeRunRows: Readonly<Partial<Record<Isa, number>>>;
  readonly contractDepth: number;
  readonly packedBytes: number;
  readonly panelBytes: number;
  readonly windowBytes: number;
  readonly panels: number;
  readonly wideUnitBytes: number;
  readonly wideUnit: { readonly bytes: number; readonly depth: number };
  readonly panelVectors: number;
  readonly panelRows: number;
  readonly prefetchedPanelRows: number;
  readonly blockRows: { readonly packed: number; readonly inPlace: number };
  readonly keptRowBytes: number;
  readonly streamedRows: number;
  readonly streamedBytes: number;
  readonly streamedDepth: { readonly cached: number; readonly memory: number };
  readonly chainBytes: number;
  readonly chainSumRows: number;
  readonly chainPanelDepth: number;
  readonly plainVolume: number;
  readonly dotRows: number;
  readonly dotColumns: number;
  readonly rowColumns: number;
  readonly stateRows: number;
  readonly productHints: readonly number[];
}

const gemm = rowsOf('gemm', 'GEMM 64', 'GEMM 256', 'GEMM 512', 'GEMM 1024', 'GEMM 2048');

const decode = rowsOf('gemm', 'decode f32, 8 rows', 'decode bf16, 8 rows', 'layer of 4096 to 4096, 8 rows');

export const contractChoices: ChoiceTable<ContractChoices> = {
  registerTiles: {
    doc: 'The register tile of a matrix product.',
    unit: 'rows, vectors',
    trades: 'larger tiles load less for each product; accumulators that do not fit into registers spill.',
    measure: gemm,
    value: {
      avx512: { rows: 6, vectors: 4 },
      avx2: { rows: 6, vectors: 2 },
      neon: { rows: 6, vectors: 4 },
      scalar: { rows: 4, vectors: 4 },
    },
  },
  fewRowsVectors: {
    doc: 'Vectors of the register tile where a product has so few rows, with AVX-512.',
    unit: 'vectors by rows',
    trades: 'few rows leave registers for more columns.',
    measure: rowsOf('choices', 'product of 2 rows', 'product of 3 rows'),
    value: { 1: 16, 2: 8, 3: 6 },
  },
  fewVectorsRows: {
    doc: 'Rows of the register tile at most where a product, or a panel that is packed once, has so few vectors of columns.',
    unit: 'rows by vectors',
    trades: 'few columns leave registers for more rows, for which a panel is read less often.',
    measure: rowsOf('choices', 'product of 8 rows by a frozen matrix'),
    value: { avx512: { 1: 16, 2: 12, 3: 8 } },
  },
  evenRowsVectors: {
    doc: 'Vectors of the register tile of a convolution whose runs of rows are tiles of so many rows, or are divided into such.',
    unit: 'vectors by rows',
    trades: 'few rows leave registers for more columns.',
    measure: rowsOf('conv', 'conv 3x3, 512 to 512 channels, 7x7'),
    value: { avx2: { 4: 3 }, avx512: { 7: 4, 8: 3, 9: 3, 10: 2, 11: 2, 12: 2, 13: 2, 14: 2 } },
  },
  wholeRunRows: {
    doc: 'Up to how many rows a run of a convolution is one register tile.',
    unit: 'rows',
    trades:
      'no first-level cache holds a panel, which a tile of more rows reads less often; fewer columns share what is read of the image.',
    measure: rowsOf('conv', 'conv 3x3, 512 to 512 channels, 7x7', 'conv 3x3, 256 to 256 channels, 14x14, batch 8'),
    value: { avx512: 14 },
  },
  contractDepth: {
    doc: 'Points of the reduced axis per block at most; half of them of 8-byte elements.',
    unit: 'points',
    trades: 'longer blocks store sums less often; a panel is to stay in the second-level cache.',
    measure: gemm,
    value: 512,
  },
  packedBytes: {
    doc: 'From which size on the second operand is packed into panels; a quarter of it for a first operand that strides.',
    unit: 'bytes',
    trades: 'packing reads and writes the operand once more, and then streams it.',
    measure: gemm,
    value: ({ caches }) => caches.second / 2,
  },
  panelBytes: {
    doc: 'Bytes of the panels of a unit, which lie on the stack of its thread.',
    unit: 'bytes',
    trades: 'more panels share the rows of the first operand; they are to stay in the second-level cache.',
    measure: gemm,
    value: 512 << 10,
  },
  windowBytes: {
    doc: 'Bytes of a panel of the weight of a convolution: as much of its channels and windows as are summed over at once.',
    unit: 'bytes',
    trades:
      'sums of all places are stored and loaded once for each block; a panel is to stay in the second-level cache, and on the stack of its thread.',
    measure: rowsOf('conv', 'conv 3x3, 64 to 64 channels, 56x56, batch 8'),
    value: ({ caches }) => Math.min(caches.second / 4, 512 << 10),
  },
  panels: { doc: 'Panels of a unit at most.', unit: 'panels', trades: 'as panelBytes.', measure: gemm, value: 4 },
  wideUnitBytes: {
    doc: 'From which size of the first operand on units are wide, and its rows are packed.',
    unit: 'bytes',
    trades: 'each unit reads all rows, from memory where no cache holds them; packing them costs more than a cache.',
    measure: rowsOf('gemm', 'GEMM 4096'),
    value: ({ caches }) => caches.last,
  },
  wideUnit: {
    doc: 'Bytes of the panels of a wide unit, which lie on the stack of its thread, and points of the reduced axis per block there; half of those of 8-byte elements.',
    unit: 'bytes, points',
    trades:
      'more panels read the rows less often; shorter blocks store sums more often, and leave room for more panels.',
    measure: rowsOf('gemm', 'GEMM 4096'),
    value: { bytes: 768 << 10, depth: 384 },
  },
  panelVectors: {
    doc: 'Vectors of columns in a panel of a matrix that is packed once for all calls.',
    unit: 'vectors',
    trades: 'a register tile takes one panel; wider tiles have fewer rows.',
    measure: rowsOf('choices', 'product of 8 rows by a frozen matrix'),
    value: 2,
  },
  panelRows: {
    doc: 'From how many rows on a product by a frozen matrix is over panels that are packed once.',
    unit: 'rows',
    trades: 'of fewer rows it reads the matrix once, in the order in which it lies.',
    measure: rowsOf('choices', 'product of 8 rows by a frozen matrix', 'product of 3 rows by a frozen matrix'),
    value: 4,
  },
  prefetchedPanelRows: {
    doc: 'Up to how many rows a product by such panels fetches the next block while the rows of one are done; 0: never.',
    unit: 'rows',
    trades: 'a prefetch at each step takes an issue slot; of many rows only the first waits for a panel.',
    measure: rowsOf('models', 'BERT base, 128 tokens', 'LSTM 2 x 512, 64 steps, batch 8'),
    value: 512,
  },
  blockRows: {
    doc: 'Rows per block, where the first operand is packed and where it is read in place.',
    unit: 'rows',
    trades: 'more rows use a panel more often; a packed block is to stay in the second-level cache.',
    measure: gemm,
    value: { packed: 96, inPlace: 192 },
  },
  keptRowBytes: {
    doc: 'Bytes of the rows that stay in the cache while all panels of a matrix are multiplied by them.',
    unit: 'bytes',
    trades: 'fewer rows read the panels more often; more do not stay in the second-level cache.',
    measure: rowsOf('models', 'ResNet-50'),
    value: ({ caches }) => caches.second / 4,
  },
  streamedRows: {
    doc: 'Up to how many rows a product reads a large second operand along its rows, and packs nothing of it.',
    unit: 'rows',
    trades: 'each tile of rows reads what the one before it has read; more rows are worth a panel.',
    measure: decode,
    value: 16,
  },
  streamedBytes: {
    doc: 'From which size on such an operand is large.',
    unit: 'bytes',
    trades: 'sums are stored and loaded more often; what the second-level cache holds need not be read in order.',
    measure: decode,
    value: ({ caches }) => 2 * caches.second,
  },
  streamedDepth: {
    doc: 'Points of the reduced axis per block there, where the last-level cache holds the operand and where it does not.',
    unit: 'points',
    trades: 'longer blocks store sums less often; hardware follows so many rows at a time.',
    measure: decode,
    value: { cached: 16, memory: 16 },
    families: { zen: { value: { cached: 16, memory: 8 }, because: 'its prefetcher follows fewer rows of memory' } },
  },
  chainBytes: {
    doc: 'Bytes of the rows between two products that are computed a block of rows at a time.',
    unit: 'bytes',
    trades:
      'more rows use what they read of the second operands more often; they are to stay in the second-level cache.',
    measure: rowsOf('attention', 'attention of 1024'),
    value: 192 << 10,
  },
  chainSumRows: {
    doc: 'Rows of such a block at least, where a product sums over them.',
    unit: 'rows',
    trades: 'more rows load and store the sums less often; they leave the second-level cache where they are long.',
    measure: rowsOf('attention', 'attention of 1024, with gradients'),
    value: 48,
  },
  chainPanelDepth: {
    doc: 'From how many points of the reduced axis on the second operand of such a product is packed once for all blocks of rows.',
    unit: 'points',
    trades:
      'packing reads and writes it once more; columns of many points have few sets of the first-level cache to themselves.',
    measure: rowsOf('attention', 'attention of 1024'),
    value: 128,
  },
  plainVolume: {
    doc: 'Below how many products plain loops are taken.',
    unit: 'products',
    trades: 'tiles have code for every tail.',
    measure: rowsOf('choices', 'product of 7 rows and columns'),
    value: 512,
  },
  dotRows: {
    doc: 'Up to how many rows a product is taken as dot products, where both operands lie along the reduced axis.',
    unit: 'rows',
    trades: 'packing costs more than it gains for few rows.',
    measure: rowsOf('choices', 'product of 3 rows along columns'),
    value: 4,
  },
  dotColumns: {
    doc: 'Columns per unit of dot products.',
    unit: 'columns',
    trades: 'enough to be worth handing out.',
    measure: rowsOf('choices', 'product of 3 rows along columns'),
    value: 32,
  },
  rowColumns: {
    doc: 'From how many columns on a product of one row is taken as a reduction of rows.',
    unit: 'columns',
    trades: 'short rows are read in tiles as well.',
    measure: rowsOf('choices', 'product of 1 row'),
    value: 256,
  },
  stateRows: {
    doc: 'Up to how many rows a product is taken as one reduction with a sum for each row, where the second operand is widened or computed from what lies along the reduced axis.',
    unit: 'rows',
    trades:
      'a panel of what is computed is stored, transposed and read again; more sums than half of the registers are spilled.',
    measure: rowsOf('gemm', 'decode int4, 8 rows'),
    value: 8,
  },
  productHints: {
    doc: 'Sizes to reckon with in a product of which at least two sizes are symbols, with a kernel for each: as `multiKernelHints`, which comes first.',
    unit: 'points',
    trades: 'what pays for large operands costs small ones; each is a kernel to compile.',
    measure: rowsOf('choices', 'product of 1024 of symbolic sizes'),
    value: [128, 1024],
  },
};
