// A long axis that is cut in chunks, units of a parallel loop of their own, and what they leave for others: the states of the nodes that
// carry some, one per chunk and result, in workspace. In: how the axis is cut. Out: the loop over the chunks, and states stored and
// loaded.
import { at } from '@tsinductor/base';
import { bindAxis, emptyFrame, named, parallelBands, placesAt, product, staticValue } from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { add, floorDivide, int, minimum, modulo, multiply, subtract } from '@tsinductor/ir';
import type { Index, KernelBuffer, LoopBand, LoopTree, Value } from '@tsinductor/ir';
import { grainOf } from '../plan/chunks.ts';
import type { RowChunks } from '../plan/chunks.ts';
import type { LaneChoice } from '../plan/lanes.ts';
import type { Carrying } from '../plan/work.ts';
import { scalarLoop, vectorFrame, vectorLoop, wholeRange } from './loops.ts';
import type { Range } from './loops.ts';
import type { Nest } from './nest.ts';

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
interface ChunkWork {
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
interface Chunk {
  readonly number: Index;
  readonly part: Range & { readonly points: number | undefined };
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
      const part = { axis, from, to: minimum(add(from, chunk), axis.extent), points: staticValue(chunk) };
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
interface ChunkState {
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
  const evaluator = placesAt(nest, frame);
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
