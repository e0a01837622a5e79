// An update of a part of a tensor, as of one row of a cache: where a map chooses between new elements and those that lie at the very places
// that it writes to, it need not go where it chooses the old ones. In: a map, and where buffers lie. Out: the map within the
// bounds that its mask puts on its axes; the node itself where it is no such choice.
import { at } from '@tsinductor/base';
import { equal } from '../arithmetic/order.ts';
import { add, axisIndex, int } from '../arithmetic/polynomial.ts';
import { replaceAxis } from '../body/map-node.ts';
import { maskBounds } from '../body/mask-bounds.ts';
import type { MaskBounds } from '../body/mask-bounds.ts';
import type { Axis } from '../index-expr.ts';
import type { LoopNode, MapNode } from '../loop.ts';
import { decideBounds } from '../rules/decide-bounds.ts';
import type { Body, Scalar, ScalarId } from '../scalar.ts';
import type { BufferPlan } from '../schedule.ts';

export function updatedPart(node: LoopNode, plans: readonly BufferPlan[]): LoopNode {
  if (node.kind !== 'map' || node.outs.length > 1) return node;
  const over = plans.find(({ buffer }) => buffer === at(node.outs, 0));
  if (over?.kind !== 'output' || over.over === undefined) return node;
  const choice = choiceOf(node.body);
  if (choice === undefined) return node;
  const { mask, old } = choice;
  const isThere = old.buffer === over.over && old.mask === undefined && equal(old.at, at(node.writes, 0));
  if (!isThere) return node;
  const part = maskBounds((id) => at(node.body.nodes, id), mask).reduce<LoopNode>(within, node);
  return part === node ? node : decideBounds(part, 'indices');
}

interface Choice {
  readonly mask: ScalarId;
  readonly old: Scalar & { readonly kind: 'load' };
}

/** Of what a body chooses between, where the other choice is an element of a buffer. */
function choiceOf({ nodes, results }: Body): Choice | undefined {
  // Elements of narrow dtypes are widened, chosen, and narrowed again.
  const uncast = (id: ScalarId): Scalar => {
    const node = at(nodes, id);
    return node.kind === 'cast' ? at(nodes, node.value) : node;
  };
  const root = uncast(at(results, 0));
  if (root.kind !== 'apply' || root.op !== 'where') return undefined;
  const [mask, , other] = root.args;
  if (mask === undefined || other === undefined) return undefined;
  const old = uncast(other);
  return old.kind === 'load' ? { mask, old } : undefined;
}

/** The map at those points of an axis at which the mask may hold, if these are known and there are any. */
function within(node: LoopNode, { axis, lower = int(0), upper = axis.extent }: MaskBounds): LoopNode {
  const own = (node as MapNode).axes.find(({ name }) => name === axis.name);
  if (own?.extent.kind !== 'int' || lower.kind !== 'int' || upper.kind !== 'int') return node;
  const [first, end] = [Math.max(lower.value, 0), Math.min(upper.value, own.extent.value)];
  if (end <= first || end - first === own.extent.value) return node;
  const rest: Axis = { name: axis.name, extent: int(end - first) };
  return replaceAxis(node, rest, add(axisIndex(rest), int(first)));
}
