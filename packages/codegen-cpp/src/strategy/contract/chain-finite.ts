// Whether all values of a product's second operand are finite: only then may a product by 0 be left out, as 0 times infinity is
// undefined. Each point of the batch has a number in workspace: 0, or NaN. In: the product. Out: statements that find the numbers, and
// what is chosen by one.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { named, staticValue } from '@tsinductor/codegen';
import { add, int, printIndex, substitute, subtract } from '@tsinductor/ir';
import type { Access, Axis, BufferId, Index, Value } from '@tsinductor/ir';
import { lanesFor } from '../../machine/isa.ts';
import { scalarLoop, vectorLoop, wholeRange } from '../write/loops.ts';
import type { Vector } from '../write/loops.ts';
import type { Nest } from '../write/nest.ts';
import { inThreads } from './in-threads.ts';
import { batchOfB, converted, operandName, placeAt, wholePoint } from './operands.ts';
import { stepAlong } from './oriented.ts';
import type { Oriented } from './oriented.ts';
import { coordinatesAt, pointsOf, positionIn } from './points.ts';

export interface FiniteCheck {
  readonly buffer: string;
  readonly dtype: Value['type']['dtype'];
  /** The axes of the batch on which the operand depends. */
  readonly batch: readonly Axis[];
}

/** Vectors that are looked at beside one another, as each sum waits for the one before it. */
const SUMS = 4;

/** What a check is of: the second operand of a product, and the dtype that it is accumulated in. */
type Checked = Pick<Oriented, 'node' | 'b' | 'n' | 'k'>;

/** What is looked for: infinities and NaN alone, or numbers as well of which products of a few may be infinite. */
type Bound = 'finite' | 'moderate';

/** What a number is multiplied by before it is multiplied by 0: above 2^24 it becomes infinite by that. */
const moderation: Readonly<Partial<Record<DType, number>>> = { f32: 2 ** 104, f64: 2 ** 1000 };

export function checkFinite(nest: Nest, checked: Checked, bound: Bound): FiniteCheck {
  const { node, b, n, k } = checked;
  const dtype = node.accumulate;
  const batch = batchOfB(checked);
  const total = pointsOf(batch);
  const { name: buffer } = nest.memory.workspace('finite', dtype, total);
  const lanes = lanesFor(nest.target.isa, Math.max(dtypeInfo[dtype].bytes, dtypeInfo[b.dtype].bytes));
  const cycles = ((staticValue(n.extent) ?? 1) * (staticValue(k.extent) ?? 1)) / lanes;
  inThreads(nest, { total, cycles }, ({ from, to }) => {
    scalarLoop(nest, { axis: { name: 'point', extent: total }, from, to }, (point) => {
      const all = wholePoint(checked, coordinatesAt(nest, batch, point));
      storeSum(nest, { ...checked, bound }, { batch: all, lanes, access: elementOf({ buffer, dtype }, point) });
    });
  });
  return { buffer, dtype, batch };
}

/** Operands of products, each once, with the axis along which they lie as the inner one; undefined where one is computed. */
export function operandsOf(
  products: readonly Oriented[],
  isKept: (buffer: BufferId) => boolean,
): readonly Checked[] | undefined {
  const found = new Map<string, Checked>();
  for (const { node, a, b, m, n, k } of products) {
    for (const [operand, axis] of [[a, m] as const, [b, n] as const]) {
      if (isKept(operand.buffer)) continue;
      if (operand.element !== undefined) return undefined;
      const [inner, outer] = stepAlong(operand, k) === 1 ? [k, axis] : [axis, k];
      const place = substitute(
        operand.at,
        new Map([
          [inner.name, int(0)],
          [outer.name, int(0)],
        ]),
      );
      found.set(`${String(operand.buffer)} ${printIndex(place)}`, { node, b: operand, n: inner, k: outer });
    }
  }
  return [...found.values()];
}

const elementOf = ({ buffer, dtype }: Pick<FiniteCheck, 'buffer' | 'dtype'>, at: Index): Access => ({
  buffer,
  at,
  step: int(0),
  align: dtypeInfo[dtype].bytes,
});

interface Summed extends Checked {
  readonly bound: Bound;
}

interface Summing {
  readonly batch: ReadonlyMap<string, Index>;
  readonly lanes: number;
  /** Where the sum goes. */
  readonly access: Access;
}

/** The sum of each value times 0. */
function storeSum(nest: Nest, oriented: Summed, { batch, lanes, access }: Summing): void {
  const { writer } = nest;
  const { n, k, node } = oriented;
  const type = { dtype: node.accumulate, lanes };
  const zero = (width: number): Value => ({ kind: 'constant', value: 0, type: { ...type, lanes: width } });
  const sums = Array.from({ length: SUMS }, () => {
    const name = writer.fresh('zeros');
    writer.emit({ kind: 'var', name, value: zero(lanes) });
    return name;
  });
  scalarLoop(nest, wholeRange(k), (row) => {
    vectorLoop(nest, { ...wholeRange(n), lanes, instances: SUMS, unroll: 1 }, (vectors) => {
      vectors.forEach((vector, index) => {
        const name = sums[index] ?? '';
        const args = [
          loaded(nest, oriented, { batch, row, vector }),
          zero(lanes),
          { kind: 'name' as const, name, type },
        ];
        writer.emit({ kind: 'set', name, value: { kind: 'apply', op: 'fma', args, type } });
      });
    });
  });
  const lanesOf = writer.fresh('lanes');
  writer.emit({ kind: 'scratch', name: lanesOf, dtype: type.dtype, size: SUMS * lanes });
  sums.forEach((name, index) => {
    const at = int(index * lanes);
    const place = { buffer: lanesOf, at, step: int(1), align: dtypeInfo[type.dtype].bytes };
    writer.emit({ kind: 'store', access: place, value: { kind: 'name', name, type } });
  });
  const total = writer.fresh('zeros');
  const one = { dtype: type.dtype, lanes: 1 };
  const sum: Value = { kind: 'name', name: total, type: one };
  writer.emit({ kind: 'var', name: total, value: zero(1) });
  scalarLoop(nest, wholeRange({ name: 'lane', extent: int(SUMS * lanes) }), (lane) => {
    const element: Value = { kind: 'load', type: one, access: elementOf({ buffer: lanesOf, dtype: type.dtype }, lane) };
    writer.emit({ kind: 'set', name: total, value: { kind: 'apply', op: 'add', args: [sum, element], type: one } });
  });
  writer.emit({ kind: 'store', access, value: sum });
}

interface Reading {
  readonly batch: ReadonlyMap<string, Index>;
  readonly row: Index;
  readonly vector: Vector;
}

function loaded(nest: Nest, { b, n, k, node, bound }: Summed, { batch, row, vector }: Reading): Value {
  const placeOf = (column: Index): Index =>
    placeAt(
      b.at,
      { batch },
      new Map([
        [n.name, column],
        [k.name, row],
      ]),
    );
  const { lanes, count } = vector.lane;
  const near = placeOf(vector.at);
  const access: Access = {
    buffer: operandName(nest, b),
    at: near,
    step: subtract(placeOf(add(vector.at, int(1))), near),
    align: dtypeInfo[b.dtype].bytes,
    ...(count === undefined || lanes === 1 ? {} : { count }),
  };
  const value: Value = { kind: 'load', type: { dtype: b.dtype, lanes }, access };
  const own = converted(nest, nest.writer.define(value, 'value', nest.writer.depth), node.accumulate);
  const factor = bound === 'moderate' ? moderation[node.accumulate] : undefined;
  if (factor === undefined) return own;
  const { type } = own;
  const args: readonly Value[] = [own, { kind: 'constant', value: factor, type }];
  return nest.writer.define({ kind: 'apply', op: 'mul', args, type }, 'large', nest.writer.depth);
}

interface Choice {
  /** Where it is, in the product's batch. */
  readonly point: ReadonlyMap<string, Index>;
  readonly ifFinite: Index;
  readonly otherwise: Index;
  /** What it is called, and what it is below. */
  readonly axis: Axis;
}

/** One of two numbers, by whether all values of the operands at a point of the batch are finite. */
export function whereFinite(
  nest: Nest,
  checks: readonly FiniteCheck[],
  { point, ifFinite, otherwise, axis }: Choice,
): Index {
  const { writer } = nest;
  const found = checks.map((check): Value => {
    const sum = { kind: 'load' as const, type: { dtype: check.dtype, lanes: 1 } };
    const access = elementOf(check, positionIn(check.batch, point));
    return writer.define({ ...sum, access }, 'zero', writer.depth);
  });
  const all = found.reduce((left, right) =>
    writer.define({ kind: 'apply', op: 'add', args: [left, right], type: left.type }, 'zeros', writer.depth),
  );
  const bool = { dtype: 'bool' as const, lanes: 1 };
  const isFinite: Value = { kind: 'apply', op: 'eq', args: [all, all], type: bool };
  const whole = { dtype: 'i64' as const, lanes: 1 };
  const places = [ifFinite, otherwise].map((value): Value => ({ kind: 'index', value, type: whole }));
  const chosen: Value = { kind: 'apply', op: 'where', args: [isFinite, ...places], type: whole };
  const defined = writer.define(chosen, axis.name, writer.depth);
  return defined.kind === 'name' ? named(defined.name, axis.extent) : otherwise;
}
