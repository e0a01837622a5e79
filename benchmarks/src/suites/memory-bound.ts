// Programs bound by memory, each at three sizes: arrays that fit into the second-level cache, into the last one, and into
// neither. Every row states the least it must read and write, and the exact value of any element.
import type { ArraySizes } from '../array-sizes.ts';
import { reader, uniform } from '../workload.ts';
import type { Workload } from '../workload.ts';
import { chains } from './memory-bound-chains.ts';
import { concatenation, gathering, gatheringElements, permutations, scattering } from './memory-bound-movement.ts';
import {
  crossEntropy,
  dequantize,
  groupNorm,
  layerNormBackward,
  rmsNorm,
  rmsNormBackward,
  rotaryEmbedding,
  softmaxBackward,
  softmaxBf16,
} from './memory-bound-norms.ts';
import { matrix, params, rowOf, streams, width } from './memory-bound-shapes.ts';
import type { Matrix, Place, Row } from './memory-bound-shapes.ts';
import { geluSigmoid, layerNorm, softmax, sum, sumOver, transposeAdd } from './pointwise.ts';

const suite = 'memory-bound';

type Reading = (index: number) => number;

interface Reduction {
  readonly name: string;
  readonly op: string;
  readonly outputs: (shape: Matrix) => number;
  readonly writes?: number;
  readonly reference: (read: Reading, shape: Matrix) => (i: number) => number;
}

const reduction =
  ({ outputs, writes = 0, reference, ...row }: Reduction) =>
  (n: number): Row => {
    const shape = matrix(n);
    const x = uniform(n, 38, [-1, 2]);
    const valueAt = reference(reader(x), shape);
    return {
      ...row,
      params: params(shape),
      inputs: [x],
      outputs: [outputs(shape)],
      work: streams(1, writes, n),
      reference: (_, i) => valueAt(i),
      tolerance: 1e-4,
    };
  };

/** Rows of the matrices that are summed as blocks of so many rows. */
const blockRows = 16;

const reductions = [
  reduction({
    name: 'full sum',
    op: 'sumAll',
    outputs: () => 1,
    reference:
      (read, { n }) =>
      () =>
        sumOver(n, read),
  }),
  reduction({
    name: 'sum over a middle axis',
    op: 'sumMiddle',
    outputs: ({ n }) => n / blockRows,
    reference:
      (read, { columns }) =>
      (i) =>
        sumOver(blockRows, (k) => read((rowOf(i, columns) * blockRows + k) * columns + (i % columns))),
  }),
  reduction({
    name: 'argmax of rows',
    op: 'argmaxRows',
    outputs: ({ rows }) => rows,
    reference:
      (read, { columns }) =>
      (row) => {
        let best = 0;
        for (let j = 1; j < columns; j += 1) if (read(row * columns + j) > read(row * columns + best)) best = j;
        return best;
      },
  }),
  reduction({
    name: 'cumulative sum of rows',
    op: 'cumsumRows',
    outputs: ({ n }) => n,
    writes: 1,
    reference:
      (read, { columns }) =>
      (i) =>
        sumOver((i % columns) + 1, (j) => read(i - (i % columns) + j)),
  }),
  reduction({
    name: 'cumulative sum of columns',
    op: 'cumsumColumns',
    outputs: ({ n }) => n,
    writes: 1,
    reference:
      (read, { columns }) =>
      (i) =>
        sumOver(rowOf(i, columns) + 1, (k) => read(k * columns + (i % columns))),
  }),
];

/** An image normalised, and halved by the mean of 2 x 2 pixels. */
function resize(n: number): Row {
  const x = uniform(n, 46, [0, 255]);
  const read = reader(x);
  const half = width / 2;
  return {
    name: 'image normalise and halve',
    op: 'halveImage',
    handFused:
      'it multiplies by reciprocals, which round differently, where this divides (a tenth of the kernel alone in cache on a Zen 4, 0 to ' +
      '2 % in L3) or multiplies twice',
    params: { rows: n / width, columns: width },
    inputs: [x],
    outputs: [n / 4],
    // Four bytes read for each that is written, as from four arrays.
    work: { reads: 4, writes: 1, streamBytes: n },
    reference: (_, i) => {
      const at = 2 * rowOf(i, half) * width + 2 * (i % half);
      const mean = (read(at) + read(at + 1) + read(at + width) + read(at + width + 1)) / 4;
      return (mean / 255 - 0.45) / 0.225;
    },
    tolerance: 1e-4,
  };
}

const families: readonly ((n: number) => Row)[] = [
  (n) => geluSigmoid(n),
  (n) => softmax(n / width, width),
  softmaxBackward,
  (n) => layerNorm(n / width, width),
  layerNormBackward,
  rmsNorm,
  rmsNormBackward,
  groupNorm,
  crossEntropy,
  rotaryEmbedding,
  (n) => sum(1, n / width, width),
  (n) => sum(0, n / width, width),
  ...reductions,
  (n) => ({
    ...transposeAdd(Math.sqrt(n)),
    shortfalls: {
      'in memory':
        'two arrays cannot both be read along their rows: blocks of a come in runs of 2 KB, those of b in runs of 256 bytes, and both ' +
        'fall into few sets of every cache. Of fifty by hand (tiles and blocks of 16 x 16 to 1024 x 64, in several orders, by way of the ' +
        'caches and by non-temporal stores, with prefetches in several orders and distances) none took noticeably less; to turn a alone takes nearly half of it. ' +
        'On a Granite Rapids whose memory is mapped in pages of 4 KB below the system, to read a in runs of 256 bytes takes 16 ms of ' +
        'the 37, where in its order it takes 9; then b takes 10, and the sums another 4. Of seventy by hand the best, by way of ' +
        'blocks of 128 x 2048 in a megabyte beside, takes 31',
    },
  }),
  ...permutations,
  concatenation,
  gathering,
  gatheringElements,
  scattering,
  resize,
  ...chains,
  softmaxBf16,
  dequantize,
];

/** Elements of the main arrays, of f32. */
const elementsOf = ({ cache, lastLevel, memory }: ArraySizes): readonly (readonly [Place, number])[] => [
  ['in cache', cache / 4],
  ['in L3', lastLevel / 4],
  ['in memory', memory / 4],
];

// Measured on a Zen 4 from Node, as the difference to the native call alone, or to calls in a native loop; and from C++, for two
// pieces that do nothing.
const inCache = 'on a Zen 4 a call takes 0.3 to 0.9 us around its native code';
const inL3 =
  'on a Zen 4 a call takes 1.5 to 2.4 us around native code that fills the second-level caches, 4 on a Granite Rapids: all that it needs ' +
  'comes from the third again';
const calls: Readonly<Partial<Record<Place, string>>> = { 'in cache': inCache, 'in L3': inL3 };
/** Most reasons were looked for on two processors: what they say of a third is a guess. */
const elsewhere = 'as measured on a Zen 4 or a Cascade Lake: ';
const ofEveryCall = `${inCache}, which takes 0.15 to 0.5 us to share among two threads; what else it is, is not known`;

export const memoryBoundWorkloads = (sizes: ArraySizes): readonly Workload[] =>
  elementsOf(sizes).flatMap(([place, n]) =>
    families.map((make): Workload => {
      const { shortfalls, ...row } = make(n);
      const name = `${row.name.replace(/ (\d+M?|\[[\d,]+\])$/, '')} ${place}`;
      const reason = shortfalls?.[place];
      const everywhere = place === 'in cache' ? ofEveryCall : undefined;
      const shortfall = reason === undefined ? everywhere : `${elsewhere}${reason}`;
      const why = [row.handFused, calls[place]].filter((text) => text !== undefined);
      return {
        ...row,
        suite,
        place,
        name,
        ...(shortfall === undefined ? {} : { shortfall }),
        ...(why.length === 0 ? {} : { handFused: why.join('; and ') }),
      };
    }),
  );
