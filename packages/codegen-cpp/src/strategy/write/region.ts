// A tree of loops as one region of a kernel: its outer parallel loops are distributed over threads, then the tree is
// walked, and the innermost loops are written as vectors. In: the plan of the region and its memory traffic. Out: statements.
import { dtypeInfo, get, invariant } from '@tsinductor/base';
import {
  bindAxis,
  emptyFrame,
  isLeaf,
  isMultipleOf,
  named,
  nodesBelow,
  parallelBands,
  product,
  staticValue,
  touches,
  typicalValue,
} from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { add, axisIndex, floorDivide, int, minimum, modulo, multiply } from '@tsinductor/ir';
import type { Axis, Index, LocalBuffer, LoopNode, LoopTree } from '@tsinductor/ir';
import { grainOf } from '../plan/chunks.ts';
import { nodeAt } from '../plan/planning.ts';
import { isReduced, layoutNotes, planRegion } from '../plan/region.ts';
import type { PartPlan, RegionPlan, TreePlan } from '../plan/region.ts';
import type { UnitAxis } from '../plan/unit-axes.ts';
import { narrowedNote } from '../traffic/folds.ts';
import { inPart } from '../traffic/prefetch.ts';
import type { PlannedPrefetch } from '../traffic/prefetch.ts';
import { planTraffic } from '../traffic/rules.ts';
import type { RegionTraffic } from '../traffic/traffic.ts';
import { writeColumns } from './columns.ts';
import { scalarLoop, vectorFrame, vectorLoop, wholeRange } from './loops.ts';
import type { Range } from './loops.ts';
import type { Nest } from './nest.ts';
import { writeBursts } from './prefetch.ts';
import { writeSite } from './reduce.ts';
import { writeMap } from './results.ts';
import { eachRun } from './runs.ts';
import { writeTiled } from './tiled-region.ts';
import type { Inside } from './tiled-region.ts';

/** A region with its memory traffic: all that its writers read. */
export interface PlannedRegion extends RegionPlan {
  readonly traffic: RegionTraffic;
}

/** Writes `tree` as a region of its own: a parallel loop, or plain loops where that does not pay. */
export function writeRegion(kernel: Nest, tree: LoopTree): void {
  const region = withTraffic(kernel, planRegion(kernel, tree));
  const nest = { ...kernel, results: region.traffic.results };
  if (region.units === undefined) writeSerial(nest, region, { plan: region, frame: emptyFrame });
  else writeParallel(nest, region, region.units);
}

/** Writes `tree`, which has no loops that threads would share, at a point of loops that are open. */
export function writeWithin(kernel: Nest, tree: LoopTree, frame: Frame): void {
  const region = withTraffic(kernel, planRegion(kernel, tree));
  writeSerial({ ...kernel, results: region.traffic.results }, region, { plan: region, frame });
}

/** A region with its memory traffic; notes how it is laid out, and what was decided. */
export function withTraffic(nest: Nest, plan: RegionPlan): PlannedRegion {
  const traffic = planTraffic(nest, plan);
  nest.notes.push(...layoutNotes(plan));
  noteFolds(nest, plan, traffic);
  nest.decisions.push(...traffic.decisions);
  return { ...plan, traffic };
}

/** Notes, once for a kernel, which folds have narrowed lanes. */
function noteFolds({ notes }: Nest, region: RegionPlan, { folds }: RegionTraffic): void {
  for (const { tree, shared } of [region, ...region.below.values()]) {
    const fold = folds.get(tree);
    if (fold === undefined || fold.lanes === shared.lanes) continue;
    const note = narrowedNote(fold.axis, fold.lanes);
    if (!notes.includes(note)) notes.push(note);
  }
}

interface Serial {
  /** The region's own loops, or those of a tree below. */
  readonly plan: TreePlan;
  readonly frame: Frame;
}

/** The loops of a tree but the one over the lanes (and that of tiles) as plain loops, then what is inside. */
function writeSerial(nest: Nest, region: PlannedRegion, { plan, frame }: Serial): void {
  const outer = parallelBands(plan.tree).filter((band) => !isInner(region, plan, band.axis));
  const open = (depth: number, inner: Frame): void => {
    const band = outer[depth];
    if (band === undefined) {
      writeInside(nest, region, { plan, frame: inner, ranges: new Map() });
      return;
    }
    eachRun(nest, wholeRange(band.axis), (range) => {
      scalarLoop(nest, range, (value) => {
        open(depth + 1, bindAxis(inner, band.axis.name, value));
      });
    });
  };
  open(0, frame);
}

/** Whether the loop over an axis is written by `writeInside`. */
const isInner = ({ tree, tiles }: PlannedRegion, plan: TreePlan, axis: Axis): boolean =>
  axis.name === plan.shared.axis?.name || (plan.tree === tree && axis.name === tiles?.across.name);

function writeParallel(nest: Nest, plan: PlannedRegion, units: readonly UnitAxis[]): void {
  const { writer, memory } = nest;
  const total = product(units.map(({ count }) => count));
  const [begin, end] = [writer.fresh('begin'), writer.fresh('end')];
  const body = writer.sealedBlock([begin, end], () => {
    memory.scoped(() => {
      writeUnits(nest, plan, { units, begin: named(begin, total), end: named(end, add(total, int(1))) });
    });
  });
  writer.emit({ kind: 'parallel', begin, end, total, grain: grainOf(nest, total, cyclesPerUnit(plan)), body });
}

/** What a unit takes. */
function cyclesPerUnit({ tree, shared, tiles, tileBlock, block, cycles }: RegionPlan): number {
  const hasLanesOutside = block === undefined && parallelBands(tree).some((band) => band.axis === shared.axis);
  const rows = tiles === undefined || isReduced(tree, tiles.across) ? 1 : tileBlock;
  return rows * cycles * (block ?? (hasLanesOutside ? typicalValue(shared.axis?.extent ?? int(1)) : 1));
}

interface Units {
  readonly units: readonly UnitAxis[];
  readonly begin: Index;
  readonly end: Index;
}

function writeUnits(nest: Nest, plan: PlannedRegion, { units, begin, end }: Units): void {
  const only = units.length === 1 ? units[0] : undefined;
  if (only?.block !== undefined) {
    const ranges = new Map([[only.axis.name, blockRange(nest, only, { begin, end })]]);
    writeInside(nest, plan, { plan, frame: emptyFrame, ranges });
    return;
  }
  const axis = only?.axis ?? { name: 'unit', extent: product(units.map(({ count }) => count)) };
  scalarLoop(nest, { axis, from: begin, to: end }, (unit) => {
    let frame = emptyFrame;
    const ranges = new Map<string, Range>();
    let below = unit;
    for (const unitAxis of units.toReversed()) {
      const last = unitAxis === units[0];
      const here = last ? below : modulo(below, unitAxis.count);
      below = floorDivide(below, unitAxis.count);
      const value = only === undefined ? nameIndex(nest, unitAxis, here) : here;
      if (unitAxis.block === undefined) frame = bindAxis(frame, unitAxis.axis.name, pointOf(unitAxis, value, frame));
      else ranges.set(unitAxis.axis.name, blockRange(nest, unitAxis, { begin: value, end: add(value, int(1)) }));
    }
    writeInside(nest, plan, { plan, frame, ranges });
  });
}

/** The point of an axis that a factor of the unit stands for, beside one that has the points between its steps. */
const pointOf = ({ axis, step = 1 }: UnitAxis, value: Index, { axes }: Frame): Index =>
  add(multiply(value, int(step)), (step === 1 ? undefined : axes.get(axis.name)) ?? int(0));

/** A name for a part of the unit's number. */
function nameIndex(nest: Nest, { axis, block, count, step }: UnitAxis, value: Index): Index {
  const base = block === undefined ? `${axis.name}${step === undefined ? '' : '_run'}` : `${axis.name}_block`;
  const value64 = nest.writer.define(
    { kind: 'index', value, type: { dtype: 'i64', lanes: 1 } },
    base,
    nest.writer.depth,
  );
  return value64.kind === 'name' ? axisIndex({ name: value64.name, extent: count }) : value;
}

/** The elements of units [begin, end), their ends named where they are more than a number. */
function blockRange(nest: Nest, { axis, block = 1 }: UnitAxis, { begin, end }: { begin: Index; end: Index }): Range {
  const named = (base: string, value: Index): Index => {
    if (value.kind === 'int') return value;
    const type = { dtype: 'i64' as const, lanes: 1 };
    const defined = nest.writer.define({ kind: 'index', value, type }, base, nest.writer.depth);
    if (defined.kind !== 'name') return value;
    nest.memory.multiples.set(defined.name, isMultipleOf(value, block) ? block : 1);
    return { kind: 'axis', axis: { name: defined.name, extent: add(axis.extent, int(1)) } };
  };
  const to = multiply(end, int(block));
  const even = isMultipleOf(axis.extent, block);
  return {
    axis,
    from: named('from', multiply(begin, int(block))),
    to: named('to', even ? to : minimum(to, axis.extent)),
  };
}

interface InTree extends Inside {
  readonly plan: TreePlan;
}

/** What is inside the outer loops of a tree: the loop over the lanes, if there is one, then the tree. */
function writeInside(nest: Nest, region: PlannedRegion, inside: InTree): void {
  const { plan, frame, ranges } = inside;
  const { axis } = plan.shared;
  const { tiles, columns, traffic, nodes } = region;
  const isParallel = parallelBands(plan.tree).some((band) => band.axis.name === axis?.name);
  if (axis === undefined || !isParallel) {
    writeBelow(nest, region, { plan, frames: [frame] });
    return;
  }
  const isRegion = plan.tree === region.tree;
  const range = ranges.get(axis.name) ?? wholeRange(axis);
  if (isRegion && tiles !== undefined) writeTiled(nest, { ...region, tiles }, inside);
  else if (isRegion && columns !== undefined) {
    const prefetches = traffic.prefetches.get(plan.tree) ?? [];
    writeColumns(nest, { plan: columns, nodes, range, prefetches, nextRows: traffic.nextRows }, frame);
  } else for (const part of plan.parts) writePart(nest, region, { plan, part, frame, range });
}

interface InPart {
  readonly plan: TreePlan;
  readonly part: PartPlan;
  readonly frame: Frame;
  /** What of the whole axis a unit has. */
  readonly range: Range;
}

/** The vectors of a part of the lanes' axis. */
function writePart(nest: Nest, region: PlannedRegion, { plan, part, frame, range }: InPart): void {
  const { prefetches: besides = [], bursts = [] } = region.traffic.parts.get(part) ?? {};
  const own = inPart(region.traffic.prefetches.get(plan.tree) ?? [], part);
  writeBursts(nest, bursts, frame);
  const points = plan.isWhole ? wholeRange(part.axis) : range;
  eachRun(nest, points, (run) => {
    vectorLoop(nest, { ...run, lanes: plan.shared.lanes, ...part.interleave }, (vectors) => {
      const frames = vectors.map((vector) => vectorFrame(frame, part.axis.name, vector));
      writeBelow(nest, region, { plan, vectors: { nodes: part.nodes, prefetches: [...own, ...besides] }, frames });
    });
  });
}

interface Below {
  readonly plan: TreePlan;
  /** What of an innermost tree each vector computes and prefetches; all of it, if absent. */
  readonly vectors?: { readonly nodes: readonly LoopNode[]; readonly prefetches: readonly PlannedPrefetch[] };
  /** Points of the loops around it: several (columns side by side) only where the tree is innermost. */
  readonly frames: readonly Frame[];
}

/** A tree whose parallel loops are open. */
function writeBelow(nest: Nest, region: PlannedRegion, { plan, vectors, frames }: Below): void {
  const { tree, nodes } = plan;
  const over = tree.loops.filter((band) => band.role === 'reduction');
  if (isLeaf(tree)) {
    const { prefetches, folds } = region.traffic;
    const work = vectors ?? { nodes, prefetches: prefetches.get(tree) ?? [] };
    writeSite(nest, { ...work, over, fold: folds.get(tree) }, frames);
    return;
  }
  invariant(over.length === 0, `group ${nest.group.name}: a reduction loop has loops of its own below it`);
  for (const frame of frames) writeChildren(nest, region, { tree, frame });
}

function writeChildren(nest: Nest, region: PlannedRegion, { tree, frame }: { tree: LoopTree; frame: Frame }): void {
  for (const local of nest.group.locals)
    if (local.kind === 'row' && belongsTo(nest, tree, local)) declareRow(nest, local, frame);
  for (const child of tree.children) {
    noteOrigins(nest, child.kind === 'loops' ? nodesBelow(child) : [child.node]);
    if (child.kind === 'loops') {
      writeSerial(nest, region, { plan: get(region.below, child), frame });
      continue;
    }
    const node = nodeAt(nest, child.node);
    if (node.kind === 'map') writeMap(nest, node, frame);
    else writeSite(nest, { nodes: [node], over: [], prefetches: [] }, [frame]);
  }
}

/** Says above a stage what it computes, and for which operators. */
function noteOrigins(nest: Nest, nodes: readonly number[]): void {
  const names = nodes.flatMap((index) => nodeAt(nest, index).outs.map((out) => nest.memory.decl(out).name));
  const origins = nodes.flatMap((index) => nodeAt(nest, index).origins.map(({ op }) => ({ op })));
  if (origins.length === 0) return;
  nest.writer.emit({ kind: 'comment', text: `${names.join(', ')}: `, origins });
}

/** Whether all users of a local are below `tree`, and not all below one of its children. */
export function belongsTo(nest: Nest, tree: LoopTree, local: LocalBuffer): boolean {
  if (nest.memory.row(local.buffer) !== undefined) return false;
  const users = nest.group.nodes.flatMap((node, index) => (touches(node, local.buffer) ? [index] : []));
  const has = (candidate: LoopTree): boolean => {
    const below = new Set(nodesBelow(candidate));
    return users.every((index) => below.has(index));
  };
  return has(tree) && !tree.children.some((child) => child.kind === 'loops' && has(child));
}

function declareRow(nest: Nest, local: LocalBuffer, frame: Frame): void {
  const { memory, writer, choices } = nest;
  const { dtype, name } = memory.decl(local.buffer);
  const lanes = frame.lane?.lanes ?? 1;
  const elements = staticValue(local.size);
  const outside = new Set(frame.axes.keys());
  const bytes = dtypeInfo[dtype].bytes * lanes;
  invariant(
    elements !== undefined && elements * bytes <= choices.stackScratchBytes,
    `group ${nest.group.name}: a row of ${name} does not fit into ${String(choices.stackScratchBytes)} bytes of scratch`,
  );
  const row = writer.fresh(`${name}_row`);
  writer.emit({ kind: 'scratch', name: row, dtype, size: elements * lanes });
  memory.setRow(local.buffer, { name: row, lanes, outside, base: int(0) });
}
