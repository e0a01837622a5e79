// Two products and the loops over rows between them (see scheduler/product-chains), a block of rows at a time: a thread computes some
// rows of the first product into scratch, runs over each of them, and multiplies them by the second operand of the other. What lies
// between the products stays in a cache. Second operands that tiles would have packed are packed once for all blocks, before.
import { at } from '@tsinductor/base';
import { bindAxis, emptyFrame, staticValue, typicalValue } from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { add, axisIndex, ceilDivide, floorDivide, int, minimum, modulo, multiply, substitute } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopTree } from '@tsinductor/ir';
import { nodesOf as nodesInTree } from '../plan/planning.ts';
import { pointWork } from '../plan/work.ts';
import { scalarLoop, wholeRange } from '../write/loops.ts';
import type { Nest } from '../write/nest.ts';
import { writeWithin } from '../write/region.ts';
import { throughRuns } from '../write/runs.ts';
import type { Runs } from '../write/runs.ts';
import { eachPart, round, targetOf, writeUnit } from './blocks.ts';
import { columnsFor, withinColumns } from './chain-columns.ts';
import type { BlockOfRows, Columns } from './chain-columns.ts';
import { checkFinite, operandsOf } from './chain-finite.ts';
import type { FiniteCheck } from './chain-finite.ts';
import { isBranchedChain, planChain } from './chain-plan.ts';
import type { Chain, ProductStep, Step } from './chain-plan.ts';
import { inRowSpace, keepRows } from './chain-rows.ts';
import type { RowPlaces } from './chain-rows.ts';
import { runsFor } from './chain-runs.ts';
import { addSum, clearSum, prepareSum } from './chain-sums.ts';
import type { PreparedSum } from './chain-sums.ts';
import { inThreads } from './in-threads.ts';
import type { AxisPart } from './in-threads.ts';
import { batchOfB, resultOf, wholePoint } from './operands.ts';
import type { PanelMemory, Product } from './operands.ts';
import { packB } from './pack.ts';
import { orient, volume } from './oriented.ts';
import { planProduct } from './plan.ts';
import type { Contract, Oriented } from './oriented.ts';
import type { ProductPlan } from './plan.ts';
import { coordinatesAt, nameBelow, pointsOf, positionIn } from './points.ts';

/** A product of a chain, with the panels of its second operand where these are packed before. */
interface Prepared {
  readonly oriented: Oriented;
  readonly plan: ProductPlan;
  readonly panels: Panels | undefined;
  /** Where sums go; undefined: to the rows of the block. */
  readonly target: Product['target'] | undefined;
}

/** Panels of all points of a product's batch of which its second operand depends. */
interface Panels {
  readonly buffer: string;
  readonly batch: readonly Axis[];
  /** Elements of a point of the batch, and points of k of a panel. */
  readonly size: Index;
  readonly depth: Index;
}

export function writeChain(nest: Nest): void {
  const alone: Nest = { ...nest, target: { ...nest.target, threads: 1 } };
  const chain = planChain(alone);
  const steps = chain.steps.flatMap((step) => (step.kind === 'product' ? [step] : []));
  const products = new Map(
    steps.flatMap((step) => (step.sums ? [] : [[step.node, prepare(nest, { alone, chain, step })]])),
  );
  const sums = new Map(steps.flatMap(({ node, sums: adds }) => (adds ? [[node, prepareSum(nest, node, chain)]] : [])));
  const finite = checksOf(nest, chain, [...products.values()]);
  const inRuns = finite !== undefined && chain.mask?.bounds.table !== undefined;
  const left = inRuns ? '; columns of blocks that a table leaves out are not computed' : '';
  const rows = staticValue(chain.rows);
  const blocks =
    rows === undefined ? 'blocks of as many rows as a cache has room for' : `blocks of ${String(rows)} rows`;
  nest.notes.push(`${blocks}, from one product to the other${left}`);
  writeUnits(nest, alone, { chain, products, sums, finite });
  for (const { oriented, target } of sums.values()) round(nest, oriented, target);
  roundAll(nest, products, chain);
}

/** Whether operands that are multiplied by what a mask makes 0 are finite; undefined where no columns are left out. */
function checksOf(nest: Nest, chain: Chain, products: readonly Prepared[]): readonly FiniteCheck[] | undefined {
  const [first] = products;
  const last = products.at(-1);
  if (chain.mask === undefined || first === undefined || last === undefined) return undefined;
  if (!isBranchedChain(chain.steps)) return [checkFinite(nest, last.oriented, 'finite')];
  const widths = products
    .filter(({ oriented }) => chain.kept.has(at(oriented.node.outs, 0)))
    .map(({ plan }) => plan.vectors * plan.lanes);
  const all = chain.steps.flatMap((step) => (step.kind === 'product' ? [orient(nest, step.node)] : []));
  const operands = new Set(widths).size === 1 ? operandsOf(all, (buffer) => chain.kept.has(buffer)) : undefined;
  return operands?.map((operand) => checkFinite(nest, operand, 'moderate'));
}

/** What threads share: blocks of rows, or points of the batch where each block adds to what the one before it left. */
function writeUnits(nest: Nest, alone: Nest, written: Written): void {
  const { chain, sums } = written;
  const count = ceilDivide(chain.m.extent, chain.rows);
  const points = pointsOf(chain.batch);
  const total = chain.sums ? points : multiply(points, count);
  const perBlock = cyclesPerBlock(alone, chain);
  const cycles = chain.sums ? perBlock * typicalValue(count) : perBlock;
  inRowSpace(nest, { chain, total, cycles }, ({ from, to }, places) => {
    const rows = inVariable(alone, 'block_rows', chain.rows);
    const blocks = inVariable(alone, 'blocks', count);
    scalarLoop(alone, { axis: { name: 'unit', extent: total }, from, to }, (unit) => {
      if (!chain.sums) {
        const point = coordinatesAt(alone, chain.batch, floorDivide(unit, blocks));
        writeBlockOfRows(alone, written, { point, block: modulo(unit, blocks), rows, places });
        return;
      }
      const point = coordinatesAt(alone, chain.batch, unit);
      for (const sum of sums.values()) clearSum(alone, sum, point);
      scalarLoop(alone, wholeRange({ name: 'block', extent: blocks }), (block) => {
        writeBlockOfRows(alone, written, { point, block, rows, places });
      });
    });
  });
}

/** A number that is known, or the variable that it is put in. */
const inVariable = (nest: Nest, name: string, value: Index): Index =>
  staticValue(value) === undefined ? nameBelow(nest, { name, extent: add(value, int(1)) }, value) : value;

/** Packs what tiles are to read in panels, for all blocks of rows. */
function prepare(nest: Nest, { alone, chain, step: { node, maps } }: Preparing): Prepared {
  const oriented = orient(nest, node);
  const planned = planProduct(alone, oriented);
  const isDeep = (staticValue(oriented.k.extent) ?? Infinity) >= nest.choices.chainPanelDepth;
  const plan = isDeep && oriented.b.element === undefined ? { ...planned, packB: true } : planned;
  const target = chain.kept.has(at(node.outs, 0)) ? undefined : targetOf(nest, oriented, { plan, maps });
  return { oriented, plan, target, panels: plan.packB ? packAll(nest, oriented, plan) : undefined };
}

interface Preparing {
  readonly alone: Nest;
  readonly chain: Chain;
  readonly step: ProductStep;
}

/** Rounds sums to results, where they were kept apart. */
function roundAll(nest: Nest, products: ReadonlyMap<Contract, Prepared>, { steps }: Chain): void {
  for (const step of steps) {
    const prepared = step.kind === 'product' && step.maps.length === 0 ? products.get(step.node) : undefined;
    if (prepared?.target !== undefined) round(nest, prepared.oriented, prepared.target);
  }
}

function packAll(nest: Nest, oriented: Oriented, given: ProductPlan): Panels {
  const { node, n, k } = oriented;
  const depth = multiply(ceilDivide(k.extent, int(8)), int(8));
  const all = staticValue(depth);
  const plan = all === undefined ? given : { ...given, depth: all };
  const width = plan.vectors * plan.lanes;
  const batch = batchOfB(oriented);
  const panels = ceilDivide(n.extent, int(width));
  const size = multiply(panels, multiply(int(width), depth));
  const { name: buffer } = nest.memory.workspace('panels', node.accumulate, multiply(pointsOf(batch), size));
  const total = multiply(pointsOf(batch), panels);
  const write = ({ from, to }: AxisPart): void => {
    scalarLoop(nest, { axis: { name: 'panel', extent: total }, from, to }, (unit) => {
      const point = coordinatesAt(nest, batch, floorDivide(unit, panels));
      const column = nameBelow(nest, { name: 'column', extent: n.extent }, multiply(modulo(unit, panels), int(width)));
      const product = {
        oriented,
        plan,
        batch: wholePoint(oriented, point),
        target: { name: '', dtype: node.accumulate },
      };
      const end = staticValue(n.extent);
      const isEven = end !== undefined && end % width === 0;
      const columns = {
        from: column,
        to: isEven ? add(column, int(width)) : minimum(add(column, int(width)), n.extent),
      };
      eachPart(nest, { name: 'depth_start', most: 'depth', extent: k.extent, step: plan.depth }, (from, points) => {
        packB(nest, { product, from, depth: points, buffer, columns, first: add(multiply(unit, depth), from) });
      });
    });
  };
  inThreads(nest, { total, cycles: width * typicalValue(depth) }, write);
  return { buffer, batch, size, depth };
}

/** About what a block of rows takes. */
function cyclesPerBlock(nest: Nest, { steps, m, rows }: Chain): number {
  const perRow = steps.reduce((sum, step) => sum + cyclesPerRow(nest, step, typicalValue(m.extent)), 0);
  return Math.max(1, perRow * typicalValue(rows));
}

function cyclesPerRow(nest: Nest, step: Step, height: number): number {
  if (step.kind === 'product') {
    const oriented = orient(nest, step.node);
    return volume(oriented) / height / planProduct(nest, oriented).lanes / 1.8;
  }
  return loopsOf(step.tree).reduce((sum, tree) => {
    const points = tree.loops.reduce((count, { axis }) => count * typicalValue(axis.extent), 1);
    return sum + (points * pointWork(nodesInTree(nest, tree)).operations) / 4;
  }, 0);
}

const loopsOf = (tree: LoopTree): readonly LoopTree[] => tree.children.filter((child) => child.kind === 'loops');

interface Written {
  readonly chain: Chain;
  readonly products: ReadonlyMap<Contract, Prepared>;
  /** Those that sum over the rows. */
  readonly sums: ReadonlyMap<Contract, PreparedSum>;
  /** Of operands that are multiplied by 0, where columns may be left out. */
  readonly finite: readonly FiniteCheck[] | undefined;
}

/** A block of rows at a point of the batch. */
interface Unit {
  readonly point: ReadonlyMap<string, Index>;
  readonly block: Index;
  /** How many rows a block has. */
  readonly rows: Index;
  readonly places: RowPlaces;
}

function writeBlockOfRows(nest: Nest, { chain, products, sums, finite }: Written, unit: Unit): void {
  const { m } = chain;
  const { point, block, rows, places } = unit;
  // Not called as the axis is: places of rows are both.
  const from = nameBelow(nest, { name: `${m.name}_start`, extent: m.extent }, multiply(block, rows));
  const [height, most] = [staticValue(m.extent), staticValue(rows)];
  const isEven = height !== undefined && most !== undefined && height % most === 0;
  const to = isEven ? add(from, rows) : minimum(add(from, rows), m.extent);
  const range = {
    from,
    to: isEven ? to : nameBelow(nest, { name: `${m.name}_end`, extent: add(m.extent, int(1)) }, to),
  };
  keepRows(nest, chain, { places, from });
  const frame = [...point].reduce((open: Frame, [name, value]) => bindAxis(open, name, value), emptyFrame);
  const masked = { chain, first: at([...products.values()], 0), finite };
  const columns = columnsFor(nest, masked, { point, range });
  const runs = runsFor(nest, masked, { point, range });
  for (const step of chain.steps) {
    if (step.kind === 'rows') {
      const { masked: within, tree } = withinColumns(nest, chain, { tree: step.tree, columns });
      const inRuns = runs && new Map([...(chain.mask?.columns ?? [])].map((name) => [name, runs]));
      scalarLoop(nest, { axis: m, ...range }, (row) => {
        writeWithin(inRuns ? { ...within, runs: inRuns } : within, tree, bindAxis(frame, m.name, row));
      });
      continue;
    }
    const sum = sums.get(step.node);
    if (sum !== undefined)
      inColumns(nest, { runs, columns, axis: masked.first.oriented.n }, (part) => {
        addSum(nest, { chain, sum }, { point, range, columns: part });
      });
    const prepared = products.get(step.node);
    if (prepared !== undefined)
      writeProduct(nest, { chain, maps: step.maps, prepared }, { point, range, columns, runs });
  }
}

interface Counting {
  readonly runs: Runs | undefined;
  readonly columns: AxisPart | undefined;
  readonly axis: Axis;
}

/** What is done with the columns that count: with each run of them, or with all at once. */
function inColumns(nest: Nest, { runs, columns, axis }: Counting, write: (part: AxisPart | undefined) => void): void {
  if (runs === undefined) write(columns);
  else throughRuns(nest, { runs, axis }, write);
}

interface Multiplying {
  readonly chain: Chain;
  readonly maps: ProductStep['maps'];
  readonly prepared: Prepared;
}

interface Block extends BlockOfRows {
  /** Those that count, where not all do. */
  readonly columns: Columns | undefined;
  /** The same as runs. */
  readonly runs: Runs | undefined;
}

function writeProduct(
  nest: Nest,
  { chain, maps, prepared }: Multiplying,
  { point, range, columns, runs }: Block,
): void {
  const { oriented, plan, panels } = prepared;
  const { node, n } = oriented;
  const isKept = (buffer: number): boolean => chain.kept.has(buffer);
  const out = at(node.outs, 0);
  const batch = wholePoint(oriented, point);
  const here = withinBlock(nest, oriented, { chain, maps });
  const target = prepared.target ?? resultOf(nest, node);
  const inMemory = panels === undefined ? undefined : memoryOf(panels, batch);
  // The first product makes the columns that the second sums over.
  const whole = { from: int(0), to: n.extent };
  const parts = { rows: range, maps, ...(inMemory && { panels: inMemory }) };
  const product = { oriented: here, plan, batch, target };
  if (isKept(out)) {
    inColumns(nest, { runs, columns, axis: n }, (part = whole) => {
      writeUnit(nest, product, { ...parts, columns: part });
    });
    return;
  }
  if (columns === undefined) {
    writeUnit(nest, { ...product, ...(runs && { runs }) }, { ...parts, columns: whole });
    return;
  }
  const { from, count } = columns;
  const first = inMemory && { ...inMemory, base: add(inMemory.base, multiply(from, int(plan.vectors * plan.lanes))) };
  const moved = { ...product, oriented: summedFrom(here, from), points: count };
  writeUnit(nest, moved, { ...parts, columns: whole, ...(first && { panels: first }) });
}

/**
 * A product with its places in rows of the block counted from the first of these. One that others follow in its tiles is stored as they are,
 * by who knows where its row lies in the block.
 */
function withinBlock(
  { memory }: Nest,
  oriented: Oriented,
  { chain, maps }: Pick<Multiplying, 'chain' | 'maps'>,
): Oriented {
  const { a, node } = oriented;
  const first = new Map(chain.batch.map(({ name }) => [name, int(0)]));
  const inRows = (buffer: BufferId, index: Index): Index =>
    add(substitute(index, first), memory.row(buffer)?.base ?? int(0));
  const isStoredHere = chain.kept.has(at(node.outs, 0)) && maps.length === 0;
  const writes = node.writes.map((index, slot) => inRows(at(node.outs, slot), index));
  return {
    ...oriented,
    a: chain.kept.has(a.buffer) ? { ...a, at: inRows(a.buffer, a.at) } : a,
    node: { ...node, writes: isStoredHere ? writes : node.writes },
  };
}

/** A product whose sums begin at some point of k. */
function summedFrom(oriented: Oriented, from: Index): Oriented {
  const { a, b, k } = oriented;
  const moved = new Map([[k.name, add(axisIndex(k), from)]]);
  return { ...oriented, a: { ...a, at: substitute(a.at, moved) }, b: { ...b, at: substitute(b.at, moved) } };
}

/** The panels of one point of the batch. */
function memoryOf({ buffer, batch, size, depth }: Panels, point: ReadonlyMap<string, Index>): PanelMemory {
  return { buffer, base: multiply(positionIn(batch, point), size), depth };
}
