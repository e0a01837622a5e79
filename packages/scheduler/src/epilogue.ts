// What a matrix product may be one group with: maps that run at each of its elements, after it. They are computed while the
// product's tile is in registers or near them, so that it need not be stored and read again.
//
// The group that comes of it has the product's own axes as its loops; the nodes stand in them side by side, the product
// first among those that depend on it.
import { isFloat } from '@tsinductor/base';
import type { LoopNode, Scalar } from '@tsinductor/ir';
import type { Cluster, Link } from './cluster.ts';
import { bodiesOf, isUnit, namesOf } from './node-access.ts';

const isProduct = (node: LoopNode): boolean => node.kind === 'contract';
export const hasProduct = ({ nodes }: Cluster): boolean => nodes.some(({ node }) => isProduct(node));

interface Meeting {
  readonly link: Link;
  /** Whether products may have epilogues. */
  readonly isAllowed: boolean;
}

/** Why two clusters, one of which has a product, stay apart whatever their loops are; undefined: they may be joined. */
export function refuseWithProduct(left: Cluster, right: Cluster, { link, isAllowed }: Meeting): string | undefined {
  if (!hasProduct(left) && !hasProduct(right)) return undefined;
  if (!isAllowed) return 'a matrix product is a kernel of its own';
  const follows = link.kind === 'flow' && right.elementwise && !hasProduct(right);
  return follows ? undefined : 'only what follows a matrix product element by element is computed with it';
}

/** Whether a product of whole numbers would be stored only for what multiplies it (`forceFuseIntMmWithMul`). */
export const scalesWholeNumbers = (left: Cluster, right: Cluster): boolean =>
  left.nodes.some(({ node }) => node.kind === 'contract' && !isFloat(node.accumulate)) &&
  right.nodes.some(({ node }) => bodiesOf(node).some(({ nodes }) => nodes.some(isMul)));

const isMul = (scalar: Scalar): boolean => scalar.kind === 'apply' && scalar.op === 'mul';

/** Why a joined cluster is not a product with maps at its elements; undefined: it is, or it has no product. */
export function refuseLoopsBesideProduct(joined: Cluster): string | undefined {
  const product = joined.nodes.find(({ node }) => isProduct(node))?.node;
  if (product === undefined) return undefined;
  const own = namesOf(product.axes.filter((axis) => !isUnit(axis)));
  const fits = joined.nodes.every(({ node }) => {
    const axes = node.axes.filter((axis) => !isUnit(axis));
    return axes.length === own.size && axes.every((axis) => own.has(axis.name));
  });
  return fits ? undefined : 'what follows the matrix product has other loops';
}
