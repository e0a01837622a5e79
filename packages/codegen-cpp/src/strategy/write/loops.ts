// Loops over an axis: one point at a time, or by vectors, with what exact vectors leave over, or by blocks of points.
import { invariant } from '@tsinductor/base';
import { bindAxis, difference, isMultipleOf, named, roundDown, staticValue } from '@tsinductor/codegen';
import type { Frame, Lane } from '@tsinductor/codegen';
import { add, equal, int, minimum } from '@tsinductor/ir';
import type { Axis, Index } from '@tsinductor/ir';
import type { Nest } from './nest.ts';

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

interface VectorLoop extends Range {
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
  for (const part of vectorParts(nest, given)) writeVectorPart(nest, part, body);
}

/** The loops that make up a loop by vectors. */
export function vectorParts(nest: Nest, given: VectorLoop): readonly VectorPart[] {
  const loop = { ...given, instances: alignedInstances(nest, given) };
  const { lanes, instances, from, to } = loop;
  const wide = lanes * instances;
  const wideEnd = roundedEnd(nest, to, wide);
  const fullEnd = roundedEnd(nest, to, lanes);
  const single = { ...loop, from: instances > 1 ? wideEnd : from, to: fullEnd, instances: 1 };
  const mayRemain = !isMultipleOf(to, lanes, nest.memory.multiples) || nest.target.emptyLoops === true;
  return [
    ...(instances > 1 ? [{ ...loop, to: wideEnd }] : []),
    single,
    ...(mayRemain ? [{ ...loop, from: fullEnd, isTail: true }] : []),
  ];
}

/** As many vectors at a time as were asked for, or as the start of the range is a multiple of. */
function alignedInstances(nest: Nest, { from, lanes, instances }: VectorLoop): number {
  let count = instances;
  while (count > 1 && !isMultipleOf(from, lanes * count, nest.memory.multiples)) count = Math.floor(count / 2);
  return count;
}

const roundedEnd = (nest: Nest, to: Index, unit: number): Index =>
  isMultipleOf(to, unit, nest.memory.multiples) ? to : roundDown(to, unit);

/** The loop over a range in `streams` equal parts at once, each read from its start by whole vectors. */
export function streamPart({ axis, from, to, lanes, streams }: Streams): VectorPart {
  const length = staticValue(difference(to, from));
  invariant(length !== undefined && length % (streams * lanes) === 0, `${axis.name} is not of whole streams`);
  const part = length / streams;
  return { axis, from, to: add(from, int(part)), lanes, instances: streams, unroll: 1, apart: part };
}

interface Streams extends Range {
  readonly lanes: number;
  readonly streams: number;
}

/** One of the loops of a loop by vectors. */
export interface VectorPart extends VectorLoop {
  /** Points between the vectors of an iteration, which else are neighbours. */
  readonly apart?: number;
  /** The last, partial vector: a loop of at most one iteration. */
  readonly isTail?: boolean;
}

/** Points that an iteration goes on by. */
export const stepOf = ({ lanes, instances, apart }: VectorPart): number =>
  apart === undefined ? lanes * instances : lanes;

export function writeVectorPart(nest: Nest, loop: VectorPart, body: (vectors: readonly Vector[]) => void): void {
  if (loop.isTail === true) {
    tailPart(nest, loop, body);
    return;
  }
  const { axis, from, to, lanes, instances, apart } = loop;
  if (equal(from, to)) return;
  const { writer, memory } = nest;
  const name = writer.fresh(axis.name);
  const step = stepOf(loop);
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

/** The last, partial vector: a loop that is empty where the range is. */
function tailPart(nest: Nest, loop: VectorPart, body: (vectors: readonly Vector[]) => void): void {
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

/** Loops over blocks within blocks of a range. */
interface Blocks<Context> extends Range {
  /** Points per block, those of the largest blocks first; none where the range is one. */
  readonly sizes: readonly number[];
  readonly context: Context;
  /** Writes a block, with a context of its own, and what is around it. */
  readonly within: (context: Context, isInnermost: boolean, write: (inner: Context) => void) => void;
}

type BlockBody<Context> = (range: Range, context: Context) => void;

/** Runs `body` for the innermost blocks, in order. A range whose length is not known may be a single one of them. */
export function inBlocks<Context>(nest: Nest, blocks: Blocks<Context>, body: BlockBody<Context>): void {
  const { writer } = nest;
  const { axis, from, to, sizes, context, within } = blocks;
  const length = difference(to, from);
  const smallest = sizes.at(-1);
  if (smallest === undefined || sizes.length === 1 || staticValue(length) !== undefined) {
    inWholeBlocks(nest, blocks, body);
    return;
  }
  const then = writer.block([], () => {
    within(context, true, (inner) => {
      body({ axis, from, to }, inner);
    });
  });
  const otherwise = writer.block([], () => {
    inWholeBlocks(nest, blocks, body);
  });
  const test = { kind: 'less' as const, left: length, right: int(smallest + 1) };
  writer.emit({ kind: 'if', test, then, otherwise });
}

function inWholeBlocks<Context>(
  nest: Nest,
  { axis, from, to, sizes, context, within }: Blocks<Context>,
  body: BlockBody<Context>,
): void {
  const [size, ...smaller] = sizes;
  if (size === undefined) {
    body({ axis, from, to }, context);
    return;
  }
  if (equal(from, to)) return;
  const { writer, memory } = nest;
  const name = writer.fresh(`${axis.name}_block`);
  memory.multiples.set(name, isMultipleOf(from, size, memory.multiples) ? size : 1);
  const block = writer.block([name], () => {
    memory.scoped(() => {
      const start = named(name, axis.extent);
      const end = blockEnd(nest, { axis, from, to, start, size });
      within(context, smaller.length === 0, (inner) => {
        inWholeBlocks(nest, { axis, from: start, to: end, sizes: smaller, context: inner, within }, body);
      });
    });
  });
  writer.emit({ kind: 'for', name, from, to, step: size, body: block });
}

interface BlockOf extends Range {
  readonly start: Index;
  readonly size: number;
}

/** The end of the block at `start`, by name where the last block of the range may be smaller. */
function blockEnd(nest: Nest, { axis, from, to, start, size }: BlockOf): Index {
  const { writer, memory } = nest;
  const end = add(start, int(size));
  if (isMultipleOf(difference(to, from), size, memory.multiples)) return end;
  const value = minimum(end, to);
  const type = { dtype: 'i64' as const, lanes: 1 };
  const defined = writer.define({ kind: 'index', value, type }, `${axis.name}_end`, writer.depth);
  if (defined.kind !== 'name') return value;
  memory.multiples.set(defined.name, largestUnit(nest, [start, to], size));
  return named(defined.name, add(axis.extent, int(1)));
}

/** The largest power of two up to `most` that all of `indexes` are known to be multiples of. */
function largestUnit({ memory }: Nest, indexes: readonly Index[], most: number): number {
  let unit = 1;
  while (unit * 2 <= most && indexes.every((index) => isMultipleOf(index, unit * 2, memory.multiples))) unit *= 2;
  return unit;
}
