// Adjacent loops whose accesses all run on from one into the next become one loop: [i 0..M, j 0..N] over contiguous
// buffers is a single axis of M*N points. Fewer loops, fewer tails, longer vectors.
import { at } from '@tsinductor/base';
import { coefficientOf, elementsOf, equal, freeAxes, int, multiply } from '@tsinductor/ir';
import type { Axis, Body, Group, Index, LoopBand, LoopNode, LoopTree, Scalar } from '@tsinductor/ir';
import { shorterAxes } from './cut-loops.ts';
import { mapIndex } from './index-math.ts';
import { nodesBelow } from './loop-trees.ts';

/** `group` with every pair of loops merged that may be; loops of one point are dropped. */
export function collapseAxes(group: Group): Group {
  let result = group;
  for (;;) {
    const found = findPair(result, result.nest);
    if (found === undefined) return result;
    result = mergePair(result, found);
  }
}

interface Pair {
  readonly outer: Axis;
  readonly inner: Axis;
}

/** A pair of neighbours among the loops of `tree`. Other trees may have axes of the same names, which are not these. */
interface Found {
  readonly tree: LoopTree;
  readonly pair: Pair;
}

function findPair(group: Group, tree: LoopTree): Found | undefined {
  const nodes = nodesBelow(tree).map((index) => at(group.nodes, index));
  const indexes = nodes.flatMap(indexesOf);
  for (let position = 0; position + 1 < tree.loops.length; position++) {
    const [outer, inner] = [at(tree.loops, position), at(tree.loops, position + 1)];
    const pair = { outer: outer.axis, inner: inner.axis };
    if (
      outer.role === inner.role &&
      nodes.every((node) => adjacent(node, pair) && shorterAxes(node, [outer, inner]).length === 0) &&
      indexes.every((index) => runsOn(index, pair))
    )
      return { tree, pair };
  }
  for (const child of tree.children) {
    const found = child.kind === 'loops' ? findPair(group, child) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Both axes stand side by side in the node's own lists, or in none of them. */
function adjacent(node: LoopNode, { outer, inner }: Pair): boolean {
  if (node.kind === 'contract' || node.kind === 'scatter' || node.kind === 'sort') return false;
  const lists = node.kind === 'map' ? [node.axes] : [node.axes, node.over];
  return (
    lists.every((list) => {
      const names = list.map((axis) => axis.name);
      const [first, second] = [names.indexOf(outer.name), names.indexOf(inner.name)];
      return first < 0 ? second < 0 : second === first + 1;
    }) && node.kind !== 'scan'
  );
}

/** A step of the outer axis is as far as all steps of the inner one. */
function runsOn(index: Index, { outer, inner }: Pair): boolean {
  const names = freeAxes(index);
  if (!names.has(outer.name) && !names.has(inner.name)) return true;
  const [far, near] = [coefficientOf(index, outer), coefficientOf(index, inner)];
  return far !== undefined && near !== undefined && equal(far, multiply(near, inner.extent));
}

const bodiesOf = (node: LoopNode): readonly Body[] => {
  switch (node.kind) {
    case 'map':
    case 'scatter':
      return [node.body];
    case 'reduce':
    case 'scan':
      return [node.init, node.step, node.merge, node.finish];
    case 'contract':
      return elementsOf(node);
    case 'sort':
      return [];
  }
};

function indexesOf(node: LoopNode): readonly Index[] {
  const inBodies = bodiesOf(node).flatMap((body) =>
    body.nodes.flatMap((scalar) => {
      if (scalar.kind === 'index') return [scalar.value];
      if (scalar.kind === 'load') return [scalar.at];
      return scalar.kind === 'check' ? [scalar.extent] : [];
    }),
  );
  return [...node.writes, ...inBodies];
}

function mergePair(group: Group, { tree, pair }: Found): Group {
  const { outer, inner } = pair;
  const merged: Axis = { name: `${outer.name}${inner.name}`, extent: multiply(outer.extent, inner.extent) };
  const substitute = (index: Index): Index =>
    mapIndex(index, {
      axis: (axis): Index => {
        if (axis.name === outer.name) return int(0);
        return { kind: 'axis', axis: axis.name === inner.name ? merged : axis };
      },
      indirect: (value, extent) => ({ kind: 'indirect', value, extent }),
    });
  const axes = (list: readonly Axis[]): readonly Axis[] =>
    list.flatMap((axis) => (axis.name === outer.name ? [] : [axis.name === inner.name ? merged : axis]));
  const below = new Set(nodesBelow(tree));
  const rewritten = rewriteTree(tree, { ...pair, merged });
  return {
    ...group,
    nodes: group.nodes.map((node, index) => (below.has(index) ? rewriteNode(node, { substitute, axes }) : node)),
    nest: replaceTree(group.nest, tree, rewritten),
  };
}

const replaceTree = (nest: LoopTree, old: LoopTree, replacement: LoopTree): LoopTree =>
  nest === old
    ? replacement
    : {
        ...nest,
        children: nest.children.map((child) => (child.kind === 'loops' ? replaceTree(child, old, replacement) : child)),
      };

interface Rewrite {
  readonly substitute: (index: Index) => Index;
  readonly axes: (list: readonly Axis[]) => readonly Axis[];
}

const rewriteScalar = (node: Scalar, { substitute }: Rewrite): Scalar => {
  if (node.kind === 'index') return { ...node, value: substitute(node.value) };
  if (node.kind === 'load') return { ...node, at: substitute(node.at) };
  return node.kind === 'check' ? { ...node, extent: substitute(node.extent) } : node;
};

const rewriteBody = (body: Body, rewrite: Rewrite): Body => ({
  ...body,
  nodes: body.nodes.map((node) => rewriteScalar(node, rewrite)),
});

function rewriteNode(node: LoopNode, rewrite: Rewrite): LoopNode {
  const base = { writes: node.writes.map(rewrite.substitute), axes: rewrite.axes(node.axes) };
  switch (node.kind) {
    case 'map':
      return { ...node, ...base, body: rewriteBody(node.body, rewrite) };
    case 'reduce':
      return {
        ...node,
        ...base,
        over: rewrite.axes(node.over),
        init: rewriteBody(node.init, rewrite),
        step: rewriteBody(node.step, rewrite),
        finish: rewriteBody(node.finish, rewrite),
      };
    case 'scan':
      return { ...node, ...base, step: rewriteBody(node.step, rewrite), finish: rewriteBody(node.finish, rewrite) };
    case 'scatter':
    case 'contract':
    case 'sort':
      return node;
  }
}

function rewriteTree(tree: LoopTree, pair: Pair & { readonly merged: Axis }): LoopTree {
  const loops = tree.loops.flatMap((band): readonly LoopBand[] => {
    if (band.axis.name === pair.outer.name) return [];
    return [band.axis.name === pair.inner.name ? { ...band, axis: pair.merged } : band];
  });
  const children = tree.children.map((child) => (child.kind === 'loops' ? rewriteTree(child, pair) : child));
  return { ...tree, loops, children };
}
