// How two products and the loops over rows between them are laid out (see contract/chain.ts): what is done with a block of rows, in
// order, what one step leaves for another, and how many rows a block has.
import { at, invariant } from '@tsinductor/base';
import { columnBounds, columnOf, nodesBelow, staticValue, touches, typicalValue } from '@tsinductor/codegen';
import type { ColumnBounds } from '@tsinductor/codegen';
import { coefficientOf, equal, int } from '@tsinductor/ir';
import type { Axis, BufferId, LoopNode, LoopTree, NodeRef } from '@tsinductor/ir';
import { nodeAt } from '../plan/planning.ts';
import type { Planning } from '../plan/planning.ts';
import type { MapNode } from './epilogue.ts';
import { orient, planProduct } from './plan.ts';
import type { Contract } from './plan.ts';

/** What is done with a block of rows. */
export type Step =
  | { readonly kind: 'product'; readonly node: Contract; readonly maps: readonly MapNode[] }
  /** Loops over one row. */
  | { readonly kind: 'rows'; readonly tree: LoopTree };

export interface Chain {
  readonly steps: readonly Step[];
  /** The loops over the batch, and over rows. */
  readonly batch: readonly Axis[];
  readonly m: Axis;
  /** Rows of a block. */
  readonly rows: number;
  /** What a block leaves from one step for another, and how many elements a row of it takes. */
  readonly kept: ReadonlyMap<BufferId, number>;
  /** What is written over another, whose row nobody reads any more: by what it takes the place of. */
  readonly over: ReadonlyMap<BufferId, BufferId>;
  /** The loops over columns of a row, where a mask leaves columns out: which of them count. */
  readonly mask: ColumnMask | undefined;
}

interface ColumnMask {
  readonly bounds: ColumnBounds;
  readonly columns: ReadonlySet<string>;
}

/** Blocks that there are at least, where rows suffice. */
const LEAST_BLOCKS = 16;

const productsOf = ({ steps }: Pick<Chain, 'steps'>): readonly Contract[] =>
  steps.flatMap((step) => (step.kind === 'product' ? [step.node] : []));

export function planChain(planning: Planning): Chain {
  const { group, choices, memory } = planning;
  const steps = stepsOf(planning);
  const products = productsOf({ steps });
  const { m } = at(products, 0);
  const bands = group.nest.loops.map(({ axis }) => axis);
  const kept = keptBetween(planning, steps, m);
  const over = writtenOver(planning, steps, kept);
  const own = [...kept].filter(([buffer]) => !over.has(buffer));
  const bytes = own.reduce((sum, [buffer, row]) => sum + row * memory.bytesOf(buffer), 0);
  const tile = Math.max(...products.map((node) => planProduct(planning, orient(planning, node)).rows));
  const batch = bands.filter(({ name }) => name !== m.name);
  // Blocks enough for threads, whatever their number: where a block ends, so may the columns that a mask leaves.
  const height = typicalValue(m.extent);
  const all = batch.reduce((points, { extent }) => points * typicalValue(extent), height);
  const fits = Math.floor(choices.chainBytes / Math.max(1, bytes) / tile);
  const share = Math.ceil(all / LEAST_BLOCKS / tile);
  const rows = Math.min(Math.max(1, Math.min(fits, share)), Math.ceil(height / tile)) * tile;
  return {
    steps,
    m,
    batch,
    rows,
    kept,
    over,
    mask: maskOf(planning, steps),
  };
}

/** The rows that go to the last product take the place of those that came from the first, where each is read before it is lost. */
function writtenOver(
  planning: Planning,
  [first, middle, last]: readonly Step[],
  kept: ReadonlyMap<BufferId, number>,
): ReadonlyMap<BufferId, BufferId> {
  if (first?.kind !== 'product' || middle?.kind !== 'rows' || last?.kind !== 'product') return new Map();
  const { memory, group } = planning;
  const [before, after] = [at(first.node.outs, 0), last.node.a.buffer];
  const isAlike = kept.get(before) === kept.get(after) && memory.decl(before).dtype === memory.decl(after).dtype;
  const stages = middle.tree.children.map((child) => nodesOf(group.nodes, child));
  const writer = stages.findIndex((nodes) => nodes.some(({ outs }) => outs.includes(after)));
  const isLost = stages.slice(Math.max(0, writer)).some((nodes) => nodes.some((node) => touches(node, before)));
  return isAlike && kept.has(before) && writer >= 0 && !isLost ? new Map([[after, before]]) : new Map();
}

/** What is left out of each row, where there is one run of loops between two products. */
function maskOf(planning: Planning, steps: readonly Step[]): ColumnMask | undefined {
  const [first, middle, last, ...others] = steps;
  if (first?.kind !== 'product' || middle?.kind !== 'rows' || last?.kind !== 'product' || others.length > 0)
    return undefined;
  const { m, n } = first.node;
  if (first.maps.length > 0 || !equal(at(last.node.over, 0).extent, n.extent)) return undefined;
  const nodes = nodesOfStep(planning, middle);
  const outer = new Set(planning.group.nest.loops.map(({ axis }) => axis.name));
  const between = { nodes, rows: m, outer, columns: n.extent, weights: last.node.a.buffer };
  const bounds = columnBounds(between);
  const columns = new Set(nodes.flatMap((node) => columnOf(node, between)?.name ?? []));
  return bounds && { bounds, columns };
}

/** The children of the nest: products with the maps at their elements, and what is between them. */
function stepsOf({ group }: Planning): readonly Step[] {
  const steps: Step[] = [];
  for (const child of group.nest.children) {
    const nodes = nodesOf(group.nodes, child);
    const [only] = nodes;
    const last = steps.at(-1);
    if (nodes.length === 1 && only?.kind === 'contract') steps.push({ kind: 'product', node: only, maps: [] });
    else if (last?.kind === 'product' && nodes.every((node) => isAtElement(node, last.node)))
      steps[steps.length - 1] = { ...last, maps: [...last.maps, ...nodes.filter((node) => node.kind === 'map')] };
    else if (last?.kind === 'rows')
      steps[steps.length - 1] = { ...last, tree: { ...last.tree, children: [...last.tree.children, child] } };
    else steps.push({ kind: 'rows', tree: { kind: 'loops', loops: [], children: [child] } });
  }
  return steps;
}

const nodesOf = (nodes: readonly LoopNode[], child: LoopTree | NodeRef): readonly LoopNode[] =>
  child.kind === 'node' ? [at(nodes, child.node)] : nodesBelow(child).map((index) => at(nodes, index));

function isAtElement(node: LoopNode, product: Contract): boolean {
  const own = new Set(product.axes.filter((axis) => staticValue(axis.extent) !== 1).map(({ name }) => name));
  const axes = node.axes.filter((axis) => staticValue(axis.extent) !== 1);
  return node.kind === 'map' && axes.length === own.size && axes.every(({ name }) => own.has(name));
}

const nodesOfStep = (planning: Planning, step: Step): readonly LoopNode[] =>
  step.kind === 'product' ? [step.node, ...step.maps] : nodesBelow(step.tree).map((index) => nodeAt(planning, index));

/** Locals that one step makes for another, and how far their rows are apart. */
function keptBetween(planning: Planning, steps: readonly Step[], m: Axis): ReadonlyMap<BufferId, number> {
  const kept = new Map<BufferId, number>();
  for (const step of steps) {
    const others = steps.filter((other) => other !== step).flatMap((other) => nodesOfStep(planning, other));
    for (const node of nodesOfStep(planning, step))
      node.outs.forEach((out, slot) => {
        if (!planning.memory.isVirtual(out) || !others.some((other) => touches(other, out))) return;
        const row = staticValue(coefficientOf(at(node.writes, slot), m) ?? int(0));
        invariant(
          row !== undefined && row > 0,
          `group ${planning.group.name}: rows of a local are no known distance apart`,
        );
        kept.set(out, row);
      });
  }
  return kept;
}
