// Whether all values of a product's second operand are finite: only then may a product by 0 be left out, as 0 times infinity is
// undefined. Each point of the batch has a number in workspace: 0, or NaN. In: the product. Out: statements that find the numbers, and
// what is chosen by one.
import { dtypeInfo } from '@tsinductor/base';
import { named, staticValue } from '@tsinductor/codegen';
import { add, int, subtract } from '@tsinductor/ir';
import type { Access, Axis, Index, Value } from '@tsinductor/ir';
import { lanesFor } from '../../machine/isa.ts';
import { scalarLoop, vectorLoop, wholeRange } from '../write/loops.ts';
import type { Vector } from '../write/loops.ts';
import type { Nest } from '../write/nest.ts';
import { inThreads } from './in-threads.ts';
import { batchOfB, converted, operandName, placeAt, wholePoint } from './operands.ts';
import type { Oriented } from './plan.ts';
import { coordinatesAt, pointsOf, positionIn } from './points.ts';

export interface FiniteCheck {
  readonly buffer: string;
  readonly dtype: Value['type']['dtype'];
  /** The axes of the batch on which the operand depends. */
  readonly batch: readonly Axis[];
}

/** Vectors that are looked at beside one another, as each sum waits for the one before it. */
const SUMS = 4;

export function checkFinite(nest: Nest, oriented: Oriented): FiniteCheck {
  const { node, b, n, k } = oriented;
  const dtype = node.accumulate;
  const batch = batchOfB(oriented);
  const total = pointsOf(batch);
  const { name: buffer } = nest.memory.workspace('finite', dtype, total);
  const lanes = lanesFor(nest.target.isa, Math.max(dtypeInfo[dtype].bytes, dtypeInfo[b.dtype].bytes));
  const cycles = ((staticValue(n.extent) ?? 1) * (staticValue(k.extent) ?? 1)) / lanes;
  inThreads(nest, { total, cycles }, ({ from, to }) => {
    scalarLoop(nest, { axis: { name: 'point', extent: total }, from, to }, (point) => {
      const all = wholePoint(oriented, coordinatesAt(nest, batch, point));
      storeSum(nest, oriented, { batch: all, lanes, access: elementOf({ buffer, dtype }, point) });
    });
  });
  return { buffer, dtype, batch };
}

const elementOf = ({ buffer, dtype }: Pick<FiniteCheck, 'buffer' | 'dtype'>, at: Index): Access => ({
  buffer,
  at,
  step: int(0),
  align: dtypeInfo[dtype].bytes,
});

interface Summing {
  readonly batch: ReadonlyMap<string, Index>;
  readonly lanes: number;
  /** Where the sum goes. */
  readonly access: Access;
}

/** The sum of each value times 0. */
function storeSum(nest: Nest, oriented: Oriented, { batch, lanes, access }: Summing): void {
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

function loaded(nest: Nest, { b, n, k, node }: Oriented, { batch, row, vector }: Reading): Value {
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
  return converted(nest, nest.writer.define(value, 'value', nest.writer.depth), node.accumulate);
}

interface Choice {
  /** Where it is, in the product's batch. */
  readonly point: ReadonlyMap<string, Index>;
  readonly ifFinite: Index;
  readonly otherwise: Index;
  /** What it is called, and what it is below. */
  readonly axis: Axis;
}

/** One of two numbers, by whether all values of the operand at a point of the batch are finite. */
export function whereFinite(nest: Nest, check: FiniteCheck, { point, ifFinite, otherwise, axis }: Choice): Index {
  const { writer } = nest;
  const sum = { kind: 'load' as const, type: { dtype: check.dtype, lanes: 1 } };
  const access = elementOf(check, positionIn(check.batch, point));
  const found = writer.define({ ...sum, access }, 'zero', writer.depth);
  const bool = { dtype: 'bool' as const, lanes: 1 };
  const isFinite: Value = { kind: 'apply', op: 'eq', args: [found, found], type: bool };
  const whole = { dtype: 'i64' as const, lanes: 1 };
  const places = [ifFinite, otherwise].map((value): Value => ({ kind: 'index', value, type: whole }));
  const chosen: Value = { kind: 'apply', op: 'where', args: [isFinite, ...places], type: whole };
  const defined = writer.define(chosen, axis.name, writer.depth);
  return defined.kind === 'name' ? named(defined.name, axis.extent) : otherwise;
}
