// For tests: products by whole numbers of four bits, two of which lie in a byte along the sum, with a scale for every so many of them. The sum
// is over the halves of bytes, then over bytes.
import { at } from '@tsinductor/base';
import { add, axisIndex, BodyBuilder, floorDivide, int, multiply } from '@tsinductor/ir';
import type { LoopNode } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, loops, ProgramMaker, rounding } from './programs.ts';

interface Interleaved {
  readonly m: number;
  readonly n: number;
  /** Bytes of a row of the weight, and of these, those that share a scale. */
  readonly bytes: number;
  readonly group: number;
}

/** x [m, 2 bytes] times the weight [n, bytes]. */
function interleaved({ m: rows, n: columns, bytes, group }: Interleaved): Case {
  const maker = new ProgramMaker();
  const [m, n, half, k] = [axis('m', rows), axis('n', columns), axis('h', 2), axis('k', bytes)];
  const x = maker.buffer('x', 'input', { shape: [m.extent, int(2 * bytes)], dtype: 'f32' });
  const weight = maker.buffer('weight', 'input', { shape: [n.extent, k.extent], dtype: 'u8' });
  const scales = maker.buffer('scales', 'input', { shape: [n.extent, int(bytes / group)], dtype: 'f32' });
  const out = maker.buffer('out', 'output', { shape: [m.extent, n.extent], dtype: 'f32' });
  const [row, column, byte] = [axisIndex(m), axisIndex(n), axisIndex(k)];
  const builder = new BodyBuilder();
  const stored = builder.load(weight, 'u8', maker.place(weight, [column, byte]));
  const low = builder.apply('bitwiseAnd', [stored, builder.constant(15, 'u8')]);
  const high = builder.apply('bitwiseRightShift', [stored, builder.constant(4, 'u8')]);
  const isLow = builder.apply('lt', [builder.index(axisIndex(half)), builder.constant(1, 'i64')]);
  const number = builder.cast(builder.apply('where', [isLow, low, high]), 'f32');
  const scale = builder.load(scales, 'f32', maker.place(scales, [column, floorDivide(byte, int(group))]));
  const value = builder.apply('mul', [builder.apply('sub', [number, builder.constant(8, 'f32')]), scale]);
  const node: LoopNode = {
    kind: 'contract',
    id: 0,
    outs: [out],
    writes: [maker.place(out, [row, column])],
    axes: [m, n],
    origins: [{ op: 'matmul' }],
    batch: [],
    m,
    n,
    over: [half, k],
    a: { buffer: x, at: maker.place(x, [row, add(multiply(byte, int(2)), axisIndex(half))]) },
    b: { buffer: weight, at: maker.place(weight, [column, byte]), element: builder.finish([value]) },
    accumulate: 'f32',
  };
  maker.nodes.push(node);
  const bands = [
    ...node.axes.map((one) => [one, 'parallel'] as const),
    ...node.over.map((one) => [one, 'reduction'] as const),
  ];
  const schedule = maker.schedule([{ nodes: [at(maker.nodes, 0)], nest: loops(bands, [0]), locals: [] }]);
  const name = ['interleaved', rows, columns, bytes, group].join(' ');
  return { name, schedule, sizes: new Map(), tolerance: rounding(2 * bytes) * 30 };
}

export const interleavedCases: readonly Case[] = [
  interleaved({ m: 1, n: 70, bytes: 128, group: 16 }),
  interleaved({ m: 7, n: 37, bytes: 64, group: 16 }),
  interleaved({ m: 3, n: 40, bytes: 72, group: 9 }),
  interleaved({ m: 20, n: 35, bytes: 600, group: 8 }),
];
