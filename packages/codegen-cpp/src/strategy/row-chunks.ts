// A long axis cut in chunks, units of a parallel loop of their own, and what they leave for others: the states of the nodes that
// carry some, one per chunk and result, in workspace. In: an innermost tree and the loop of it that is cut. Out: the chunks, the
// loop over them, and states stored and loaded. The chunks follow from sizes and vectors alone, so that what is computed in
// pieces does not depend on the threads (see split-reduction.ts and split-scan.ts).
import { at } from '@tsinductor/base';
import { BodyEvaluator, named, parallelBands, product, staticValue, typicalValue } from '@tsinductor/codegen';
import { add, ceilDivide, floorDivide, int, maximum, minimum, modulo, multiply, subtract } from '@tsinductor/ir';
import type { Axis, Index, KernelBuffer, LoopBand, LoopTree, Value } from '@tsinductor/ir';
import { reductionChunk } from '../target.ts';
import type { LaneChoice } from './lane-choice.ts';
import { bindAxis, emptyFrame, evaluationAt, scalarLoop, vectorFrame, vectorLoop, wholeRange } from './nest.ts';
import type { Carrying, Frame, Nest, Range } from './nest.ts';
import { grainOf } from './region-plan.ts';

export interface RowChunks {
  readonly tree: LoopTree;
  /** The axis that is cut, points of it per chunk, and how many chunks. */
  readonly axis: Axis;
  readonly chunk: Index;
  readonly chunks: Index;
  /** The number of results. */
  readonly results: Index;
}

/** Chunks of a tree's loop `cut`, of about so many points of the tree each, and of whole `unit`s of the loop's. */
export function chunksOf(tree: LoopTree, cut: LoopBand, { unit, about = reductionChunk }: ChunkSize): RowChunks {
  const others = tree.loops.filter((band) => band !== cut);
  const below = product(others.map((band) => band.axis.extent));
  const points = maximum(int(1), floorDivide(int(about), maximum(int(1), below)));
  const chunk = multiply(ceilDivide(points, int(unit)), int(unit));
  const results = product(parallelBands(tree).map((band) => band.axis.extent));
  return { tree, axis: cut.axis, chunk, chunks: ceilDivide(cut.axis.extent, chunk), results };
}

export interface ChunkSize {
  readonly unit: number;
  /** `reductionChunk`, if absent. */
  readonly about?: number;
}

/** Room for every state of every node, by the node's id: a buffer of chunks x results each. */
export type ChunkStates = ReadonlyMap<number, readonly KernelBuffer[]>;

export const reserveStates = (nest: Nest, { chunks, results }: RowChunks, nodes: readonly Carrying[]): ChunkStates =>
  new Map(
    nodes.map(({ id, state }) => [
      id,
      state.map((dtype) => nest.memory.workspace('partial', dtype, multiply(chunks, results))),
    ]),
  );

/** How chunks are worked on. */
export interface ChunkWork {
  readonly lanes: Pick<LaneChoice, 'axis' | 'lanes'>;
  /** Vectors side by side where results are the lanes. */
  readonly instances: number;
  /** About what a chunk takes. */
  readonly cycles: number;
  /** Which chunk of a row is begun with: the last one where it was read before, and so may be in the caches; else the first. */
  readonly from?: 'last';
  /** Whether the loop over the lanes is left to what works on a chunk. */
  readonly isWhole?: boolean;
}

/** A chunk: its number, and which points of the axis it has. */
export interface Chunk {
  readonly number: Index;
  readonly part: Range;
}

/** A parallel loop over the chunks of every row. */
export function writeChunks(
  nest: Nest,
  { rows, work }: { readonly rows: RowChunks; readonly work: ChunkWork },
  body: (frames: readonly Frame[], chunk: Chunk) => void,
): void {
  const { writer } = nest;
  const { tree, axis, chunk, chunks } = rows;
  const outer = outerBands(tree, work.lanes);
  const total = multiply(chunks, product(outer.map((band) => band.axis.extent)));
  const [begin, end] = [writer.fresh('begin'), writer.fresh('end')];
  const block = writer.sealedBlock([begin, end], () => {
    const units = {
      axis: { name: 'unit', extent: total },
      from: named(begin, total),
      to: named(end, add(total, int(1))),
    };
    scalarLoop(nest, units, (unit) => {
      const turn = modulo(unit, chunks);
      const value = work.from === 'last' ? subtract(add(chunks, int(-1)), turn) : turn;
      const number = nameOf(nest, { base: 'chunk', value, extent: chunks });
      let below = floorDivide(unit, chunks);
      let frame = emptyFrame;
      for (const band of outer.toReversed()) {
        frame = bindAxis(frame, band.axis.name, modulo(below, band.axis.extent));
        below = floorDivide(below, band.axis.extent);
      }
      const from = multiply(number, chunk);
      const part = { axis, from, to: minimum(add(from, chunk), axis.extent) };
      withLanes(nest, { tree, work, frame }, (frames) => {
        body(frames, { number, part });
      });
    });
  });
  const grain = staticValue(total) === 1 ? int(1) : grainOf(nest, total, Math.max(1, work.cycles));
  writer.emit({ kind: 'parallel', begin, end, total, grain, body: block });
}

/** Plain loops over the results, with lanes where results are the lanes. */
export function eachResult(
  nest: Nest,
  { tree, work }: { readonly tree: LoopTree; readonly work: Omit<ChunkWork, 'cycles'> },
  body: (frames: readonly Frame[]) => void,
): void {
  const outer = outerBands(tree, work.lanes);
  const open = (depth: number, frame: Frame): void => {
    const band = outer[depth];
    if (band === undefined) {
      withLanes(nest, { tree, work, frame }, body);
      return;
    }
    scalarLoop(nest, wholeRange(band.axis), (value) => {
      open(depth + 1, bindAxis(frame, band.axis.name, value));
    });
  };
  open(0, emptyFrame);
}

const outerBands = (tree: LoopTree, { axis }: ChunkWork['lanes']): readonly LoopBand[] =>
  parallelBands(tree).filter((band) => band.axis.name !== axis?.name);

/** The lanes of a site, where they are points of the axis that is cut or of another that is reduced. */
export const siteLane = (
  tree: LoopTree,
  { axis, lanes }: ChunkWork['lanes'],
): { readonly lane?: { readonly axis: string; readonly lanes: number } } => {
  const isOuter = parallelBands(tree).some((band) => band.axis.name === axis?.name);
  return axis === undefined || isOuter ? {} : { lane: { axis: axis.name, lanes } };
};

interface Opening {
  readonly tree: LoopTree;
  readonly work: Omit<ChunkWork, 'cycles'>;
  readonly frame: Frame;
}

/** Opens the loop over the lanes where results are the lanes. */
function withLanes(nest: Nest, { tree, work, frame }: Opening, body: (frames: readonly Frame[]) => void): void {
  const { axis, lanes } = work.lanes;
  if (
    work.isWhole === true ||
    axis === undefined ||
    !parallelBands(tree).some((band) => band.axis.name === axis.name)
  ) {
    body([frame]);
    return;
  }
  vectorLoop(nest, { ...wholeRange(axis), lanes, instances: work.instances, unroll: 1 }, (vectors) => {
    body(vectors.map((vector) => vectorFrame(frame, axis.name, vector)));
  });
}

interface Naming {
  readonly base: string;
  readonly value: Index;
  readonly extent: Index;
}

function nameOf(nest: Nest, { base, value, extent }: Naming): Index {
  const name = nest.writer.define({ kind: 'index', value, type: { dtype: 'i64', lanes: 1 } }, base, nest.writer.depth);
  return name.kind === 'name' ? named(name.name, extent) : value;
}

/** The states of a node that a chunk leaves or finds. */
export interface ChunkState {
  readonly rows: RowChunks;
  readonly states: ChunkStates;
  readonly node: Carrying;
  readonly chunk: Index;
}

/** The number of a point of the outer axes, row by row. */
function resultNumber({ tree }: RowChunks, frame: Frame): Index {
  return parallelBands(tree).reduce<Index>(
    (number, { axis }) =>
      add(multiply(number, axis.extent), frame.axes.get(axis.name) ?? named(axis.name, axis.extent)),
    int(0),
  );
}

const placeOf = (nest: Nest, { rows, chunk }: ChunkState, frame: Frame) => {
  const index = add(multiply(chunk, rows.results), resultNumber(rows, frame));
  const evaluator = new BodyEvaluator({ nodes: [], results: [] }, evaluationAt(nest, frame));
  const lanes = frame.lane !== undefined && evaluator.varies(index) ? frame.lane : undefined;
  return { ...evaluator.place(index), ...(lanes?.count === undefined ? {} : { count: lanes.count }) };
};

export function storeStates(nest: Nest, place: ChunkState & { readonly values: readonly Value[] }, frame: Frame): void {
  const buffers = place.states.get(place.node.id) ?? [];
  place.values.forEach((value, slot) => {
    const { name } = at(buffers, slot);
    nest.writer.emit({ kind: 'store', access: { buffer: name, ...placeOf(nest, place, frame), align: 1 }, value });
  });
}

export function loadStates(nest: Nest, place: ChunkState, frame: Frame): readonly Value[] {
  const buffers = place.states.get(place.node.id) ?? [];
  return buffers.map(({ name, dtype }) => {
    const access = { buffer: name, ...placeOf(nest, place, frame), align: 1 };
    const type = { dtype, lanes: frame.lane?.lanes ?? 1 };
    return nest.writer.define({ kind: 'load', type, access }, 'partial_state', nest.writer.depth);
  });
}

/** Variables that begin as `values`. */
export const declareVariables = (nest: Nest, values: readonly Value[]): readonly Value[] =>
  values.map((value): Value => {
    const name = nest.writer.fresh('state');
    nest.writer.emit({ kind: 'var', name, value });
    return { kind: 'name', name, type: value.type };
  });

export function setVariables(nest: Nest, variables: readonly Value[], values: readonly Value[]): void {
  variables.forEach((variable, slot) => {
    if (variable.kind === 'name') nest.writer.emit({ kind: 'set', name: variable.name, value: at(values, slot) });
  });
}

/** About how many points a chunk has of all loops inside the outer ones. */
export const pointsOfChunk = ({ tree, chunk, axis }: RowChunks): number =>
  tree.loops
    .filter((band) => band.role === 'reduction' && band.axis !== axis)
    .reduce((points, band) => points * typicalValue(band.axis.extent), typicalValue(chunk));
