// For tests: attention, two products and a softmax between them as loops that share those over rows.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { axisIndex } from '@tsinductor/ir';
import type { Axis, BodyBuilder, BufferId, LoopNode, ScalarId } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, fold, loops, ProgramMaker, scalarLocal } from './programs.ts';

interface AttentionShape {
  readonly rows: number;
  readonly columns: number;
  readonly width: number;
  readonly dtype?: DType;
  readonly batch?: number;
  readonly isCausal?: boolean;
  /** What the second product takes: weights that sum to 1, or something that is not. */
  readonly weights?: 'softmax' | 'powers' | 'doubled' | 'of other scores' | 'of another sum';
}

const f32 = 'f32';

/** softmax(q k^T / 4) v. */
export function attention(shape: AttentionShape): Case {
  const { rows, columns, width, dtype = f32, batch = 1, isCausal = false, weights = 'softmax' } = shape;
  const maker = new ProgramMaker();
  const [h, row, depth, value] = [axis('h', batch), axis('m', rows), axis('d', width), axis('v', width)];
  const [first, second, third, fourth, last] = ['c', 'p', 'q', 'r', 's'].map((name) => axis(name, columns)) as Columns;
  const buffer = (name: string, axes: readonly Axis[], own: DType): BufferId => {
    const role = name === 'out' ? 'output' : name.length === 1 ? 'input' : 'temporary';
    return maker.buffer(name, role, { shape: axes.map(({ extent }) => extent), dtype: own });
  };
  const place = (one: BufferId, axes: readonly Axis[]) => maker.place(one, axes.map(axisIndex));
  const queries = buffer('q', [h, row, depth], dtype);
  const [keys, values] = [buffer('k', [h, first, depth], dtype), buffer('v', [h, last, value], dtype)];
  const [scores, powers] = [buffer('scores', [h, row, first], dtype), buffer('powers', [h, row, third], f32)];
  const [most, total, factor] = ['most', 'total', 'factor'].map((name) => buffer(name, [h, row], f32)) as [
    BufferId,
    BufferId,
    BufferId,
  ];
  const weight = buffer('weights', [h, row, fourth], dtype);
  const out = buffer('out', [h, row, value], dtype);
  const contract = (made: BufferId, { n, over, a, b }: Product): void => {
    maker.nodes.push({
      kind: 'contract',
      id: maker.nodes.length,
      ...{ outs: [made], writes: [place(made, [h, row, n])], axes: [h, row, n], origins: [{ op: 'matmul' }] },
      ...{ batch: [h], m: row, n, over: [over], a, b, accumulate: f32 },
    });
  };
  const score = (b: BodyBuilder, column: Axis, by = 0.25): ScalarId => {
    const wide = b.cast(b.load(scores, dtype, place(scores, [h, row, column])), f32);
    const scaled = b.apply('mul', [wide, b.constant(by, f32)]);
    const isSeen = b.apply('ge', [b.index(axisIndex(row)), b.index(axisIndex(column))]);
    return isCausal ? b.apply('where', [isSeen, scaled, b.constant(-Infinity, f32)]) : scaled;
  };
  const ofRow = (b: BodyBuilder, made: BufferId): ScalarId => b.load(made, f32, place(made, [h, row]));
  const power = (b: BodyBuilder, column: Axis): ScalarId => b.load(powers, f32, place(powers, [h, row, column]));
  const reduction = { axes: [h, row], state: [f32] as const };
  contract(scores, {
    n: first,
    over: depth,
    a: { buffer: queries, at: place(queries, [h, row, depth]) },
    b: { buffer: keys, at: place(keys, [h, first, depth]) },
  });
  maker.reduce(most, { ...reduction, over: [second], bodies: fold('maximum', '-Infinity', (b) => score(b, second)) });
  maker.map(powers, [h, row, third], (b) => {
    const own = score(b, third, weights === 'of other scores' ? 0.5 : 0.25);
    return b.apply('exp', [b.apply('sub', [own, ofRow(b, most)])]);
  });
  maker.reduce(total, {
    ...reduction,
    over: [third],
    bodies: fold('add', 0, (b) =>
      weights === 'of another sum' ? b.apply('mul', [power(b, third), power(b, third)]) : power(b, third),
    ),
  });
  maker.map(factor, [h, row], (b) => b.apply('reciprocal', [ofRow(b, total)]));
  maker.map(weight, [h, row, fourth], (b) => {
    const own = power(b, fourth);
    if (weights === 'powers') return b.cast(own, dtype);
    const made = b.apply('mul', [own, ofRow(b, factor)]);
    return b.cast(weights === 'doubled' ? b.apply('add', [made, made]) : made, dtype);
  });
  contract(out, {
    n: value,
    over: last,
    a: { buffer: weight, at: place(weight, [h, row, last]) },
    b: { buffer: values, at: place(values, [h, last, value]) },
  });
  const nest = loops(
    [
      [h, 'parallel'],
      [row, 'parallel'],
    ],
    [
      loops(
        [
          [first, 'parallel'],
          [depth, 'reduction'],
        ],
        [0],
      ),
      loops([[second, 'reduction']], [1]),
      loops([[third, 'reduction']], [2, 3]),
      4,
      loops([[fourth, 'parallel']], [5]),
      loops(
        [
          [value, 'parallel'],
          [last, 'reduction'],
        ],
        [6],
      ),
    ],
  );
  const rowsKept = [scores, powers, weight].map((one) => ({ buffer: one, kind: 'row' as const, size: first.extent }));
  const locals = [...rowsKept, ...[most, total, factor].map(scalarLocal)];
  const half = dtypeInfo[dtype].compute !== dtype;
  return {
    name: ['attention', batch, rows, columns, width, dtype, ...(isCausal ? ['causal'] : []), weights].join(' '),
    schedule: maker.schedule([{ nodes: maker.nodes, nest, locals }]),
    sizes: new Map(),
    tolerance: half ? 0.02 : 1e-5,
  };
}

type Columns = [Axis, Axis, Axis, Axis, Axis];

type Contract = LoopNode & { readonly kind: 'contract' };

interface Product extends Pick<Contract, 'n' | 'a' | 'b'> {
  readonly over: Axis;
}
