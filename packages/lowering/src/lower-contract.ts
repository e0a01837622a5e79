// bmm as a contract node: its operands are read through their views, so that a transposed matrix stays where it is.
// An operand whose index is not affine is copied first.
import { at, dtypeInfo } from '@tsinductor/base';
import { axisIndex } from '@tsinductor/ir';
import type { Axis, ContractOperand } from '@tsinductor/ir';
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

const bmm: Rule = (lowering, node) => {
  const [left, right] = [0, 1].map((position) => affineView(lowering, node, lowering.argument(node, position))) as [
    View,
    View,
  ];
  const [rows, inner, columns] = [at(left.axes, 1).extent, at(left.axes, 2).extent, at(right.axes, 2).extent];
  const target = lowering.target(node);
  const number = lowering.program.nextNumber;
  const axis = (letter: string, extent: Axis['extent']): Axis => ({ name: `${letter}${number}`, extent });
  const [m, n, k] = [axis('m', rows), axis('n', columns), axis('k', inner)];
  const b = axis('b', at(target.shape, 0));
  const batch = isInt(b.extent, 1) ? [] : [b];
  const [bi, mi, ni, ki] = [isInt(b.extent, 1) ? zero : axisIndex(b), axisIndex(m), axisIndex(n), axisIndex(k)];
  return lowering.program.append(
    target,
    {
      kind: 'contract',
      axes: [...batch, m, n],
      batch,
      m,
      n,
      k,
      a: operand(left, [bi, mi, ki]),
      b: operand(right, [bi, ki, ni]),
      accumulate: dtypeInfo[target.dtype].compute,
    },
    [bi, mi, ni],
  );
};

export const contractRules: Readonly<Record<string, Rule>> = { bmm };
