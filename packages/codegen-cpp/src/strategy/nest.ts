// What the strategies for nests share: a frame (which axes are open, and as what), vector loops with their tails, and
// writing a node's results to where they live.
import { at, dtypeInfo } from '@tsinductor/base';
import {
  BodyEvaluator,
  difference,
  evaluateBody,
  hasIndirect,
  isMultipleOf,
  named,
  roundDown,
  staticValue,
  strideAlong,
  widen,
} from '@tsinductor/codegen';
import type { Evaluation, GroupMemory, KernelWriter, Lane } from '@tsinductor/codegen';
import { add, bodiesOf, equal, int } from '@tsinductor/ir';
import type {
  Access,
  Axis,
  Body,
  BufferDecl,
  BufferId,
  Group,
  Index,
  LoopNode,
  LoopTree,
  Prefetch,
  Schedule,
  Value,
} from '@tsinductor/ir';
import { asking, cpuModels, habitsOf, streamingBytes } from '../target.ts';
import type { CpuTarget } from '../target.ts';
import type { WideSteps } from './lane-choice.ts';

/** The kernel being written. */
export interface Nest {
  readonly target: CpuTarget;
  readonly schedule: Schedule;
  readonly group: Group;
  readonly writer: KernelWriter;
  readonly memory: GroupMemory;
  readonly notes: string[];
  /** What the kernels of a graph find out together about its ops. */
  readonly wideSteps: WideSteps;
  /** What innermost trees of the region being written ask for before it is read: see row-ahead.ts. */
  readonly ahead: ReadonlyMap<LoopTree, readonly Ahead[]>;
  /** Results of the region being written whose lines are asked for before they are written: see asked-results.ts. */
  readonly asked: ReadonlySet<BufferId>;
  /** Where one vector is followed by that of another row, as in tiles: halves of lines wait for each other there. */
  readonly turnsRows?: boolean;
}

/** What an innermost loop asks for at each of its vectors: an element that it comes to later. */
export interface Ahead {
  readonly buffer: BufferId;
  readonly position: Index;
  /** Where loaded values choose the place: those of a later point. */
  readonly later?: Later;
  /** What for; to be read, if absent. */
  readonly intent?: Prefetch['intent'];
  /** Into which cache; what suits its buffer, if absent. */
  readonly into?: 'first' | 'second';
}

/** The body that loads the values, and how many points further down an axis. */
export interface Later {
  readonly body: Body;
  readonly axis: Axis;
  readonly points: number;
}

/** A point of the nest: the axes that are open, by the kernel's names, and the lanes if an axis is vectorised. */
export interface Frame {
  readonly axes: ReadonlyMap<string, Index>;
  readonly lane?: Lane;
}

export const emptyFrame: Frame = { axes: new Map() };

/** `frame` without its lanes. */
export const scalarFrame = (frame: Frame): Frame => ({ axes: frame.axes });

export const bindAxis = (frame: Frame, axis: string, value: Index): Frame => ({
  ...frame,
  axes: new Map(frame.axes).set(axis, value),
});

export const evaluationAt = (nest: Nest, frame: Frame, carried?: readonly Value[]): Evaluation => ({
  writer: nest.writer,
  point: { ...frame, ...(carried === undefined ? {} : { carried }) },
  units: nest.memory.multiples,
  source: (buffer, position, resolve) => nest.memory.source(buffer, position, resolve),
});

export type Carrying = LoopNode & { readonly kind: 'reduce' | 'scan' };

/** The states after a point, from those before it. */
export const stepAt = (
  nest: Nest,
  node: Carrying,
  { frame, states }: { readonly frame: Frame; readonly states: readonly Value[] },
): readonly Value[] => evaluateBody(node.step, { ...evaluationAt(nest, frame, states), isInOrder: comesInOrder(node) });

/** Whether the elements come in the order of their positions: in each lane and accumulator the points of one axis do. */
function comesInOrder({ over, step }: Carrying): boolean {
  const { name } = at(over, 0);
  if (over.length > 1) return false;
  return step.nodes.every((node) => node.kind !== 'index' || (strideAlong(node.value, name) ?? -1) >= 0);
}

/** A loop over an axis, one point at a time. */
export function scalarLoop(nest: Nest, range: Range, body: (value: Index) => void): void {
  const { writer } = nest;
  const name = writer.fresh(range.axis.name);
  const block = writer.block([name], () => {
    nest.memory.scoped(() => {
      body(named(name, range.axis.extent));
    });
  });
  writer.emit({ kind: 'for', name, from: range.from, to: range.to, step: 1, body: block });
}

/** A part of an axis. `from` is a multiple of the lanes that the loop will have. */
export interface Range {
  readonly axis: Axis;
  readonly from: Index;
  readonly to: Index;
}

export const wholeRange = (axis: Axis): Range => ({ axis, from: int(0), to: axis.extent });

export interface VectorLoop extends Range {
  readonly lanes: number;
  /** Vectors per iteration, each with statements of its own. */
  readonly instances: number;
  /** Iterations that the C++ compiler may unroll. */
  readonly unroll: number;
}

/** One vector of an iteration: where its lane 0 is, and which lanes there are. */
export interface Vector {
  readonly at: Index;
  readonly lane: Lane;
}

/** Loops over a range by vectors: `instances` at a time, then one at a time, then the rest in a partial vector. */
export function vectorLoop(nest: Nest, given: VectorLoop, body: (vectors: readonly Vector[]) => void): void {
  const loop = { ...given, instances: alignedInstances(nest, given) };
  const { lanes, instances, from, to } = loop;
  const wide = lanes * instances;
  const wideEnd = roundedEnd(nest, to, wide);
  const fullEnd = roundedEnd(nest, to, lanes);
  if (instances > 1) vectorPart(nest, { ...loop, to: wideEnd }, body);
  vectorPart(nest, { ...loop, from: instances > 1 ? wideEnd : from, to: fullEnd, instances: 1 }, body);
  const mayRemain = !isMultipleOf(to, lanes, nest.memory.multiples);
  if (mayRemain || nest.target.emptyLoops === true) tailPart(nest, { ...loop, from: fullEnd }, body);
}

/** As many vectors at a time as were asked for, or as the start of the range is a multiple of. */
function alignedInstances(nest: Nest, { from, lanes, instances }: VectorLoop): number {
  let count = instances;
  while (count > 1 && !isMultipleOf(from, lanes * count, nest.memory.multiples)) count = Math.floor(count / 2);
  return count;
}

const roundedEnd = (nest: Nest, to: Index, unit: number): Index =>
  isMultipleOf(to, unit, nest.memory.multiples) ? to : roundDown(to, unit);

/** Loops over some points of an axis in `streams` equal parts at once, each read from its start by whole vectors. */
export function streamLoop(
  nest: Nest,
  { axis, from, part, lanes, streams }: Streams,
  body: (vectors: readonly Vector[]) => void,
): void {
  vectorPart(nest, { axis, from, to: add(from, int(part)), lanes, instances: streams, unroll: 1, apart: part }, body);
}

export interface Streams {
  readonly axis: Axis;
  readonly from: Index;
  /** Points of each stream: a multiple of the lanes. */
  readonly part: number;
  readonly lanes: number;
  readonly streams: number;
}

interface VectorPart extends VectorLoop {
  /** Points between the vectors of an iteration, which else are neighbours. */
  readonly apart?: number;
}

function vectorPart(nest: Nest, loop: VectorPart, body: (vectors: readonly Vector[]) => void): void {
  const { axis, from, to, lanes, instances, apart } = loop;
  if (equal(from, to)) return;
  const { writer, memory } = nest;
  const name = writer.fresh(axis.name);
  const step = apart === undefined ? lanes * instances : lanes;
  memory.multiples.set(name, isMultipleOf(from, step, memory.multiples) ? step : lanes);
  const block = writer.block([name], () => {
    memory.scoped(() => {
      const here = named(name, axis.extent);
      const vectors = Array.from({ length: instances }, (_, index) => ({
        at: add(here, int(index * (apart ?? lanes))),
        lane: { axis: name, lanes },
      }));
      body(vectors);
    });
  });
  const unroll = loop.unroll > 1 ? { unroll: loop.unroll } : {};
  writer.emit({ kind: 'for', name, from, to, step, ...unroll, body: block });
}

/** The last, partial vector. A loop of at most one iteration: it is empty where the range is. */
function tailPart(nest: Nest, loop: VectorLoop, body: (vectors: readonly Vector[]) => void): void {
  const { axis, from, to, lanes } = loop;
  const { writer, memory } = nest;
  const name = writer.fresh(axis.name);
  memory.multiples.set(name, lanes);
  const block = writer.block([name], () => {
    memory.scoped(() => {
      const here = named(name, axis.extent);
      const [first, last] = [staticValue(from), staticValue(to)];
      const count = first !== undefined && last !== undefined ? int(last - first) : difference(to, here);
      body([{ at: here, lane: { axis: name, lanes, count } }]);
    });
  });
  writer.emit({ kind: 'for', name, from, to, step: lanes, body: block });
}

export const vectorFrame = (frame: Frame, axis: string, vector: Vector): Frame => ({
  ...bindAxis(frame, axis, vector.at),
  lane: vector.lane,
});

/** Runs a map node at a point and writes its results. */
export function writeMap(nest: Nest, node: LoopNode & { readonly kind: 'map' }, frame: Frame): void {
  const values = evaluateBody(node.body, evaluationAt(nest, frame));
  values.forEach((value, slot) => {
    writeResult(nest, { node, slot, value }, frame);
  });
}

/** Runs a map node at a point for what reads its results there; they are not written. */
export function keepMap(nest: Nest, node: LoopNode & { readonly kind: 'map' }, frame: Frame): void {
  evaluateBody(node.body, evaluationAt(nest, frame)).forEach((value, slot) => {
    keepResult(nest, { node, slot, value });
  });
}

export interface Result {
  readonly node: LoopNode;
  readonly slot: number;
  readonly value: Value;
}

/** Writes one result of a node at a point: to a value at hand, a row of scratch, a tile or memory. */
export function writeResult(nest: Nest, result: Result, frame: Frame): void {
  const { memory } = nest;
  const { node, slot, value } = result;
  const buffer = at(node.outs, slot);
  const position = at(node.writes, slot);
  keepResult(nest, result);
  const store: Storing = { buffer, position, value };
  if (memory.row(buffer) !== undefined) storeRow(nest, store, frame);
  else if (!memory.isVirtual(buffer) && !storeTile(nest, store, frame)) storeMemory(nest, store, frame);
}

/** Has one result of a node at hand for what reads it at the same point. */
function keepResult({ memory, group }: Nest, { node, slot, value }: Result): void {
  const buffer = at(node.outs, slot);
  const isScalar = group.locals.some((local) => local.buffer === buffer && local.kind === 'scalar');
  memory.keep(buffer, isScalar && memory.row(buffer) === undefined ? undefined : at(node.writes, slot), value);
}

interface Storing {
  readonly buffer: BufferId;
  readonly position: Index;
  readonly value: Value;
}

const countOf = (frame: Frame, lanes: number): Pick<Access, 'count'> =>
  lanes > 1 && frame.lane?.count !== undefined ? { count: frame.lane.count } : {};

const placesAt = (nest: Nest, frame: Frame): BodyEvaluator =>
  new BodyEvaluator({ nodes: [], results: [] }, evaluationAt(nest, frame));

function storeRow(nest: Nest, { buffer, position, value }: Storing, frame: Frame): void {
  const { memory, writer } = nest;
  const row = memory.row(buffer);
  if (row === undefined) return;
  const evaluator = placesAt(nest, frame);
  const place = memory.rowIndex(row, position, (index) => evaluator.resolve(index));
  const packed = row.lanes > 1;
  const wide = packed || evaluator.varies(place) ? (frame.lane?.lanes ?? 1) : 1;
  const layout = packed ? { at: place, step: int(1) } : { ...evaluator.place(place), ...countOf(frame, wide) };
  const access = { buffer: row.name, ...layout, align: memory.bytesOf(buffer) };
  writer.emit({ kind: 'store', access, value: widen(value, wide, writer) });
}

/** Whether the result went to a tile. */
function storeTile(nest: Nest, { buffer, position, value }: Storing, frame: Frame): boolean {
  const { memory, writer } = nest;
  const tile = memory.tile({ buffer, position, store: true });
  if (tile === undefined) return false;
  const access = { buffer: tile.name, at: tile.at, step: int(1), align: memory.bytesOf(buffer) };
  writer.emit({ kind: 'store', access, value: widen(value, frame.lane?.lanes ?? 1, writer) });
  return true;
}

function storeMemory(nest: Nest, { buffer, position, value }: Storing, frame: Frame): void {
  const { memory, writer } = nest;
  const evaluator = placesAt(nest, frame);
  const index = evaluator.resolve(position);
  const place = evaluator.place(index);
  const wide = evaluator.varies(index) ? (frame.lane?.lanes ?? 1) : 1;
  const align = staticValue(place.step) === 1 ? memory.alignment(buffer, index, wide) : memory.bytesOf(buffer);
  const { name } = memory.parameter(buffer);
  const way = frame.lane?.count === undefined && wide > 1 ? wayOf(nest, buffer, { wide, align, place }) : 'plain';
  if (way === 'asked') {
    const further = int(asking.bytes / memory.bytesOf(buffer));
    writer.emit({ kind: 'prefetch', buffer: name, at: add(index, further), intent: 'write' });
  }
  writer.emit({
    kind: 'store',
    access: { buffer: name, ...place, align, ...countOf(frame, wide) },
    value: widen(value, wide, writer),
    ...(way === 'past' ? { hint: 'stream' as const } : {}),
  });
}

interface Written {
  readonly wide: number;
  readonly align: number;
  readonly place: Pick<Access, 'step'>;
}

/** How whole vectors of a result are written: past the caches, into lines that were asked for, or as anything else. */
export function wayOf(nest: Nest, buffer: BufferId, { wide, align, place }: Written): 'asked' | 'past' | 'plain' {
  if (nest.asked.has(buffer) && staticValue(place.step) === 1) return 'asked';
  return streams(nest, buffer, { wide, align }) ? 'past' : 'plain';
}

/**
 * Whether whole vectors of a result should go past the caches: far larger than they are, aligned, and full registers. Parts of a
 * line that are written so with work between them may each go to memory alone. (Measured on a Cascade Lake, where a register
 * is a line: halves between gathers take 15 times as long as by way of the caches. A Zen 4 keeps halves together that follow one
 * another: sums of bf16 take a quarter less past the caches, gathers of their rows a sixth, bf16 softmax a tenth; not so in tiles,
 * whose rows are written in turn: a transposition of bf16 takes half as long again. A Granite Rapids keeps them together too, see
 * `memoryHabits`.)
 */
function streams(nest: Nest, buffer: BufferId, { wide, align }: Pick<Written, 'wide' | 'align'>): boolean {
  const bytes = nest.memory.bytesOf(buffer);
  if (!outgrowsCaches(nest, buffer)) return false;
  const { vectorBytes } = cpuModels[nest.target.isa];
  const least = nest.turnsRows === true ? vectorBytes : Math.min(vectorBytes, habitsOf(nest.target).leastPast);
  return vectorBytes > 0 && wide * bytes >= least && align >= wide * bytes;
}

/**
 * Whether the caches will not have a result in the end: it is far larger than they are, or large in a kernel that reads whole
 * arrays of far more in all. (Measured on a Zen 4: an image of 64 MB halved into 16 MB takes 20 % less past the caches.)
 */
function outgrowsCaches({ memory, target, group }: Nest, buffer: BufferId): boolean {
  const decl = memory.decl(buffer);
  if (isLarge(decl)) return true;
  const { pastBeside } = habitsOf(target);
  if (bytesOf(decl) < pastBeside.bytes) return false;
  if (group.reads.includes(buffer) || group.nodes.some(choosesPlaces)) return false;
  const moved = [...new Set([...group.reads, ...group.writes])].filter((each) => !memory.isVirtual(each));
  return moved.reduce((sum, each) => sum + bytesOf(memory.decl(each)), 0) >= pastBeside.moved;
}

/** Whether loaded values choose what a node reads: it may be far less than the array. */
const choosesPlaces = (node: LoopNode): boolean =>
  bodiesOf(node).some(({ nodes }) => nodes.some((one) => one.kind === 'load' && hasIndirect(one.at)));

const bytesOf = ({ dtype, size }: Pick<BufferDecl, 'dtype' | 'size'>): number =>
  (staticValue(size) ?? 0) * dtypeInfo[dtype].bytes;

/** Whether a buffer is far larger than the caches. */
export const isLarge = (decl: Pick<BufferDecl, 'dtype' | 'size'>): boolean => bytesOf(decl) >= streamingBytes;

export const nodeAt = (nest: Nest, index: number): LoopNode => at(nest.group.nodes, index);
