// What runs at each point of a nest: the bodies of its nodes, which of their values differ along an axis, what they read and write, and
// about how many machine operations they take.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { elementsOf, freeAxes } from '@tsinductor/ir';
import type { Body, BufferId, Index, LoopNode, Scalar, ScalarId } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';

/** The bodies of a node that run at every point, the innermost first. */
export function pointBodies(node: LoopNode): readonly Body[] {
  switch (node.kind) {
    case 'map':
    case 'scatter':
      return [node.body];
    case 'reduce':
      return [node.step];
    case 'scan':
      return [node.step, node.finish];
    case 'contract':
      return elementsOf(node);
    case 'sort':
      return [];
  }
}

const isIndirectVarying = (body: Body, index: Index, varies: (id: ScalarId) => boolean): boolean => {
  if (index.kind === 'indirect') return varies(index.value);
  if (index.kind === 'sum' || index.kind === 'product' || index.kind === 'min' || index.kind === 'max')
    return index.items.some((item) => isIndirectVarying(body, item, varies));
  if (index.kind === 'floorDiv' || index.kind === 'mod')
    return isIndirectVarying(body, index.dividend, varies) || isIndirectVarying(body, index.divisor, varies);
  return false;
};

/** For each node of `body` whether its value differs along `axis`. */
export function varyingNodes(body: Body, axis: string): readonly boolean[] {
  const varying: boolean[] = [];
  const of = (id: ScalarId): boolean => at(varying, id);
  const index = (value: Index): boolean => freeAxes(value).has(axis) || isIndirectVarying(body, value, of);
  for (const node of body.nodes) varying.push(variesNode(node, of, index));
  return varying;
}

function variesNode(node: Scalar, of: (id: ScalarId) => boolean, index: (value: Index) => boolean): boolean {
  switch (node.kind) {
    case 'constant':
      return false;
    case 'carried':
      return true;
    case 'index':
      return index(node.value);
    case 'load':
      return (
        index(node.at) || (node.mask !== undefined && of(node.mask)) || (node.other !== undefined && of(node.other))
      );
    case 'cast':
    case 'bitcast':
      return of(node.value);
    case 'apply':
      return node.args.some(of);
    case 'check':
      return of(node.value);
  }
}

/** Every access of a node: where it reads, and where it writes. */
export function accessesOf(node: LoopNode): readonly NodeAccess[] {
  const accesses: NodeAccess[] = [];
  for (const body of pointBodies(node)) {
    for (const scalar of body.nodes)
      if (scalar.kind === 'load') accesses.push({ buffer: scalar.buffer, at: scalar.at, load: scalar.dtype });
  }
  if (node.kind === 'reduce') return accesses;
  node.writes.forEach((index, slot) => accesses.push({ buffer: at(node.outs, slot), at: index }));
  return accesses;
}

interface NodeAccess {
  readonly buffer: BufferId;
  readonly at: Index;
  /** What is read; undefined where it is a store. */
  readonly load?: DType;
}

/** About how many machine operations a point of `node` takes. */
export function operationsOf(node: LoopNode): number {
  let operations = 0;
  for (const body of pointBodies(node)) for (const scalar of body.nodes) operations += costOf(scalar);
  return 0.5 + operations;
}

/** About how many machine operations a node takes. */
export function costOf(scalar: Scalar): number {
  if (scalar.kind === 'apply') return pointwise[scalar.op].traits.cost ?? 1;
  return scalar.kind === 'load' ? 0.5 : 0.1;
}

/** What runs at each point of a nest, whichever axis has the lanes. */
export interface PointWork {
  readonly nodes: readonly LoopNode[];
  readonly accesses: readonly NodeAccess[];
  readonly operations: number;
}

export const pointWork = (nodes: readonly LoopNode[]): PointWork => ({
  nodes,
  accesses: nodes.flatMap(accessesOf),
  operations: nodes.reduce((sum, node) => sum + operationsOf(node), 0),
});

/** A node that carries states from point to point. */
export type Carrying = LoopNode & { readonly kind: 'reduce' | 'scan' };

export const isCarrying = (node: LoopNode): node is Carrying => node.kind === 'reduce' || node.kind === 'scan';
