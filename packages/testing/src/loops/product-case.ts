// For tests: matrix products, whose operands may be stored transposed.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { axisIndex, evaluateIndex, printIndex } from '@tsinductor/ir';
import type { Axis, BufferId, ContractOperand, Index, LoopNode, ScalarId } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, loops, ProgramMaker, rounding, scalarLocal } from './programs.ts';

interface ProductShape {
  readonly m: number | Index;
  readonly n: number | Index;
  readonly k: number | Index;
  readonly batch?: number;
  readonly transposed?: 'a' | 'b' | 'both';
  /** The first operand is one matrix for all of the batch. */
  readonly repeated?: boolean;
  readonly dtype?: DType;
  /** A bias for each column, an activation and a residual are computed of each element; the product itself is no result. */
  readonly followed?: boolean;
  /** Of symbolic extents. */
  readonly sizes?: ReadonlyMap<string, number>;
}

/** A matrix product, or a batch of them. */
export function product(shape: ProductShape): Case {
  const { m, n, k, batch = 1, dtype = 'f32', followed = false, sizes = new Map<string, number>() } = shape;
  const maker = new ProgramMaker();
  maker.sizes.push(...sizes.keys());
  const [h, row, column, depth] = [axis('h', batch), axis('m', m), axis('n', n), axis('k', k)];
  const [a, b] = operands(maker, shape, [h, row, column, depth]);
  const whole = { shape: [h.extent, row.extent, column.extent], dtype };
  const out = maker.buffer(followed ? 'sums' : 'out', followed ? 'temporary' : 'output', whole);
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
    a,
    b,
    accumulate: dtypeInfo[dtype].compute !== dtype ? 'f32' : dtype,
  };
  maker.nodes.push(node);
  if (followed) follow(maker, out, { axes: [h, row, column], batch });
  const bands = [...node.axes.map((one) => [one, 'parallel'] as const), [depth, 'reduction'] as const];
  const nest = loops(
    bands,
    maker.nodes.map((_, index) => index),
  );
  const schedule = maker.schedule([{ nodes: maker.nodes, nest, locals: followed ? [scalarLocal(out)] : [] }]);
  return { name: nameOf(shape), schedule, sizes, tolerance: toleranceOf(dtype, valueOf(k, sizes)) };
}

function nameOf(shape: ProductShape): string {
  const { m, n, k, batch = 1, transposed, dtype = 'f32', followed = false, repeated = false } = shape;
  const [rows, columns, depth] = [m, n, k].map((extent) => (typeof extent === 'number' ? extent : printIndex(extent)));
  const words = [
    'product',
    batch,
    rows,
    columns,
    depth,
    dtype,
    'transposed',
    transposed,
    ...(followed ? ['followed'] : []),
    ...(repeated ? ['repeated'] : []),
  ];
  return words.join(' ');
}

const valueOf = (extent: number | Index, sizes: ReadonlyMap<string, number>): number =>
  typeof extent === 'number' ? extent : evaluateIndex(extent, { sizes });

function toleranceOf(dtype: DType, depth: number): number {
  if (dtype.startsWith('i')) return 0;
  return dtypeInfo[dtype].compute !== dtype ? depth / 32 : rounding(9 * depth);
}

/** The buffers of both factors, and where an element of each is. */
function operands(
  maker: ProgramMaker,
  { transposed, repeated = false, dtype = 'f32' }: ProductShape,
  [h, row, column, depth]: readonly [Axis, Axis, Axis, Axis],
): readonly [ContractOperand, ContractOperand] {
  const operand = (side: 'a' | 'b', rows: Axis, columns: Axis): ContractOperand => {
    const matrix = transposed === side || transposed === 'both' ? [columns, rows] : [rows, columns];
    const axes = repeated && side === 'a' ? matrix : [h, ...matrix];
    const buffer = maker.buffer(side, 'input', { shape: axes.map(({ extent }) => extent), dtype });
    return { buffer, at: maker.place(buffer, axes.map(axisIndex)) };
  };
  return [operand('a', row, depth), operand('b', depth, column)];
}

/** out := gelu(sums + bias of the column) + residual, in the dtype of the sums. */
function follow(
  maker: ProgramMaker,
  sums: BufferId,
  { axes, batch }: { readonly axes: readonly [Axis, Axis, Axis]; readonly batch: number },
): void {
  const { dtype } = at(maker.buffers, sums);
  const own = batch === 1 ? axes.slice(1) : axes;
  const [column] = own.slice(-1) as [Axis];
  const shape = own.map(({ extent }) => extent);
  const bias = maker.buffer('bias', 'input', { shape: [column.extent], dtype });
  const residual = maker.buffer('residual', 'input', { shape, dtype });
  const out = maker.buffer('out', 'output', { shape, dtype });
  const place = maker.place(sums, axes.map(axisIndex));
  maker.map(out, own, (b) => {
    const wide = (buffer: BufferId, index: Index): ScalarId => b.cast(b.load(buffer, dtype, index), 'f32');
    const biased = b.apply('add', [wide(sums, place), wide(bias, axisIndex(column))]);
    return b.cast(b.apply('add', [b.apply('gelu', [biased]), wide(residual, place)]), dtype);
  });
}
