// Traversal of bodies, written once: what a node refers to, which nodes are live, what a body reads and costs.
import { at } from '@tsinductor/base';
import { pointwise } from '@tsinductor/ops';
import type { Index } from '../index-expr.ts';
import type { Body, Scalar, ScalarId } from '../scalar.ts';
import { freeIndirects, hasIndirects } from '../arithmetic/query.ts';

export type Load = Extract<Scalar, { readonly kind: 'load' }>;

/** The index expressions of a node. */
export function scalarIndexes(node: Scalar): readonly Index[] {
  switch (node.kind) {
    case 'index':
      return [node.value];
    case 'load':
      return [node.at];
    case 'check':
      return [node.extent];
    case 'constant':
    case 'carried':
    case 'cast':
    case 'bitcast':
    case 'apply':
      return [];
  }
}

/** Most expressions have none. */
function visitIndirects(index: Index, found: (value: ScalarId) => void): void {
  if (hasIndirects(index)) freeIndirects(index).forEach(found);
}

/** Tells of each node that a node refers to. */
function visitOperands(node: Scalar, found: (operand: ScalarId) => void): void {
  switch (node.kind) {
    case 'constant':
    case 'carried':
      return;
    case 'index':
      visitIndirects(node.value, found);
      return;
    case 'cast':
    case 'bitcast':
      found(node.value);
      return;
    case 'check':
      found(node.value);
      visitIndirects(node.extent, found);
      return;
    case 'apply':
      for (const operand of node.args) found(operand);
      return;
    case 'load':
      visitIndirects(node.at, found);
      if (node.mask !== undefined) found(node.mask);
      if (node.other !== undefined) found(node.other);
  }
}

/** The nodes that a node refers to, those inside its index expressions included. */
export function scalarOperands(node: Scalar): readonly ScalarId[] {
  const operands: ScalarId[] = [];
  visitOperands(node, (operand) => operands.push(operand));
  return operands;
}

/**
 * For each node, whether a result or one of `roots` needs it; by default the roots are the bounds checks, as one that no result
 * needs is there for a write, which may use it as an index.
 */
export function liveNodes(body: Body, roots?: readonly ScalarId[]): readonly boolean[] {
  const live = new Array<boolean>(body.nodes.length).fill(false);
  const need = (id: ScalarId): void => {
    live[id] = true;
  };
  for (const id of body.results) live[id] = true;
  for (const id of roots ?? []) live[id] = true;
  for (let id = body.nodes.length - 1; id >= 0; id -= 1) {
    const node = at(body.nodes, id);
    if (roots === undefined && node.kind === 'check') live[id] = true;
    if (live[id] !== true) continue;
    visitOperands(node, need);
  }
  return live;
}

/** Whether it may find an index out of range, or a condition that does not hold. */
export const hasChecks = ({ nodes }: Body): boolean => nodes.some(({ kind }) => kind === 'check');

/** The loads of live nodes, in the order of their ids. */
export function loadsOf(body: Body): readonly Load[] {
  const live = liveNodes(body);
  return body.nodes.filter((node, id): node is Load => live[id] === true && node.kind === 'load');
}

/** About how many machine operations one evaluation takes, by the cost of the ops' table; loads and constants are free. */
export function countOperations(body: Body): number {
  const live = liveNodes(body);
  return body.nodes.reduce((total, node, id) => (live[id] === true ? total + costOf(node) : total), 0);
}

function costOf(node: Scalar): number {
  switch (node.kind) {
    case 'apply':
      return pointwise[node.op].traits.cost ?? 1;
    case 'cast':
    case 'check':
    case 'index':
      return 1;
    case 'constant':
    case 'carried':
    case 'load':
    case 'bitcast':
      return 0;
  }
}
