// Orders of rows: the primitives `sorted` and `ranked`, each one sort node that fills both of its results. Rows are read where they
// lie, if their elements are evenly apart; else they are copied first.
import { at } from '@tsinductor/base';
import { axisIndex, coefficientOf, freeAxes } from '@tsinductor/ir';
import type { Axis, Index, SortOperand } from '@tsinductor/ir';
import { flagAttr, numberAttr, sizeAttr } from './attributes.ts';
import type { CallNode } from './attributes.ts';
import type { Lowering, Rule } from './lowering.ts';
import { locate } from './view.ts';
import type { View } from './view.ts';

/** The value, such that steps along a dim are steps of one length in memory. */
function evenRows(lowering: Lowering, node: CallNode, { view, dim }: { view: View; dim: number }): View {
  const step = coefficientOf(view.at, at(view.axes, dim));
  const isEven = step !== undefined && freeAxes(step).size === 0;
  return isEven ? view : lowering.program.copy(view, lowering.origin(node));
}

interface Ordering {
  readonly dim: number;
  /** How many results each row has. */
  readonly count: Index;
  readonly descending: boolean;
  readonly places?: View;
}

/** A sort has its row and its results as loops of its own, which never meet those of another node: they need no number. */
const [ROW, KEPT] = ['row', 'kept'];

function lowerOrder(lowering: Lowering, node: CallNode, { dim, count, descending, places }: Ordering): View {
  const { program } = lowering;
  const keys = evenRows(lowering, node, { view: lowering.argument(node, 0), dim });
  const wanted = places && evenRows(lowering, node, { view: places, dim });
  const along: Axis = { name: ROW, extent: at(keys.axes, dim).extent };
  const kept: Axis = { name: KEPT, extent: count };
  const target = lowering.target(node);
  const { axes, coordinates } = program.splitSpace(target.shape, [dim]);
  const read = (view: View, axis: Axis): SortOperand => ({
    buffer: view.buffer,
    at: locate(view, coordinates.with(dim, axisIndex(axis))),
  });
  const [values, indices] = program.appendAll(
    [target, { ...target, name: `${target.name}Index`, dtype: 'i64' }],
    {
      kind: 'sort',
      axes,
      along,
      kept,
      descending,
      keys: read(keys, along),
      ...(wanted && { places: read(wanted, kept) }),
      results: ['values', 'indices'],
    },
    coordinates.with(dim, axisIndex(kept)),
  ) as [View, View];
  lowering.define({ kind: 'value', node: node.id, result: 1 }, indices);
  return values;
}

/** The first elements of rows in order. */
const sorted: Rule = (lowering, node) =>
  lowerOrder(lowering, node, {
    dim: numberAttr(node, 'dim'),
    count: sizeAttr(node, 'count'),
    descending: flagAttr(node, 'descending'),
  });

/** The elements of rows that stand at given places of their order. */
const ranked: Rule = (lowering, node) => {
  const [dim, places] = [numberAttr(node, 'dim'), lowering.argument(node, 1)];
  return lowerOrder(lowering, node, { dim, count: at(places.axes, dim).extent, descending: false, places });
};

export const sortRules: Readonly<Record<string, Rule>> = { sorted, ranked };
