// How two products and the loops over rows between them are laid out (see contract/chain.ts): what is done with a block of rows, in
// order, what one step leaves for another, and how many rows a block has.
import { at, invariant } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { columnBounds, columnOf, nodesBelow, product, staticValue, touches, typicalValue } from '@tsinductor/codegen';
import type { ColumnBounds, IsFinite } from '@tsinductor/codegen';
import { add, ceilDivide, coefficientOf, equal, floorDivide, int, maximum, minimum, multiply } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopBand, LoopNode, LoopTree, NodeRef } from '@tsinductor/ir';
import type { Choices } from '../../machine/choices.ts';
import { nodeAt } from '../plan/planning.ts';
import type { Planning } from '../plan/planning.ts';
import { MOST_STACK } from './chain-rows.ts';
import { moderateValues } from './chain-values.ts';
import type { MapNode } from './epilogue.ts';
import { orient } from './oriented.ts';
import { planProduct } from './plan.ts';
import type { Contract } from './oriented.ts';

export interface ProductStep {
  readonly kind: 'product';
  readonly node: Contract;
  readonly maps: readonly MapNode[];
  /** Whether it sums over the rows: each block of them adds to its result. */
  readonly sums: boolean;
}

/** What is done with a block of rows. */
export type Step =
  | ProductStep
  /** Loops over one row. */
  | { readonly kind: 'rows'; readonly tree: LoopTree };

export interface Chain {
  readonly steps: readonly Step[];
  /** The loops over the batch, and over rows. */
  readonly batch: readonly Axis[];
  readonly m: Axis;
  /** Rows of a block: whole tiles, as many as a call's sizes allow where rows have a length that is a symbol. */
  readonly rows: Index;
  /** Whether a product sums over the rows: then the blocks of a point of the batch are done in order. */
  readonly sums: boolean;
  /** What a block leaves from one step for another, and how many elements a row of it takes. */
  readonly kept: ReadonlyMap<BufferId, Index>;
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
  const bytes = own.reduce<Index>((sum, [buffer, row]) => add(sum, multiply(row, int(memory.bytesOf(buffer)))), int(0));
  const byRows = steps.filter((step) => step.kind === 'product' && !step.sums);
  const tile = Math.max(
    ...productsOf({ steps: byRows }).map((node) => planProduct(planning, orient(planning, node)).rows),
  );
  const batch = bands.filter(({ name }) => name !== m.name);
  const sums = steps.some((step) => step.kind === 'product' && step.sums);
  const rows = rowsOfBlock(choices, { bytes, tile, m, batch, sums });
  return {
    steps,
    m,
    batch,
    rows,
    sums,
    kept,
    over,
    mask: maskOf(planning, steps),
  };
}

interface BlockOf extends Pick<Chain, 'm' | 'batch' | 'sums'> {
  /** Of a row. */
  readonly bytes: Index;
  /** Rows of a register tile. */
  readonly tile: number;
}

/** Whole tiles, whose rows fit into the second-level cache; and blocks enough for threads, whatever their number. */
function rowsOfBlock({ chainBytes, chainSumRows }: Choices, { bytes, tile, m, batch, sums }: BlockOf): Index {
  const isKnown = staticValue(bytes) !== undefined;
  const sized = (extent: Index): Index => (isKnown ? int(typicalValue(extent)) : extent);
  const tilesIn = (most: number): Index => floorDivide(int(Math.floor(most / tile)), maximum(bytes, int(1)));
  const least = minimum(int(Math.ceil(chainSumRows / tile)), tilesIn(MOST_STACK));
  const share = ceilDivide(product([...batch, m].map(({ extent }) => sized(extent))), int(LEAST_BLOCKS * tile));
  const fits = tilesIn(chainBytes);
  // Where a block ends, so may the columns that a mask leaves.
  const wanted = sums ? maximum(fits, least) : minimum(fits, share);
  return multiply(maximum(minimum(wanted, ceilDivide(sized(m.extent), int(tile))), int(1)), int(tile));
}

/** Rows that loops make take the place of those that came from a product, where each is read before it is lost. */
function writtenOver(
  planning: Planning,
  steps: readonly Step[],
  kept: ReadonlyMap<BufferId, Index>,
): ReadonlyMap<BufferId, BufferId> {
  const [middle, ...others] = steps.flatMap((step, position) => (step.kind === 'rows' ? [{ step, position }] : []));
  if (middle === undefined || others.length > 0) return new Map();
  const { memory, group } = planning;
  const stages = middle.step.tree.children.map((child) => nodesOf(group.nodes, child));
  const before = productsOf({ steps: steps.slice(0, middle.position) }).map(({ outs }) => at(outs, 0));
  const readLater = steps.slice(middle.position + 1).flatMap((step) => nodesOfStep(planning, step));
  const over = new Map<BufferId, BufferId>();
  for (const [after, row] of kept) {
    const isTaken = (own: BufferId): boolean => [...over.values()].includes(own);
    const isAlike = (own: BufferId): boolean =>
      equal(kept.get(own) ?? int(0), row) && memory.decl(own).dtype === memory.decl(after).dtype;
    const isLost = (own: BufferId): boolean =>
      readLater.some((node) => touches(node, own)) || losesBy(stages, { own, after });
    const place = before.find((own) => !isTaken(own) && isAlike(own) && !isLost(own));
    if (place !== undefined && !before.includes(after)) over.set(after, place);
  }
  return over;
}

/** Whether rows are read where others that take their place may have been written: each element is but read by who writes there. */
function losesBy(
  stages: readonly (readonly LoopNode[])[],
  { own, after }: { readonly own: BufferId; readonly after: BufferId },
): boolean {
  const first = stages.findIndex((nodes) => nodes.some(({ outs }) => outs.includes(after)));
  if (first === -1) return true;
  const [stage = [], ...later] = stages.slice(first);
  const place = stage.findIndex(({ outs }) => outs.includes(after));
  const writer = at(stage, place);
  const write = at(writer.writes, writer.outs.indexOf(after));
  const isElement = (node: LoopNode, position: number): boolean =>
    node.kind === 'map' &&
    position <= place &&
    node.body.nodes.every((scalar) => scalar.kind !== 'load' || scalar.buffer !== own || equal(scalar.at, write));
  return (
    stage.some((node, position) => touches(node, own) && !isElement(node, position)) ||
    later.some((nodes) => nodes.some((node) => touches(node, own)))
  );
}

/** What is left out of each row, where there is one run of loops between products. */
function maskOf(planning: Planning, steps: readonly Step[]): ColumnMask | undefined {
  const parts = partsOf(steps);
  if (parts === undefined) return undefined;
  const { firsts, middle, lasts } = parts;
  const { m, n } = at(firsts, 0).node;
  const nodes = nodesOfStep(planning, middle);
  const operands = lasts.flatMap(({ node, sums }) => rowsReadBy(node, nodes, sums) ?? []);
  const areAlike =
    firsts.every(({ node, maps }) => maps.length === 0 && equal(node.n.extent, n.extent)) &&
    operands.every(({ columns }) => equal(columns.extent, n.extent));
  if (!areAlike || operands.length < lasts.length) return undefined;
  const outer = new Set(planning.group.nest.loops.map(({ axis }) => axis.name));
  const weights = operands.map(({ buffer }) => buffer);
  const between = { nodes, rows: m, outer, columns: n.extent, weights };
  const products = firsts.map(({ node }) => at(node.outs, 0));
  const dtypeOf = (buffer: BufferId): DType => planning.memory.decl(buffer).dtype;
  const isBranched = isBranchedChain(steps);
  const isModerate: IsFinite = isBranched ? moderateValues({ ...between, products, dtypeOf }) : (): boolean => false;
  // A row that is undefined as a whole is so in excluded columns too, which a sum over rows would see.
  if (isBranched && !areDefined(nodes, weights, isModerate)) return undefined;
  const bounds = countable(columnBounds({ ...between, isFinite: isModerate }));
  const columns = new Set(nodes.flatMap((node) => columnOf(node, between)?.name ?? []));
  return bounds && { bounds, columns };
}

/** Bounds without a table of so many blocks as a call says: there is no place to keep the runs of those that count. */
function countable(bounds: ColumnBounds | undefined): ColumnBounds | undefined {
  if (bounds?.table === undefined || staticValue(bounds.table.columns.axis.extent) !== undefined) return bounds;
  const { ahead, behind } = bounds;
  return ahead === undefined && behind === undefined ? undefined : { ahead, behind, table: undefined };
}

/** Whether several products meet, or one sums over rows: then what a mask makes 0 is multiplied by what has to be finite. */
export function isBranchedChain(steps: readonly Step[]): boolean {
  const parts = partsOf(steps);
  return parts !== undefined && (parts.firsts.length > 1 || parts.lasts.some(({ sums }) => sums));
}

interface Parts {
  readonly firsts: readonly ProductStep[];
  readonly middle: Step & { readonly kind: 'rows' };
  readonly lasts: readonly ProductStep[];
}

/** Products, loops over rows, and products; undefined where steps come in another order. */
function partsOf(steps: readonly Step[]): Parts | undefined {
  const place = steps.findIndex(({ kind }) => kind === 'rows');
  const middle = steps[place];
  const [firsts, lasts] = [productSteps(steps.slice(0, place)), productSteps(steps.slice(place + 1))];
  const isWhole = firsts.length + lasts.length + 1 === steps.length && firsts.length > 0 && lasts.length > 0;
  return isWhole && middle?.kind === 'rows' ? { firsts, middle, lasts } : undefined;
}

const productSteps = (steps: readonly Step[]): readonly ProductStep[] =>
  steps.flatMap((step) => (step.kind === 'product' ? [step] : []));

/** Whether all rows that the last products read are defined. */
const areDefined = (nodes: readonly LoopNode[], weights: readonly BufferId[], isModerate: IsFinite): boolean =>
  weights.every((buffer) =>
    nodes.some(
      (node) =>
        node.kind === 'map' &&
        node.outs.includes(buffer) &&
        isModerate(node, node.body, at(node.body.results, node.outs.indexOf(buffer))),
    ),
  );

interface RowsRead {
  readonly buffer: BufferId;
  /** The product's axis along the rows. */
  readonly columns: Axis;
}

/** The rows that a product reads of what loops make. */
function rowsReadBy({ a, b, m, n, over }: Contract, nodes: readonly LoopNode[], sums: boolean): RowsRead | undefined {
  const operand = [a, b].find(({ buffer }) => nodes.some(({ outs }) => outs.includes(buffer)));
  if (operand === undefined) return undefined;
  return { buffer: operand.buffer, columns: !sums ? at(over, 0) : operand === a ? m : n };
}

/** The children of the nest: products with the maps at their elements, and what is between them. */
function stepsOf({ group }: Planning): readonly Step[] {
  const steps: Step[] = [];
  for (const child of group.nest.children) {
    const nodes = nodesOf(group.nodes, child);
    const [only] = nodes;
    const last = steps.at(-1);
    if (nodes.length === 1 && only?.kind === 'contract')
      steps.push({ kind: 'product', node: only, maps: [], sums: sumsOver(group.nest.loops, only) });
    else if (last?.kind === 'product' && nodes.every((node) => isAtElement(node, last.node)))
      steps[steps.length - 1] = { ...last, maps: [...last.maps, ...nodes.filter((node) => node.kind === 'map')] };
    else if (last?.kind === 'rows')
      steps[steps.length - 1] = { ...last, tree: { ...last.tree, children: [...last.tree.children, child] } };
    else steps.push({ kind: 'rows', tree: { kind: 'loops', loops: [], children: [child] } });
  }
  return steps;
}

/** Whether one of the loops that all share is one over which a product sums. */
const sumsOver = (bands: readonly LoopBand[], { over }: Contract): boolean =>
  bands.some(({ axis }) => over.some(({ name }) => name === axis.name));

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
function keptBetween(planning: Planning, steps: readonly Step[], m: Axis): ReadonlyMap<BufferId, Index> {
  const kept = new Map<BufferId, Index>();
  for (const step of steps) {
    const others = steps.filter((other) => other !== step).flatMap((other) => nodesOfStep(planning, other));
    for (const node of nodesOfStep(planning, step))
      node.outs.forEach((out, slot) => {
        if (!planning.memory.isVirtual(out) || !others.some((other) => touches(other, out))) return;
        const row = coefficientOf(at(node.writes, slot), m);
        invariant(
          row !== undefined && staticValue(row) !== 0,
          `group ${planning.group.name}: rows of a local are no known distance apart`,
        );
        kept.set(out, row);
      });
  }
  return kept;
}
