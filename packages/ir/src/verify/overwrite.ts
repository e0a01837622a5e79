// Whether a group may write a result over one of its inputs. It may if, whatever the order in which the loops around both
// accesses run, an element is never written before the last read of what lay there: a read has to happen in the same
// iteration of the loops that it shares with the write, and before it: in an earlier part of the nest, or at the very
// point that writes the element. The scheduler asks it when it places buffers, the verifier when it checks the places.
//
// Where a map then copies elements to where they lie, there is nothing to do: what of it is left is a map as well.
import { at } from '@tsinductor/base';
import { add, axisIndex, int, subtract } from '../arithmetic/polynomial.ts';
import { equal } from '../arithmetic/order.ts';
import { freeAxes } from '../arithmetic/query.ts';
import { isAtMost } from '../arithmetic/range.ts';
import { BodyBuilder } from '../body/body-builder.ts';
import { constantToValue } from '../body/constant.ts';
import { producingPoint } from '../body/inline-load.ts';
import { replaceAxis } from '../body/map-node.ts';
import { loadsOf } from '../body/traverse-body.ts';
import type { Load } from '../body/traverse-body.ts';
import type { Axis, Index } from '../index-expr.ts';
import type { LoopNode, MapNode } from '../loop.ts';
import type { BufferId, Scalar } from '../scalar.ts';
import type { BufferPlan, Group, LoopTree, NodeRef } from '../schedule.ts';
import { bodiesOf } from './verify-program.ts';

/** A node's place in the nest: the trees around it, outermost first, and when it runs among its group's nodes. */
interface Place {
  readonly node: LoopNode;
  readonly trees: readonly LoopTree[];
  readonly order: number;
}

/** Why `written` may not take the memory of `read` while the group runs; undefined: it may. */
export function cannotOverwrite(group: Group, read: BufferId, written: BufferId): string | undefined {
  const places = placesOf(group);
  const writers = places.filter(({ node }) => node.outs.includes(written));
  const [writer] = writers;
  if (writer === undefined || writers.length > 1) return 'it is not written by one loop';
  // Tiles of a product are written in several passes over its sum, before what follows it reads its own inputs; a sort reads rows
  // again after it has begun to write.
  if (places.some(({ node }) => node.kind === 'contract' || node.kind === 'scatter' || node.kind === 'sort'))
    return 'its elements may be written more than once';
  for (const place of places) {
    for (const { at: index } of bodiesOf(place.node)
      .flatMap(loadsOf)
      .filter(({ buffer }) => buffer === read)) {
      const reason = clash(writer, { place, index }, written);
      if (reason !== undefined) return reason;
    }
  }
  return undefined;
}

function placesOf(group: Group): readonly Place[] {
  const found: Place[] = [];
  const visit = (tree: LoopTree | NodeRef, trees: readonly LoopTree[]): void => {
    if (tree.kind === 'node') found.push({ node: at(group.nodes, tree.node), trees, order: found.length });
    else for (const child of tree.children) visit(child, [...trees, tree]);
  };
  visit(group.nest, []);
  return found;
}

function clash(
  writer: Place,
  { place, index }: { readonly place: Place; readonly index: Index },
  written: BufferId,
): string | undefined {
  const { node } = writer;
  if (place.order > writer.order) return 'an input is read after the result is written';
  const axes = node.kind === 'scan' ? [...node.axes, ...node.over] : node.axes;
  const point = producingPoint({ axes, write: at(node.writes, node.outs.indexOf(written)) }, index);
  const isHere = (axis: Axis): boolean => {
    const coordinate = point?.get(axis.name);
    return coordinate !== undefined && equal(coordinate, axisIndex(axis));
  };
  const shared = writer.trees.filter((tree) => place.trees.includes(tree));
  const isInnermost = shared.length === writer.trees.length && shared.length === place.trees.length;
  const loops = isInnermost ? axes : shared.flatMap((tree) => tree.loops.map(({ axis }) => axis));
  return loops.every(isHere) ? undefined : 'an input is read elsewhere than where the result is written';
}

/** What a map copies, at the points at which a coordinate is below a bound; elsewhere its result is a constant. */
export interface CopiedPart {
  readonly load: Load;
  readonly axis: Axis;
  readonly bound: Index;
}

/** The part of a map that is a copy, as in an array whose rows end in a constant; undefined where it is anything else. */
export function copiedPart(node: LoopNode): CopiedPart | undefined {
  if (node.kind !== 'map' || node.outs.length > 1) return undefined;
  const { nodes, results } = node.body;
  const load = at(nodes, at(results, 0));
  if (load.kind !== 'load' || load.mask === undefined) return undefined;
  if (load.other !== undefined && at(nodes, load.other).kind !== 'constant') return undefined;
  const below = belowBound(node, at(nodes, load.mask));
  return below === undefined ? undefined : { load, ...below };
}

/** Where a test is whether a coordinate of a map is below a bound: of which axis, and which bound. */
function belowBound({ body: { nodes }, axes }: MapNode, test: Scalar): Omit<CopiedPart, 'load'> | undefined {
  if (test.kind !== 'apply' || test.op !== 'lt') return undefined;
  const [coordinate, bound] = test.args.map((id) => indexOf(at(nodes, id)));
  const axis = axes.find((own) => coordinate !== undefined && equal(coordinate, axisIndex(own)));
  if (axis === undefined || bound === undefined || freeAxes(bound).size > 0) return undefined;
  return isAtMost(bound, axis.extent) ? { axis, bound } : undefined;
}

/** An integer of a body that is known as an index. */
function indexOf(node: Scalar): Index | undefined {
  if (node.kind === 'index') return node.value;
  return node.kind === 'constant' && node.dtype === 'i64' ? int(Number(constantToValue(node.value, 'i64'))) : undefined;
}

/** A node without the points at which it would copy an element to where that lies already. */
export function writtenPart(node: LoopNode, plans: readonly BufferPlan[]): LoopNode {
  const copied = copiedPart(node);
  if (node.kind !== 'map' || copied === undefined || !equal(copied.load.at, at(node.writes, 0))) return node;
  const { load, axis, bound } = copied;
  if (!liesOver({ written: at(node.outs, 0), read: load.buffer }, plans)) return node;
  const rest: Axis = { name: axis.name, extent: subtract(axis.extent, bound) };
  const body = new BodyBuilder();
  const value = load.other === undefined ? undefined : at(node.body.nodes, load.other);
  const constant = body.constant(
    value?.kind === 'constant' ? constantToValue(value.value, value.dtype) : 0,
    load.dtype,
  );
  const { writes, axes } = replaceAxis(node, rest, add(axisIndex(rest), bound));
  return { ...node, axes, writes, body: body.finish([constant]) };
}

/** Whether what is written begins in memory where what is read does. */
function liesOver(
  { written, read }: { readonly written: BufferId; readonly read: BufferId },
  plans: readonly BufferPlan[],
): boolean {
  return plans.some(
    (plan) =>
      ((plan.kind === 'workspace' || plan.kind === 'hosted') && plan.buffer === written && plan.over === read) ||
      (plan.kind === 'hosted' && plan.buffer === read && plan.output === written),
  );
}
