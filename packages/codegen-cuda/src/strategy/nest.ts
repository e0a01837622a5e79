// What the strategies share: the kernel being written, a frame (which axes are open, and as what), loops that threads or
// blocks walk together, and writing a node's results to where they live.
import { at, invariant } from '@tsinductor/base';
import { bindAxis, evaluateBody, evaluationAt, named, placesAt, product, staticValue } from '@tsinductor/codegen';
import type { Frame, GroupMemory, KernelWriter } from '@tsinductor/codegen';
import { add, floorDivide, int, minimum, modulo } from '@tsinductor/ir';
import type { Axis, BufferId, Group, Index, Launch, LoopNode, Schedule, Stmt, Value, ValueType } from '@tsinductor/ir';
import type { CudaTarget } from '../target.ts';
import type { SharedMemory } from './shared-memory.ts';

/** The kernel being written. */
export interface Nest {
  readonly target: CudaTarget;
  readonly schedule: Schedule;
  readonly group: Group;
  readonly writer: KernelWriter;
  readonly memory: GroupMemory;
  readonly shared: SharedMemory;
  readonly names: Launch['names'];
  readonly notes: string[];
}

/** How a written kernel is to be launched. */
export interface Grid {
  readonly blocks: Index;
  readonly threads: number;
}

export const nodeAt = (nest: Nest, index: number): LoopNode => at(nest.group.nodes, index);

export const axisValue = (nest: Nest, name: keyof Launch['names']): Index => named(nest.names[name], int(2 ** 31));

/** The thread's number, of a block of `threads`. */
export const threadOf = (nest: Nest, threads: number): Index => named(nest.names.thread, int(threads));

/** `block * threads + thread`: a number for each thread of the grid. */
export const threadOfGrid = (nest: Nest, threads: number): Index =>
  add(multiplied(axisValue(nest, 'block'), threads), threadOf(nest, threads));

/** How many threads the grid has. */
export const gridThreads = (nest: Nest, threads: number): Index => multiplied(axisValue(nest, 'blocks'), threads);

const multiplied = (index: Index, factor: number): Index => product([index, int(factor)]);

interface Range {
  readonly name: string;
  readonly from: Index;
  readonly to: Index;
  readonly step?: number | Index;
  readonly unroll?: number;
  /** Bounds the values, for what is known of indices. */
  readonly extent: Index;
  /** Whether there is any point at all depends on the thread: nothing of the loop may be computed in front of it. */
  readonly guards?: boolean;
}

/** A loop whose body gets its variable. */
export function loop(nest: Nest, range: Range, body: (value: Index) => void): void {
  const { writer } = nest;
  const name = writer.fresh(range.name);
  const { from, to, step = 1, unroll, guards = false } = range;
  const inside = (): void => {
    nest.memory.scoped(() => {
      body(named(name, range.extent));
    });
  };
  const block = guards ? writer.sealedBlock([name], inside) : writer.block([name], inside);
  writer.emit({ kind: 'for', name, from, to, step, ...(unroll === undefined ? {} : { unroll }), body: block });
}

/** A loop over a whole axis, one point after the other. */
function axisLoop(nest: Nest, axis: Axis, body: (value: Index) => void): void {
  loop(nest, { name: axis.name, from: int(0), to: axis.extent, extent: axis.extent }, body);
}

/** The axes one inside the other, each point in order. */
export function axisLoops(nest: Nest, axes: readonly Axis[], { frame, body }: FrameBody): void {
  const [axis, ...rest] = axes;
  if (axis === undefined) {
    body(frame);
    return;
  }
  axisLoop(nest, axis, (value) => {
    axisLoops(nest, rest, { frame: bindAxis(frame, axis.name, value), body });
  });
}

interface FrameBody {
  readonly frame: Frame;
  readonly body: (frame: Frame) => void;
}

/** Who shares the points of some axes: the first point of each, and the distance to its next. */
interface Sharing {
  readonly first: Index;
  readonly step: number | Index;
}

export const byThreadsOfGrid = (nest: Nest, threads: number): Sharing => ({
  first: threadOfGrid(nest, threads),
  step: gridThreads(nest, threads),
});

export const byThreads = (nest: Nest, threads: number): Sharing => ({ first: threadOf(nest, threads), step: threads });

/** The points of `axes`, in row-major order, shared out; the last axis changes fastest. */
export function share(
  nest: Nest,
  axes: readonly Axis[],
  { sharing, frame, body }: FrameBody & { sharing: Sharing },
): void {
  const wide = axes.filter((axis) => staticValue(axis.extent) !== 1);
  const single = axes.filter((axis) => staticValue(axis.extent) === 1);
  const start = single.reduce((inner, axis) => bindAxis(inner, axis.name, int(0)), frame);
  const total = product(wide.map(({ extent }) => extent));
  const only = wide.length === 1 ? wide[0] : undefined;
  const range = { from: sharing.first, to: total, step: sharing.step, extent: total, guards: true };
  loop(nest, { name: only?.name ?? 'point', ...range }, (point) => {
    body(only === undefined ? unravel(nest, wide, { point, frame: start }) : bindAxis(start, only.name, point));
  });
}

/** The coordinates of a point's number. */
export function unravel(nest: Nest, axes: readonly Axis[], { point, frame }: { point: Index; frame: Frame }): Frame {
  let below = point;
  let inner = frame;
  for (const axis of axes.toReversed()) {
    const here = axis === axes[0] ? below : modulo(below, axis.extent);
    below = floorDivide(below, axis.extent);
    inner = bindAxis(inner, axis.name, nameIndex(nest, { base: axis.name, value: here, extent: axis.extent }));
  }
  return inner;
}

interface NamedIndex {
  readonly base: string;
  readonly value: Index;
  readonly extent: Index;
}

/** What index arithmetic is done in. */
export const indexType = ({ writer }: Nest): ValueType => ({
  dtype: writer.positions === 'assumed' ? 'i32' : 'i64',
  lanes: 1,
});

/** A name for an index that is more than a name or a number. */
export function nameIndex(nest: Nest, { base, value, extent }: NamedIndex): Index {
  if (value.kind === 'int') return value;
  const defined = nest.writer.define({ kind: 'index', value, type: indexType(nest) }, base, nest.writer.depth);
  return defined.kind === 'name' ? named(defined.name, extent) : value;
}

/** `to` or the end of the axis, whichever comes first. */
export const clipped = (to: Index, axis: Axis): Index => minimum(to, axis.extent);

/** Who writes a result: the thread that is at the point, or the first of a team whose threads all have it. */
type Writer = 'thread' | 'team';

/** Runs a map node at a point and writes its results. */
export function writeMap(nest: Nest, node: LoopNode & { readonly kind: 'map' }, by: At): void {
  const values = evaluateBody(node.body, evaluationAt(nest, by.frame));
  values.forEach((value, slot) => {
    writeResult(nest, { node, slot, value }, by);
  });
}

export interface At {
  readonly frame: Frame;
  readonly by: Writer;
}

interface Result {
  readonly node: LoopNode;
  readonly slot: number;
  readonly value: Value;
}

/** Writes one result of a node at a point: to a value at hand, a row, a tile or memory. */
export function writeResult(nest: Nest, { node, slot, value }: Result, { frame, by }: At): void {
  const { memory, group, writer } = nest;
  const buffer = at(node.outs, slot);
  const position = at(node.writes, slot);
  const isScalar = group.locals.some((local) => local.buffer === buffer && local.kind === 'scalar');
  const row = memory.row(buffer);
  memory.keep(buffer, isScalar && row === undefined ? undefined : position, value);
  if (row === undefined && memory.isVirtual(buffer)) return;
  const store = (): void => {
    writer.emit(storing(nest, { buffer, position, value }, frame));
  };
  if (by === 'thread') store();
  else onlyFirst(nest, store);
}

/** What `body` writes is run by the first thread of the block alone. */
export function onlyFirst(nest: Nest, body: () => void): void {
  const then = nest.writer.sealedBlock([], body);
  const test = { kind: 'equal' as const, left: axisValue(nest, 'thread'), right: int(0) };
  nest.writer.emit({ kind: 'if', test, then });
}

interface Storing {
  readonly buffer: BufferId;
  readonly position: Index;
  readonly value: Value;
}

function storing(nest: Nest, { buffer, position, value }: Storing, frame: Frame): Stmt {
  const { memory } = nest;
  const evaluator = placesAt(nest, frame);
  const row = memory.row(buffer);
  const tile = memory.tile({ buffer, position, store: true });
  const align = memory.bytesOf(buffer);
  if (tile !== undefined)
    return { kind: 'store', access: { buffer: tile.name, at: tile.at, step: int(0), align }, value };
  const place =
    row === undefined
      ? evaluator.resolve(position)
      : memory.rowIndex(row, position, (index) => evaluator.resolve(index));
  const name = row?.name ?? memory.parameter(buffer).name;
  return { kind: 'store', access: { buffer: name, at: place, step: int(0), align }, value };
}

/** A grid of as many blocks as there are units, but no more than `most`. */
export function gridOf(units: Index, { threads, most }: { readonly threads: number; readonly most: number }): Grid {
  invariant(threads % 32 === 0, 'a block has whole warps');
  return { blocks: maximumOne(minimum(units, int(most))), threads };
}

const maximumOne = (index: Index): Index => (index.kind === 'int' ? int(Math.max(1, index.value)) : index);
