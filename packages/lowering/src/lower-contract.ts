// bmm as a contract node: its operands are read through their views, so that a transposed matrix stays where it is.
// An operand whose index is not affine is copied first, unless its rows are affine in two parts (as those of a convolution
// with a window of one element are, over images and over places): then the outer part can be a batch of the product.
import { at, dtypeInfo } from '@tsinductor/base';
import { add, axisIndex, divisorsOf, equal, floorDivide, multiply, substitute } from '@tsinductor/ir';
import type { Axis, ContractOperand, Index } from '@tsinductor/ir';
import type { CallNode } from './attributes.ts';
import type { Lowering, Rule } from './lowering.ts';
import { isAffine, isInt, locate, zero } from './view.ts';
import type { Shape, View } from './view.ts';

const operand = (view: View, coordinates: Shape): ContractOperand => ({
  buffer: view.buffer,
  at: locate(view, coordinates),
});

/** The argument, such that its index over the loops is affine. */
function affineView(lowering: Lowering, node: CallNode, view: View): View {
  return isAffine(view.at, view.axes) ? view : lowering.program.copy(view, lowering.origin(node));
}

/** The rows of a product: one loop, or a batch of them with a loop in each. */
interface Rows {
  readonly batch: readonly Axis[];
  readonly m: Axis;
  /** Which row it is. */
  readonly row: Index;
}

/** An axis of the node that is appended next. */
type NewAxis = (letter: string, extent: Index) => Axis;

/** The rows in two parts, such that the view is affine over both; undefined where there are none. */
function splitRows(view: View, newAxis: NewAxis): Rows | undefined {
  const [rows, ...others] = [at(view.axes, 1), at(view.axes, 0), at(view.axes, 2)] as const;
  for (const divisor of divisorsOf(view.at, rows)) {
    const [outer, m] = [newAxis('r', floorDivide(rows.extent, divisor)), newAxis('m', divisor)];
    const row = add(multiply(axisIndex(outer), divisor), axisIndex(m));
    const isWhole = equal(multiply(outer.extent, divisor), rows.extent);
    const index = substitute(view.at, new Map([[rows.name, row]]));
    if (isWhole && isAffine(index, [outer, m, ...others])) return { batch: [outer], m, row };
  }
  return undefined;
}

const bmm: Rule = (lowering, node) => {
  const { program } = lowering;
  const [first, second] = [0, 1].map((position) => lowering.argument(node, position)) as [View, View];
  const axis: NewAxis = (letter, extent) => ({ name: `${letter}${program.nextNumber}`, extent });
  const right = affineView(lowering, node, second);
  const mayDivide = lowering.options.divideRows && !isAffine(first.at, first.axes);
  const divided = mayDivide ? splitRows(first, axis) : undefined;
  const left = divided === undefined ? affineView(lowering, node, first) : first;
  const target = lowering.target(node);
  const m = axis('m', at(left.axes, 1).extent);
  const rows: Rows = divided ?? { batch: [], m, row: axisIndex(m) };
  const [n, k, b] = [
    axis('n', at(right.axes, 2).extent),
    axis('k', at(left.axes, 2).extent),
    axis('b', at(target.shape, 0)),
  ];
  const isOne = isInt(b.extent, 1);
  const [bi, ni, ki] = [isOne ? zero : axisIndex(b), axisIndex(n), axisIndex(k)];
  const batch = [...(isOne ? [] : [b]), ...rows.batch];
  return program.append(
    target,
    {
      kind: 'contract',
      axes: [...batch, rows.m, n],
      batch,
      m: rows.m,
      n,
      k,
      a: operand(left, [bi, rows.row, ki]),
      b: operand(right, [bi, ki, ni]),
      accumulate: dtypeInfo[target.dtype].compute,
    },
    [bi, rows.row, ni],
  );
};

export const contractRules: Readonly<Record<string, Rule>> = { bmm };
