// A tree of loops as one region of a kernel: its outer parallel loops are distributed over threads, then the tree is
// walked, and the innermost loops are vectorised along the axis that the accesses favour.
import { dtypeInfo, invariant } from '@tsinductor/base';
import {
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
import { add, axisIndex, equal, floorDivide, int, minimum, modulo, multiply } from '@tsinductor/ir';
import type { Axis, Index, LocalBuffer, LoopBand, LoopTree } from '@tsinductor/ir';
import { chunkCycles, stackScratchBytes } from '../target.ts';
import { askedResults } from './asked-results.ts';
import { writeColumns } from './columns.ts';
import { chooseLanes } from './lane-choice.ts';
import { partsOf } from './lane-parts.ts';
import type { LanePart } from './lane-parts.ts';
import type { LaneChoice } from './lane-choice.ts';
import { bindAxis, emptyFrame, nodeAt, scalarLoop, vectorFrame, vectorLoop, wholeRange, writeMap } from './nest.ts';
import type { Frame, Nest, Range } from './nest.ts';
import { writeSite } from './reduce.ts';
import { planAhead } from './row-ahead.ts';
import { rowsBeside, writeBursts } from './rows-beside.ts';
import { besideOf } from './side-by-side.ts';
import { grainOf, isReduced, nodesOf, noteLayout, planRegion, runningOrder } from './region-plan.ts';
import type { RegionPlan } from './region-plan.ts';
import { writeTiled } from './tiled-region.ts';
import { blocksOf, inRuns, runsOf } from './unit-axes.ts';
import type { UnitAxis } from './unit-axes.ts';
import type { Inside } from './tiled-region.ts';

/** Writes `tree` as a region of its own: a parallel loop, or plain loops where that does not pay. */
export function writeRegion(kernel: Nest, tree: LoopTree): void {
  const plan = planRegion(kernel, tree);
  const bands = parallelBands(tree);
  const nest = layOut(kernel, plan);
  const total = bands.reduce((left, band) => left * typicalValue(band.axis.extent), 1) * plan.cycles;
  const known = bands.every((band) => staticValue(band.axis.extent) !== undefined);
  const worthwhile = nest.target.threads > 1 && bands.length > 0 && (!known || total >= 2 * chunkCycles(nest.target));
  if (worthwhile) writeParallel(nest, plan);
  else writeSerial(nest, plan, { bands, frame: emptyFrame });
}

/** Notes how a region is laid out. Out: the kernel with what this region's loops ask for ahead, which no other region sees. */
export function layOut(kernel: Nest, plan: RegionPlan): Nest {
  noteLayout(kernel, plan);
  return { ...kernel, ahead: planAhead(kernel, plan), asked: askedResults(kernel, plan) };
}

interface Serial {
  readonly bands: readonly LoopBand[];
  readonly frame: Frame;
}

/** The bands but the shared axis (and that of tiles) as plain loops, then what is inside. */
function writeSerial(nest: Nest, plan: RegionPlan, { bands, frame }: Serial): void {
  const outer = bands.filter((band) => !isInner(plan, band.axis));
  const open = (depth: number, inner: Frame): void => {
    const band = outer[depth];
    if (band === undefined) {
      writeInside(nest, plan, { frame: inner, ranges: new Map() });
      return;
    }
    scalarLoop(nest, wholeRange(band.axis), (value) => {
      open(depth + 1, bindAxis(inner, band.axis.name, value));
    });
  };
  open(0, frame);
}

/** Whether the loop over an axis is written by `writeInside`. */
const isInner = ({ shared, tiles }: RegionPlan, axis: Axis): boolean =>
  axis.name === shared.axis?.name || axis.name === tiles?.across.name;

function writeParallel(nest: Nest, plan: RegionPlan): void {
  const { writer, memory } = nest;
  const loops = runningOrder(nest, plan).flatMap(({ axis }): UnitAxis[] => {
    if (axis.name === plan.tiles?.across.name) return [blocksOf(axis, plan.tileBlock)];
    if (axis.name !== plan.shared.axis?.name) return [{ axis, count: axis.extent, block: undefined }];
    return plan.block === undefined ? [] : [blocksOf(axis, plan.block)];
  });
  const runs = runsOf(nest, plan);
  if (runs !== undefined) nest.notes.push(`${String(runs.rows)} rows along ${runs.down.name} at a time`);
  const unitAxes = inRuns(loops, runs);
  const total = product(unitAxes.map(({ count }) => count));
  if (staticValue(total) === 1) {
    writeSerial(nest, plan, { bands: parallelBands(plan.tree), frame: emptyFrame });
    return;
  }
  const [begin, end] = [writer.fresh('begin'), writer.fresh('end')];
  const lanesOutside =
    plan.block === undefined && parallelBands(plan.tree).some((band) => band.axis === plan.shared.axis);
  const tiled = plan.tiles === undefined || isReduced(plan.tree, plan.tiles.across) ? 1 : plan.tileBlock;
  const perUnit =
    tiled * plan.cycles * (plan.block ?? (lanesOutside ? typicalValue(plan.shared.axis?.extent ?? int(1)) : 1));
  const body = writer.sealedBlock([begin, end], () => {
    memory.scoped(() => {
      writeUnits(nest, plan, { unitAxes, begin: named(begin, total), end: named(end, add(total, int(1))) });
    });
  });
  writer.emit({ kind: 'parallel', begin, end, total, grain: grainOf(nest, total, perUnit), body });
}

interface Units {
  readonly unitAxes: readonly UnitAxis[];
  readonly begin: Index;
  readonly end: Index;
}

function writeUnits(nest: Nest, plan: RegionPlan, { unitAxes, begin, end }: Units): void {
  const only = unitAxes.length === 1 ? unitAxes[0] : undefined;
  if (only?.block !== undefined) {
    const ranges = new Map([[only.axis.name, blockRange(nest, only, { begin, end })]]);
    writeInside(nest, plan, { frame: emptyFrame, ranges });
    return;
  }
  const axis = only?.axis ?? { name: 'unit', extent: product(unitAxes.map(({ count }) => count)) };
  scalarLoop(nest, { axis, from: begin, to: end }, (unit) => {
    let frame = emptyFrame;
    const ranges = new Map<string, Range>();
    let below = unit;
    for (const unitAxis of unitAxes.toReversed()) {
      const last = unitAxis === unitAxes[0];
      const here = last ? below : modulo(below, unitAxis.count);
      below = floorDivide(below, unitAxis.count);
      const value = only === undefined ? nameIndex(nest, unitAxis, here) : here;
      if (unitAxis.block === undefined) frame = bindAxis(frame, unitAxis.axis.name, pointOf(unitAxis, value, frame));
      else ranges.set(unitAxis.axis.name, blockRange(nest, unitAxis, { begin: value, end: add(value, int(1)) }));
    }
    writeInside(nest, plan, { frame, ranges });
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

/** What is inside the outer loops of a region: the loop over the shared lanes, if there is one, then the tree. */
function writeInside(nest: Nest, plan: RegionPlan, inside: Inside): void {
  const { frame, ranges } = inside;
  const { tree, shared, tiles } = plan;
  const { axis } = shared;
  const isParallel = parallelBands(tree).some((band) => band.axis.name === axis?.name);
  if (axis === undefined || !isParallel) {
    writeBelow(nest, { tree, lanes: shared }, [frame]);
    return;
  }
  if (tiles !== undefined) {
    writeTiled(nest, { ...plan, tiles }, inside);
    return;
  }
  const { columns } = plan;
  if (columns !== undefined) {
    const range = ranges.get(axis.name) ?? wholeRange(axis);
    writeColumns(nest, { plan: columns, nodes: nodesOf(nest, tree), range, ahead: nest.ahead.get(tree) ?? [] }, frame);
    return;
  }
  writeLanes(nest, plan, { frame, range: ranges.get(axis.name) ?? wholeRange(axis) });
}

interface Lanes {
  readonly frame: Frame;
  readonly range: Range;
}

/** A distributed or outer lane axis, in parts where that decides something. */
function writeLanes(nest: Nest, plan: RegionPlan, { frame, range }: Lanes): void {
  const { tree, shared } = plan;
  const whole = { axis: range.axis, nodes: nodesOf(nest, tree), ahead: nest.ahead.get(tree) ?? [] };
  const isWhole = isLeaf(tree) && equal(range.from, int(0)) && equal(range.to, range.axis.extent);
  const parts = isWhole && nest.target.decidesBounds !== false ? partsOf(whole, shared.lanes) : [whole];
  for (const part of parts)
    writePart(nest, plan, { frame, part, range: part === whole ? range : wholeRange(part.axis) });
}

/** The vectors of a part, several side by side where each alone waits for its own results. */
function writePart(nest: Nest, plan: RegionPlan, { frame, range, part: given }: Lanes & { part: LanePart }): void {
  const { tree, shared } = plan;
  const isWhole = isLeaf(tree) && equal(range.from, int(0)) && equal(range.to, range.axis.extent);
  const around = runningOrder(nest, plan).flatMap(({ axis }) => (axis.name === shared.axis?.name ? [] : [axis]));
  const side = { nodes: given.nodes, along: range.axis, lanes: shared.lanes, around };
  const { along, before } = isWhole ? rowsBeside(nest, side) : { along: [], before: [] };
  const part = { ...given, ahead: [...given.ahead, ...along] };
  writeBursts(nest, before, frame);
  const { instances, unroll } = besideOf(nest, { tree, shared }, { nodes: part.nodes, axis: range.axis });
  vectorLoop(nest, { ...range, lanes: shared.lanes, instances, unroll }, (vectors) => {
    const frames = vectors.map((vector) => vectorFrame(frame, range.axis.name, vector));
    writeBelow(nest, { tree, lanes: shared, part }, frames);
  });
}

interface Below {
  readonly tree: LoopTree;
  readonly lanes: LaneChoice;
  /** What of an innermost tree is written; all of it, if absent. */
  readonly part?: LanePart;
}

/** A tree whose parallel loops are open. Several frames (columns side by side) only where the tree is innermost. */
function writeBelow(nest: Nest, { tree, lanes, part }: Below, frames: readonly Frame[]): void {
  const over = tree.loops.filter((band) => band.role === 'reduction');
  if (isLeaf(tree)) {
    const own = over.find((band) => band.axis.name === lanes.axis?.name);
    const lane = own === undefined ? {} : { lane: { axis: own.axis.name, lanes: lanes.lanes } };
    const { nodes, ahead } = part ?? { nodes: nodesOf(nest, tree), ahead: nest.ahead.get(tree) ?? [] };
    writeSite(nest, { nodes, over, ...lane, ahead }, frames);
    return;
  }
  invariant(over.length === 0, `group ${nest.group.name}: a reduction loop has loops of its own below it`);
  for (const frame of frames) writeChildren(nest, tree, frame);
}

function writeChildren(nest: Nest, tree: LoopTree, frame: Frame): void {
  for (const local of nest.group.locals)
    if (local.kind === 'row' && belongsTo(nest, tree, local)) declareRow(nest, local, frame);
  for (const child of tree.children) {
    noteOrigins(nest, child.kind === 'loops' ? nodesBelow(child) : [child.node]);
    if (child.kind === 'loops') {
      writeTree(nest, child, frame);
      continue;
    }
    const node = nodeAt(nest, child.node);
    if (node.kind === 'map') writeMap(nest, node, frame);
    else writeSite(nest, { nodes: [node], over: [] }, [frame]);
  }
}

/** Says above a stage what it computes, and for which operators. */
function noteOrigins(nest: Nest, nodes: readonly number[]): void {
  const names = nodes.flatMap((index) => nodeAt(nest, index).outs.map((out) => nest.memory.decl(out).name));
  const origins = nodes.flatMap((index) => nodeAt(nest, index).origins.map(({ op }) => ({ op })));
  if (origins.length === 0) return;
  nest.writer.emit({ kind: 'comment', text: `${names.join(', ')}: `, origins });
}

/** A tree inside a region: plain loops, the innermost with lanes unless the frame has them already. */
function writeTree(nest: Nest, tree: LoopTree, frame: Frame): void {
  const inherits = frame.lane !== undefined;
  const none: LaneChoice = { axis: undefined, lanes: 1, cycles: 0 };
  const choice = inherits || !isLeaf(tree) ? none : chooseLanes(tree.loops, nodesOf(nest, tree), nest);
  writeSerial(
    nest,
    { tree, shared: choice, block: undefined, tiles: undefined, tileBlock: 1, columns: undefined, cycles: 0 },
    { bands: parallelBands(tree), frame },
  );
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
  const { memory, writer } = nest;
  const { dtype, name } = memory.decl(local.buffer);
  const lanes = frame.lane?.lanes ?? 1;
  const elements = staticValue(local.size);
  const outside = new Set(frame.axes.keys());
  const bytes = dtypeInfo[dtype].bytes * lanes;
  invariant(
    elements !== undefined && elements * bytes <= stackScratchBytes,
    `group ${nest.group.name}: a row of ${name} does not fit into ${String(stackScratchBytes)} bytes of scratch`,
  );
  const row = writer.fresh(`${name}_row`);
  writer.emit({ kind: 'scratch', name: row, dtype, size: elements * lanes });
  memory.setRow(local.buffer, { name: row, lanes, outside, base: int(0) });
}
