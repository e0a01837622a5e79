// Convolutions of 3 x 3 with a quarter of the multiplications: F(4 x 4, 3 x 3) of Winograd, as Lavin and Gray have it in "Fast
// Algorithms for Convolutional Neural Networks" (2015, https://arxiv.org/abs/1509.09308). In and out: a graph of primitives.
//
//   y = A' [(G g G') * (B' d B)] A      for a tile d of 6 x 6 of the image, the weight's g of 3 x 3, and y, 4 x 4 of the result
//
// What is in brackets, summed over channels, is a product of matrices for each of the 36 points: [tiles, channels] times
// [channels, outputs]. The points are 0, 1, -1, 2, -2 and infinity. Images are padded to whole tiles, and what is too much is cut.
import { at, stableStringify } from '@tsinductor/base';
import { int } from '@tsinductor/ir';
import { isScalar, isValue, scalarNumber } from '../argument-reader.ts';
import { float } from '../composer.ts';
import type { Composer } from '../composer.ts';
import { frozenNodes } from '../freeze/frozen-nodes.ts';
import type { Arg, Graph, ValueRef } from '../graph.ts';
import type { CallNode } from '../passes/rebuild.ts';
import { range } from '../shape.ts';
import { SizeEnvironment } from '../size-environment.ts';
import { metaIn, partGraph } from './part.ts';
import { rewritten, withNote } from './replace.ts';
import type { Replaced } from './replace.ts';

/** What stands in the origin of all that is made here. */
const winogradRule = 'winograd';

/** Whether a call is of a convolution that was rewritten here. */
export const isOfWinograd = ({ origin }: Pick<CallNode, 'origin'>): boolean => origin.from.includes(winogradRule);

/** A convolution of stride 1 over images [batch, height, width, channels], with a weight that lies as [1, outputs, channels, 3, 3]. */
interface Windows {
  readonly product: ValueRef;
  readonly image: ValueRef;
  readonly weight: ValueRef;
  /** Before the rows and before the columns of the image. */
  readonly padding: readonly [number, number];
  readonly batch: number;
  readonly channels: number;
  readonly outputs: number;
  /** Places of the result. */
  readonly places: readonly [number, number];
}

/** A tile has so many places of the result along an axis, and so many points. */
const PLACES = 4;
const POINTS = 6;

const tilesOf = (places: number): number => Math.ceil(places / PLACES);

/**
 * Forward convolutions of f32 that gain, as products of tiles. `isFrozen` says which placeholders hold what does not change: what the weight
 * becomes is computed once then. Of others the graph's notes say why they stay.
 */
export function winograd(graph: Graph, isFrozen: (placeholder: number) => boolean = () => false): Graph {
  const frozen = frozenNodes(graph, isFrozen);
  const refusals = new Set<string>();
  const parts = graph.nodes.flatMap((node) => {
    const windows = node.kind === 'call' && isForward(node) ? windowsAt(graph, node) : undefined;
    if (windows === undefined) return [];
    const reason = refusal(windows, frozen.has(windows.weight.node));
    if (reason === undefined) return partOf(graph, windows);
    refusals.add(reason);
    return [];
  });
  const [rule, reason] = [winogradRule, 'windows of 3 x 3 are tiles of 4 x 4 places'];
  return [...refusals].reduce<Graph>(
    (made, refused) => withNote(made, { rule, count: 0, reason: refused }),
    rewritten(graph, parts, { rule, reason }),
  );
}

const isForward = ({ target, origin, again }: CallNode): boolean =>
  target === 'bmm' && origin.pass === undefined && again === undefined;

/** Operations that are saved for each byte of points, at the least: caches of a processor are as fast as that. */
const LEAST_SAVED = 5;

/** With fewer channels transforms take as long as products. */
const FEW_CHANNELS = 16;

/** A weight that is not done once is read across, transformed and packed before it is read as points. */
const WEIGHT_WALKS = 5;

/** Why a convolution had better stay. */
function refusal({ batch, channels, outputs, places: [h, w] }: Windows, isFixed: boolean): string | undefined {
  if (Number.isNaN(batch * channels * outputs * h * w)) return 'sizes are symbols';
  const tiles = batch * tilesOf(h) * tilesOf(w);
  const saved = 2 * channels * outputs * (9 * batch * h * w - POINTS * POINTS * tiles);
  // Points of tiles are written and read.
  const elements = 2 * tiles * (channels + outputs) + (isFixed ? 1 : WEIGHT_WALKS) * channels * outputs;
  const perByte = saved / (4 * POINTS * POINTS * elements);
  if (perByte >= LEAST_SAVED && Math.min(channels, outputs) >= FEW_CHANNELS) return undefined;
  return `${String([channels, outputs])} channels at ${String([h, w])} save ${perByte.toFixed(1)} operations for a byte moved`;
}

/** Operators and their attributes, from a value towards what it is made of. */
type Steps = readonly (readonly [target: string, attrs: CallNode['attrs']])[];

/** As `productOfWindows` of the convolutions has them. */
const toTaps: Steps = [
  ['reshape', {}],
  ['permute', { dims: [3, 0, 1, 2, 5, 6, 4] }],
];
const toImage: Steps = [
  ['reshape', {}],
  ['unfold', { dim: 2, size: 3, step: 1 }],
  ['unfold', { dim: 1, size: 3, step: 1 }],
];
const toWeight: Steps = [
  ['reshape', {}],
  ['permute', { dims: [0, 3, 4, 2, 1] }],
];

/** The call that makes a value. */
function callOf({ nodes }: Graph, value: Arg | undefined): CallNode | undefined {
  const node = isValue(value) ? at(nodes, value.node) : undefined;
  return node?.kind === 'call' ? node : undefined;
}

/** What a value is made of by these steps. */
function sourceOf(graph: Graph, value: Arg | undefined, steps: Steps): ValueRef | undefined {
  const source = steps.reduce<Arg | undefined>((made, [target, attrs]) => {
    const call = callOf(graph, made);
    const isStep =
      call?.target === target &&
      Object.entries(attrs).every(([name, attr]) => stableStringify(call.attrs[name]) === stableStringify(attr));
    return isStep ? call.args[0] : undefined;
  }, value);
  return isValue(source) ? source : undefined;
}

/** The sizes of a value; not numbers where they are symbols. */
const sizesOf = (graph: Graph, value: ValueRef): readonly number[] =>
  metaIn(graph, value).shape.map((size) => (size.kind === 'int' ? size.value : NaN));

/** The windows that a product is of. */
function windowsAt(graph: Graph, product: CallNode): Windows | undefined {
  const taps = sourceOf(graph, product.args[0], toTaps);
  const source = sourceOf(graph, taps, toImage);
  const weight = sourceOf(graph, product.args[1], toWeight);
  if (taps === undefined || source === undefined || weight === undefined) return undefined;
  const [images, kernels] = [sizesOf(graph, taps), sizesOf(graph, weight)];
  const [batch = 0, h = 0, w = 0, , channels = 0] = images;
  const [, outputs = 0] = kernels;
  const wanted = [batch, h, w, 1, channels, 3, 3, 1, outputs, channels, 3, 3];
  if (String([...images, ...kernels]) !== String(wanted) || metaIn(graph, taps).dtype !== 'f32') return undefined;
  const { image, padding } = unpadded(graph, source);
  const value = { kind: 'value', node: product.id, result: 0 } as const;
  return { product: value, image, padding, weight, batch, channels, outputs, places: [h, w] };
}

/** The image without its padding. */
function unpadded(graph: Graph, source: ValueRef): Pick<Windows, 'image' | 'padding'> {
  const call = callOf(graph, source);
  const { padding, value } = call?.target === 'pad' ? call.attrs : {};
  const [image, pairs = []] = [call?.args[0], padding as (readonly number[])[] | undefined];
  const isOfZeros = isScalar(value) && scalarNumber(value) === 0;
  const isWider = pairs.every((pair, dim) => pair.every((size) => size === 0 || (size > 0 && dim % 3 > 0)));
  const [, [down] = [], [across] = []] = pairs;
  if (!isValue(image) || !isOfZeros || !isWider) return { image: source, padding: [0, 0] };
  return { image, padding: [Number(down), Number(across)] };
}

function partOf(graph: Graph, windows: Windows): readonly Replaced[] {
  const { product, image, weight } = windows;
  const part = { inputs: [image, weight], outputs: [product] };
  const by = partGraph(graph, part, {
    context: { form: 'primitives', sizes: () => new SizeEnvironment() },
    build: (c, inputs) => [productOfTiles(c, windows, inputs)],
  });
  return by === undefined ? [] : [{ ...part, by, nodes: new Set([product.node]), rule: winogradRule }];
}

/** [1, images places, outputs], as the product of windows has it. */
function productOfTiles(c: Composer, windows: Windows, inputs: readonly ValueRef[]): ValueRef {
  const [x, w] = [at(inputs, 0), at(inputs, 1)];
  const { batch, channels, outputs, places } = windows;
  const [down, across] = [tilesOf(places[0]), tilesOf(places[1])];
  const [tiles, points] = [batch * down * across, POINTS * POINTS];
  const sizes = (...extents: readonly number[]) => extents.map((extent) => int(extent));
  const image = toWholeTiles(c, x, windows);
  const open = [1, 2].reduce((all, dim) => c.call('unfold', [all], { dim, size: POINTS, step: PLACES }), image);
  const atPoint = (value: ValueRef, extents: readonly number[]) => c.reshape(value, sizes(1, ...extents));
  const d = square(POINTS, (i, j) => c.select(c.select(open, 5, j), 4, i));
  const v = c.cat(
    transformed(c, d, toPoints).map((value) => atPoint(value, [tiles, channels])),
    0,
  );
  const g = square(3, (i, j) => c.transpose(c.select(c.select(c.select(w, 4, j), 3, i), 0, 0), 0, 1));
  const u = c.cat(
    transformed(c, g, toWeightPoints).map((value) => atPoint(value, [channels, outputs])),
    0,
  );
  const m = c.reshape(c.bmm(v, u), sizes(points, batch, down, across, outputs));
  const sums = square(POINTS, (i, j) => c.select(m, 0, i * POINTS + j));
  const y = transformed(c, sums, toPlaces).map((value) => c.reshape(value, sizes(batch, down, 1, across, 1, outputs)));
  const rows = range(PLACES).map((row) => c.cat(y.slice(row * PLACES, (row + 1) * PLACES), 4));
  const whole = c.reshape(c.cat(rows, 2), sizes(batch, down * PLACES, across * PLACES, outputs));
  const cut = places.reduce((all, end, axis) => c.slice(all, axis + 1, { end }), whole);
  return c.reshape(cut, sizes(1, batch * places[0] * places[1], outputs));
}

/** The image with its padding, and as many zeros behind as whole tiles need. */
function toWholeTiles(c: Composer, x: ValueRef, { padding, places }: Windows): ValueRef {
  const pairs = range(4).map((dim) => {
    const [before, count] = [padding[dim - 1] ?? 0, places[dim - 1]];
    const extent = c.sizes.toNumber(c.size(x, dim));
    const after = count === undefined ? 0 : tilesOf(count) * PLACES + POINTS - PLACES - before - extent;
    return [int(before), int(after)] as const;
  });
  return c.pad(x, pairs);
}

type Line = readonly ValueRef[];

const square = (count: number, element: (row: number, column: number) => ValueRef): readonly Line[] =>
  range(count).map((row) => range(count).map((column) => element(row, column)));

const turned = (lines: readonly Line[]): readonly Line[] =>
  at(lines, 0).map((_, column) => lines.map((line) => at(line, column)));

/** x factor + y, or x factor, of numbers of values: first those of a line, then those of the steps. */
type Step = readonly [x: number, factor: number, y?: number];

/** The last steps of a transform are its results. */
interface Transform {
  readonly steps: readonly Step[];
  readonly results: number;
}

/** B' of a line of the image: six elements to six points. */
const toPoints: Transform = {
  results: POINTS,
  steps: [
    [2, -4, 4],
    [1, -4, 3],
    [2, -1, 4],
    [1, -1, 3],
    [2, -5, 4],
    [3, -5, 5],
    [0, 4, 10],
    [7, 1, 6],
    [7, -1, 6],
    [9, 2, 8],
    [9, -2, 8],
    [1, 4, 11],
  ],
};

/** G of a line of the weight: three elements to six points. */
const toWeightPoints: Transform = {
  results: POINTS,
  steps: [
    [0, 1, 2],
    [3, -1 / 6],
    [2, 4, 0],
    [5, 1 / 24],
    [0, 1 / 4],
    [1, -1 / 6, 4],
    [1, 1 / 6, 4],
    [1, 1 / 12, 6],
    [1, -1 / 12, 6],
    [2, 1],
  ],
};

/** A' of a line of sums: six points to four places. */
const toPlaces: Transform = {
  results: PLACES,
  steps: [
    [1, 1, 2],
    [2, -1, 1],
    [3, 1, 4],
    [4, -1, 3],
    [6, 1, 8],
    [9, 8, 7],
    [0, 1, 10],
    [9, 2, 7],
    [8, 4, 6],
    [5, 1, 11],
  ],
};

/** A transform of columns, and then of rows; the elements row by row. */
function transformed(c: Composer, lines: readonly Line[], { steps, results }: Transform): Line {
  const ofLine = (line: Line): Line =>
    steps
      .reduce((values, [first, factor, second]) => {
        const [x, y] = [at(values, first), second === undefined ? undefined : at(values, second)];
        const made =
          y === undefined
            ? c.op('mul', x, float(factor))
            : Math.abs(factor) === 1
              ? c.op(factor > 0 ? 'add' : 'sub', y, x)
              : c.op('fma', x, float(factor), y);
        return [...values, made];
      }, line)
      .slice(-results);
  return turned(turned(lines).map(ofLine)).flatMap(ofLine);
}
