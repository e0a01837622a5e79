// For tests: convolutions of images that lie with their channels last, as sums over rows of the window, and over what of a row lies side
// by side: its places and channels.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { add, axisIndex, int, multiply } from '@tsinductor/ir';
import type { Index, LoopNode } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, loops, ProgramMaker, rounding } from './programs.ts';

interface Windows {
  readonly images: number;
  /** Places down and across. */
  readonly places: readonly [number, number];
  readonly channels: number;
  readonly outputs: number;
  /** Rows and columns of a window. */
  readonly kernel: readonly [number, number];
  readonly stride?: number;
  readonly dtype?: DType;
}

/** Every window of an image times the weight, which lies as [rows, columns and channels, outputs]. */
export function windowed({ stride = 1, dtype = 'f32', ...shape }: Windows): Case {
  const { images, channels, outputs } = shape;
  const [[down, across], [tall, wide]] = [shape.places, shape.kernel];
  const maker = new ProgramMaker();
  const [g, r, m, n] = [axis('g', images), axis('r', down), axis('m', across), axis('n', outputs)];
  const [t, k] = [axis('t', tall), axis('k', wide * channels)];
  const [rows, columns] = [(down - 1) * stride + tall, (across - 1) * stride + wide];
  const a = maker.buffer('image', 'input', { shape: [images, rows, columns * channels].map(int), dtype });
  const b = maker.buffer('weight', 'input', { shape: [t.extent, k.extent, n.extent], dtype });
  const out = maker.buffer('out', 'output', { shape: [g, r, m, n].map(({ extent }) => extent), dtype });
  const strided = (place: Index, inner: Index, step: number): Index => add(multiply(place, int(step)), inner);
  const node: LoopNode = {
    kind: 'contract',
    id: 0,
    outs: [out],
    writes: [maker.place(out, [g, r, m, n].map(axisIndex))],
    axes: [g, r, m, n],
    origins: [{ op: 'conv2d' }],
    batch: [g, r],
    m,
    n,
    over: [t, k],
    a: {
      buffer: a,
      at: maker.place(a, [
        axisIndex(g),
        strided(axisIndex(r), axisIndex(t), stride),
        strided(axisIndex(m), axisIndex(k), stride * channels),
      ]),
    },
    b: { buffer: b, at: maker.place(b, [t, k, n].map(axisIndex)) },
    accumulate: dtypeInfo[dtype].compute,
  };
  maker.nodes.push(node);
  const bands = [
    ...node.axes.map((one) => [one, 'parallel'] as const),
    ...[t, k].map((one) => [one, 'reduction'] as const),
  ];
  const schedule = maker.schedule([{ nodes: maker.nodes, nest: loops(bands, [0]), locals: [] }]);
  const depth = tall * wide * channels;
  const tolerance = dtype.startsWith('i') ? 0 : dtype === 'f32' ? rounding(9 * depth) : depth / 32;
  const name = ['windows', images, down, across, channels, outputs, tall, wide, stride, dtype].join(' ');
  return { name, schedule, sizes: new Map(), tolerance };
}

export const smallWindows: readonly Case[] = [
  windowed({ images: 2, places: [3, 7], channels: 3, outputs: 5, kernel: [3, 3] }),
  windowed({ images: 1, places: [4, 9], channels: 5, outputs: 70, kernel: [2, 3], stride: 2 }),
  windowed({ images: 2, places: [2, 5], channels: 2, outputs: 9, kernel: [3, 1], dtype: 'bf16' }),
];

export const largeWindows: readonly Case[] = [
  windowed({ images: 3, places: [14, 14], channels: 40, outputs: 130, kernel: [3, 3] }),
  windowed({ images: 2, places: [7, 7], channels: 300, outputs: 600, kernel: [3, 3] }),
  windowed({ images: 1, places: [20, 31], channels: 3, outputs: 64, kernel: [7, 7], stride: 2 }),
  windowed({ images: 2, places: [9, 30], channels: 16, outputs: 33, kernel: [5, 2], dtype: 'f64' }),
  windowed({ images: 2, places: [9, 30], channels: 16, outputs: 33, kernel: [3, 3], dtype: 'i32' }),
];
