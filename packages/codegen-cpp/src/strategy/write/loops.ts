// Loops over an axis: one point at a time, or by vectors, with what exact vectors leave over.
import { invariant } from '@tsinductor/base';
import { bindAxis, difference, isMultipleOf, named, roundDown, staticValue } from '@tsinductor/codegen';
import type { Frame, Lane } from '@tsinductor/codegen';
import { add, equal, int } from '@tsinductor/ir';
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

/** Loops over a range in `streams` equal parts at once, each read from its start by whole vectors. */
export function streamLoop(
  nest: Nest,
  { axis, from, to, lanes, streams }: Streams,
  body: (vectors: readonly Vector[]) => void,
): void {
  const length = staticValue(difference(to, from));
  invariant(length !== undefined && length % (streams * lanes) === 0, `${axis.name} is not of whole streams`);
  const part = length / streams;
  vectorPart(nest, { axis, from, to: add(from, int(part)), lanes, instances: streams, unroll: 1, apart: part }, body);
}

interface Streams extends Range {
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
