// The products of a chain that sum over its rows (see chain.ts), as the gradients of keys and values do: each block of rows adds to the
// result, which is cleared before the first block. So the blocks of a point of the batch are done in order, by one thread.
import { at, dtypeInfo, invariant } from '@tsinductor/base';
import { staticValue } from '@tsinductor/codegen';
import { add, axisIndex, ceilDivide, int, minimum, multiply, substitute, subtract } from '@tsinductor/ir';
import type { Access, Axis, Index } from '@tsinductor/ir';
import { scalarLoop, vectorLoop, wholeRange } from '../write/loops.ts';
import type { Nest } from '../write/nest.ts';
import { writeUnit } from './blocks.ts';
import type { BlockOfRows } from './chain-columns.ts';
import type { Chain } from './chain-plan.ts';
import type { AxisPart } from './in-threads.ts';
import { placeAt, resultOf, wholePoint } from './operands.ts';
import type { Target } from './operands.ts';
import { orient, stepAlong } from './oriented.ts';
import { planProduct } from './plan.ts';
import type { Contract, Operand, Oriented } from './oriented.ts';
import type { ProductPlan } from './plan.ts';
import { nameBelow } from './points.ts';

/** A product that sums over rows, with what it has of them at a time as all that it sums over. */
export interface PreparedSum {
  readonly oriented: Oriented;
  readonly plan: ProductPlan;
  readonly target: Target;
}

/** Sums of a narrower dtype than they are accumulated in are kept in workspace, and rounded when all of them are complete. */
export function prepareSum(nest: Nest, node: Contract, { rows, kept }: Pick<Chain, 'rows' | 'kept'>): PreparedSum {
  const whole = orient(nest, node);
  const oriented: Oriented = { ...whole, k: { ...whole.k, extent: rows } };
  const { a, b, k, outDType } = oriented;
  const planned = planProduct({ ...nest, target: { ...nest.target, threads: 1 } }, oriented);
  // Rows of the block are often a power of two apart, so that a column of them has few sets of the first-level cache to itself.
  const isAcross = (operand: Operand): boolean => kept.has(operand.buffer) && stepAlong(operand, k) !== 1;
  const plan = { ...planned, packA: planned.packA || isAcross(a), packB: planned.packB || isAcross(b) };
  const out = at(node.outs, 0);
  const target =
    outDType === node.accumulate
      ? resultOf(nest, node)
      : nest.memory.workspace('sums', node.accumulate, nest.memory.decl(out).size);
  return { oriented, plan, target };
}

/** Clears the result at a point of the batch. */
export function clearSum(nest: Nest, { oriented, plan, target }: PreparedSum, point: ReadonlyMap<string, Index>): void {
  const { node, m, n } = oriented;
  const batch = wholePoint(oriented, point);
  const { lanes } = plan;
  const type = { dtype: node.accumulate, lanes };
  scalarLoop(nest, wholeRange(m), (row) => {
    vectorLoop(nest, { ...wholeRange(n), lanes, instances: 1, unroll: 2 }, ([vector]) => {
      if (vector === undefined) return;
      const { count } = vector.lane;
      const place = placeAt(
        at(node.writes, 0),
        { batch },
        new Map([
          [m.name, row],
          [n.name, vector.at],
        ]),
      );
      const access: Access = {
        buffer: target.name,
        at: place,
        step: int(1),
        align: dtypeInfo[target.dtype].bytes,
        ...(count === undefined || lanes === 1 ? {} : { count }),
      };
      nest.writer.emit({ kind: 'store', access, value: { kind: 'constant', value: 0, type } });
    });
  });
}

interface Adding {
  readonly chain: Chain;
  readonly sum: PreparedSum;
}

/** Adds what a block of rows gives. */
export function addSum(nest: Nest, { chain, sum }: Adding, { point, range, columns }: BlockOfColumns): void {
  const { oriented, plan, target } = sum;
  const { m, n, k } = oriented;
  const inBlock = (operand: Operand): Operand => ({
    ...operand,
    at: chain.kept.has(operand.buffer)
      ? substitute(operand.at, new Map(chain.batch.map(({ name }) => [name, int(0)])))
      : substitute(operand.at, new Map([[k.name, add(axisIndex(k), range.from)]])),
  });
  const here: Oriented = { ...oriented, a: inBlock(oriented.a), b: inBlock(oriented.b) };
  const product = { oriented: here, plan, batch: wholePoint(oriented, point), target };
  const points = subtract(range.to, range.from);
  const wholeOf = (axis: Axis): AxisPart => ({ from: int(0), to: axis.extent });
  // Rows of the block have their columns along one of the axes of the result.
  const areRows = chain.kept.has(oriented.a.buffer);
  const isPart = areRows && columns !== undefined;
  const rows = isPart ? columns : wholeOf(m);
  const along = areRows || columns === undefined ? wholeOf(n) : columns;
  eachUnit(nest, { n, along, width: plan.panels * plan.vectors * plan.lanes, packs: plan.packB }, (part) => {
    writeUnit(nest, { ...product, points, isPart }, { rows, columns: part, maps: [], accumulates: 'always' });
  });
}

interface BlockOfColumns extends BlockOfRows {
  /** Those that count, where not all do. */
  readonly columns: AxisPart | undefined;
}

interface Units {
  readonly n: Oriented['n'];
  /** The columns that are computed. */
  readonly along: AxisPart;
  /** Columns of a unit. */
  readonly width: number;
  /** Whether a unit packs panels, which then have room for so many columns. */
  readonly packs: boolean;
}

function eachUnit(nest: Nest, { n, along, width, packs }: Units, write: (columns: AxisPart) => void): void {
  const extent = staticValue(n.extent);
  invariant(extent !== undefined, 'columns of a chain have a known number');
  if (!packs || extent <= width) {
    write(along);
    return;
  }
  const units = { name: 'part', extent: ceilDivide(subtract(along.to, along.from), int(width)) };
  scalarLoop(nest, wholeRange(units), (unit) => {
    const start = add(along.from, multiply(unit, int(width)));
    const from = nameBelow(nest, { name: 'column', extent: n.extent }, start);
    const isWhole = staticValue(along.to) !== undefined && extent % width === 0;
    write({ from, to: isWhole ? add(from, int(width)) : minimum(add(from, int(width)), along.to) });
  });
}
