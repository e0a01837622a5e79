// For tests: matrix products, whose operands may be stored transposed.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { axisIndex } from '@tsinductor/ir';
import type { LoopNode } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, loops, ProgramMaker, rounding } from './programs.ts';

interface ProductShape {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch?: number;
  readonly transposed?: 'a' | 'b' | 'both';
  readonly dtype?: DType;
}

/** A matrix product, or a batch of them. */
export function product({ m, n, k, batch = 1, transposed, dtype = 'f32' }: ProductShape): Case {
  const maker = new ProgramMaker();
  const [h, row, column, depth] = [axis('h', batch), axis('m', m), axis('n', n), axis('k', k)];
  const half = dtypeInfo[dtype].compute !== dtype;
  const isTransposed = (side: 'a' | 'b'): boolean => transposed === side || transposed === 'both';
  const shapeA = isTransposed('a') ? [h, depth, row] : [h, row, depth];
  const shapeB = isTransposed('b') ? [h, column, depth] : [h, depth, column];
  const a = maker.buffer('a', 'input', { shape: shapeA.map((one) => one.extent), dtype });
  const b = maker.buffer('b', 'input', { shape: shapeB.map((one) => one.extent), dtype });
  const out = maker.buffer('out', 'output', { shape: [h.extent, row.extent, column.extent], dtype });
  const node: LoopNode = {
    kind: 'contract',
    id: 0,
    outs: [out],
    writes: [maker.place(out, [h, row, column].map(axisIndex))],
    axes: batch === 1 ? [row, column] : [h, row, column],
    origins: [{ op: 'matmul' }],
    batch: batch === 1 ? [] : [h],
    m: row,
    n: column,
    over: [depth],
    a: { buffer: a, at: maker.place(a, shapeA.map(axisIndex)) },
    b: { buffer: b, at: maker.place(b, shapeB.map(axisIndex)) },
    accumulate: half ? 'f32' : dtype,
  };
  maker.nodes.push(node);
  const bands = [...node.axes.map((one) => [one, 'parallel'] as const), [depth, 'reduction'] as const];
  const schedule = maker.schedule([{ nodes: maker.nodes, nest: loops(bands, [0]), locals: [] }]);
  const tolerance = dtype.startsWith('i') ? 0 : half ? k / 32 : rounding(9 * k);
  const name = ['product', batch, m, n, k, dtype, 'transposed', transposed].join(' ');
  return { name, schedule, sizes: new Map(), tolerance };
}
