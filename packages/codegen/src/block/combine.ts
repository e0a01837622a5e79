// The combine region of a fold on values: scalars or vectors, the same operations in every lane.
import { at, get } from '@tsinductor/base';
import type { FoldNode, TileId, TileOp, Value } from '@tsinductor/ir';
import { pointwise, resultOfRule } from '@tsinductor/ops';
import { snake } from './block-names.ts';
import type { BlockScope } from './block-scope.ts';
import { apply, constantOf } from './block-values.ts';

/** combine(left, right), element by element of the operands' lists; the results are names. */
export function combineValues(
  node: FoldNode,
  [left, right]: readonly [readonly Value[], readonly Value[]],
  scope: BlockScope,
): readonly Value[] {
  const values = new Map<TileId, Value>();
  node.left.forEach(({ id }, slot) => values.set(id, at(left, slot)));
  node.right.forEach(({ id }, slot) => values.set(id, at(right, slot)));
  for (const inner of node.combine.nodes) {
    if (inner.kind !== 'op') return scope.refuse('a function that combines elements branches or loops', inner.origin);
    values.set(at(inner.results, 0).id, combineOp(inner, values, scope));
  }
  return node.combine.yields.map((id) => get(values, id));
}

function combineOp(node: TileOp, values: ReadonlyMap<TileId, Value>, scope: BlockScope): Value {
  const { dtype } = at(node.results, 0);
  const args = node.args.map((id) => get(values, id));
  if (node.op === 'apply') {
    const entry = pointwise[node.attrs.op];
    const operand = at(args, entry.rule === 'select' ? 1 : 0).type.dtype;
    return scope.name(apply(node.attrs.op, args, resultOfRule(entry, operand)), snake(node.attrs.op));
  }
  if (node.op === 'constant') return constantOf(node.attrs.value, dtype);
  if (node.op === 'cast' || node.op === 'bitcast') {
    const value = at(args, 0);
    return scope.name({ kind: node.op, value, type: { dtype, lanes: value.type.lanes } }, `to_${dtype}`);
  }
  return scope.refuse(`a function that combines elements uses ${node.op}`, node.origin);
}
