// Reductions to few results in two steps: chunks of the reduced axis give partial states, in parallel, then the states of
// a result are merged in order. The chunks follow from sizes alone, so that a sum does not depend on the threads.
import { at, invariant } from '@tsinductor/base';
import { BodyEvaluator, isLeaf, named, parallelBands, product, staticValue, typicalValue } from '@tsinductor/codegen';
import { add, ceilDivide, floorDivide, int, maximum, minimum, modulo, multiply } from '@tsinductor/ir';
import type { Axis, Index, KernelBuffer, LoopBand, LoopTree, Value } from '@tsinductor/ir';
import { reductionChunk } from '../target.ts';
import { bindAxis, emptyFrame, evaluationAt, scalarLoop, vectorFrame, vectorLoop, wholeRange } from './nest.ts';
import type { Carrying, Frame, Nest } from './nest.ts';
import { chooseShared, grainOf, nodesOf } from './region-plan.ts';
import { finish, merge, writeSite } from './reduce.ts';
import { longRowsAhead } from './row-ahead.ts';

const reductionBands = (tree: LoopTree): readonly LoopBand[] => tree.loops.filter((band) => band.role === 'reduction');

const extentProduct = (bands: readonly LoopBand[]): number =>
  bands.reduce((left, band) => left * typicalValue(band.axis.extent), 1);

/** Whether a tree is reductions alone, long ones, to fewer results than would keep the threads busy. */
export function shouldSplit(nest: Nest, tree: LoopTree): boolean {
  if (!isLeaf(tree) || nodesOf(nest, tree).some((node) => node.kind !== 'reduce')) return false;
  const shared = chooseShared(nest, tree);
  const outer = extentProduct(parallelBands(tree));
  const units = parallelBands(tree).some((band) => band.axis.name === shared.axis?.name)
    ? outer / (shared.lanes * 4)
    : outer;
  const points = outer * extentProduct(reductionBands(tree));
  const first = reductionBands(tree)[0];
  if (first === undefined || points < 4 * reductionChunk) return false;
  if (units >= 16 || typicalValue(first.axis.extent) < 8) return false;
  const { splitReductions = true, leastSplits = 0 } = nest.target;
  return splitReductions && typicalValue(chunksOf(nest, tree, first).chunks) >= leastSplits;
}

interface Split {
  readonly tree: LoopTree;
  /** The axis that is cut, points of it per chunk, and how many chunks. */
  readonly axis: Axis;
  readonly chunk: Index;
  readonly chunks: Index;
  /** The number of results, and a buffer of chunks x results for every state of every node. */
  readonly results: Index;
  readonly partials: ReadonlyMap<Carrying, readonly KernelBuffer[]>;
  readonly lanes: number;
  readonly laneAxis: Axis | undefined;
}

export function writeSplit(nest: Nest, tree: LoopTree): void {
  const split = planSplit(nest, tree);
  nest.notes.push(`${split.axis.name} in chunks, merged in order`);
  writePartials(nest, split);
  writeMerges(nest, split);
}

/** Points of the cut axis per chunk, and how many chunks that makes. */
function chunksOf(nest: Nest, tree: LoopTree, cut: LoopBand): Pick<Split, 'chunk' | 'chunks'> {
  const shared = chooseShared(nest, tree);
  const others = tree.loops.filter((band) => band !== cut);
  const below = product(others.map((band) => band.axis.extent));
  const points = maximum(int(1), floorDivide(int(reductionChunk), maximum(int(1), below)));
  const unit = int(shared.axis?.name === cut.axis.name ? shared.lanes * 4 : 1);
  const chunk = multiply(ceilDivide(points, unit), unit);
  return { chunk, chunks: ceilDivide(cut.axis.extent, chunk) };
}

function planSplit(nest: Nest, tree: LoopTree): Split {
  const [first] = reductionBands(tree);
  invariant(first !== undefined, 'a split reduction has no reduction loop');
  const shared = chooseShared(nest, tree);
  const results = product(parallelBands(tree).map((band) => band.axis.extent));
  const { chunk, chunks } = chunksOf(nest, tree, first);
  const partials = new Map<Carrying, readonly KernelBuffer[]>();
  for (const node of nodesOf(nest, tree)) {
    if (node.kind !== 'reduce') continue;
    const elements = multiply(chunks, results);
    partials.set(
      node,
      node.state.map((dtype) => nest.memory.workspace('partial', dtype, elements)),
    );
  }
  return { tree, axis: first.axis, chunk, chunks, results, partials, lanes: shared.lanes, laneAxis: shared.axis };
}

/** The number of a point of the outer axes, row by row. */
function resultNumber(split: Split, frame: Frame): Index {
  return parallelBands(split.tree).reduce<Index>(
    (number, { axis }) =>
      add(multiply(number, axis.extent), frame.axes.get(axis.name) ?? named(axis.name, axis.extent)),
    int(0),
  );
}

function writePartials(nest: Nest, split: Split): void {
  const { writer } = nest;
  const { tree, axis, chunk, chunks } = split;
  const outer = parallelBands(tree).filter((band) => band.axis.name !== split.laneAxis?.name);
  const total = multiply(chunks, product(outer.map((band) => band.axis.extent)));
  const [begin, end] = [writer.fresh('begin'), writer.fresh('end')];
  const body = writer.sealedBlock([begin, end], () => {
    const units = {
      axis: { name: 'unit', extent: total },
      from: named(begin, total),
      to: named(end, add(total, int(1))),
    };
    scalarLoop(nest, units, (unit) => {
      const number = nameOf(nest, { base: 'chunk', value: modulo(unit, chunks), extent: chunks });
      let below = floorDivide(unit, chunks);
      let frame = emptyFrame;
      for (const band of outer.toReversed()) {
        frame = bindAxis(frame, band.axis.name, modulo(below, band.axis.extent));
        below = floorDivide(below, band.axis.extent);
      }
      const from = multiply(number, chunk);
      const ahead = longRowsAhead(nest, tree, axis);
      const part = { axis, from, to: minimum(add(from, chunk), axis.extent) };
      withLanes(nest, { split, frame, instances: 4 }, (frames) => {
        writeSite(
          nest,
          {
            nodes: nodesOf(nest, tree),
            over: reductionBands(tree),
            part,
            ...laneOf(split),
            ahead,
            deliver: ({ node, states, frame: at }) => {
              storeStates(nest, { split, node, states, chunk: number }, at);
            },
          },
          frames,
        );
      });
    });
  });
  const cycles = (typicalValue(chunk) * extentProduct(reductionBands(tree).slice(1))) / 8;
  const grain = staticValue(total) === 1 ? int(1) : grainOf(nest, total, Math.max(1, cycles));
  writer.emit({ kind: 'parallel', begin, end, total, grain, body });
}

const laneOf = (split: Split): { readonly lane?: { readonly axis: string; readonly lanes: number } } => {
  const isReduced = reductionBands(split.tree).some((band) => band.axis.name === split.laneAxis?.name);
  return isReduced && split.laneAxis !== undefined ? { lane: { axis: split.laneAxis.name, lanes: split.lanes } } : {};
};

interface Opening {
  readonly split: Split;
  readonly frame: Frame;
  readonly instances: number;
}

/** Opens the loop over the lanes where results are the lanes. */
function withLanes(nest: Nest, { split, frame, instances }: Opening, body: (frames: readonly Frame[]) => void): void {
  const { laneAxis, lanes } = split;
  if (laneAxis === undefined || !parallelBands(split.tree).some((band) => band.axis.name === laneAxis.name)) {
    body([frame]);
    return;
  }
  vectorLoop(nest, { ...wholeRange(laneAxis), lanes, instances, unroll: 1 }, (vectors) => {
    body(vectors.map((vector) => vectorFrame(frame, laneAxis.name, vector)));
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

interface Partial {
  readonly split: Split;
  readonly node: Carrying;
  readonly chunk: Index;
}

const placeOf = (nest: Nest, { split, chunk }: Partial, frame: Frame) => {
  const index = add(multiply(chunk, split.results), resultNumber(split, frame));
  const evaluator = new BodyEvaluator({ nodes: [], results: [] }, evaluationAt(nest, frame));
  const lanes = frame.lane !== undefined && evaluator.varies(index) ? frame.lane : undefined;
  return { ...evaluator.place(index), ...(lanes?.count === undefined ? {} : { count: lanes.count }) };
};

function storeStates(nest: Nest, partial: Partial & { readonly states: readonly Value[] }, frame: Frame): void {
  const buffers = partial.split.partials.get(partial.node) ?? [];
  partial.states.forEach((value, slot) => {
    const { name } = at(buffers, slot);
    nest.writer.emit({ kind: 'store', access: { buffer: name, ...placeOf(nest, partial, frame), align: 1 }, value });
  });
}

function loadStates(nest: Nest, partial: Partial, frame: Frame): readonly Value[] {
  const buffers = partial.split.partials.get(partial.node) ?? [];
  return buffers.map(({ name, dtype }) => {
    const access = { buffer: name, ...placeOf(nest, partial, frame), align: 1 };
    const type = { dtype, lanes: frame.lane?.lanes ?? 1 };
    return nest.writer.define({ kind: 'load', type, access }, 'partial_state', nest.writer.depth);
  });
}

/** state := partial 0; then the other chunks' in ascending order. */
function writeMerges(nest: Nest, split: Split): void {
  const outer = parallelBands(split.tree).filter((band) => band.axis.name !== split.laneAxis?.name);
  const open = (depth: number, frame: Frame): void => {
    const band = outer[depth];
    if (band !== undefined) {
      scalarLoop(nest, wholeRange(band.axis), (value) => {
        open(depth + 1, bindAxis(frame, band.axis.name, value));
      });
      return;
    }
    withLanes(nest, { split, frame, instances: 1 }, (frames) => {
      for (const inner of frames) for (const node of split.partials.keys()) mergeChunks(nest, { split, node }, inner);
    });
  };
  open(0, emptyFrame);
}

function mergeChunks(nest: Nest, { split, node }: Omit<Partial, 'chunk'>, frame: Frame): void {
  const { writer } = nest;
  const first = loadStates(nest, { split, node, chunk: int(0) }, frame);
  const state = first.map((value): Value => {
    const name = writer.fresh('state');
    writer.emit({ kind: 'var', name, value });
    return { kind: 'name', name, type: value.type };
  });
  const range = { axis: { name: 'chunk', extent: split.chunks }, from: int(1), to: split.chunks };
  scalarLoop(nest, range, (chunk) => {
    const right = loadStates(nest, { split, node, chunk }, frame);
    const merged = merge(nest, node, { left: state, right, point: frame });
    state.forEach((value, slot) => {
      if (value.kind === 'name') writer.emit({ kind: 'set', name: value.name, value: at(merged, slot) });
    });
  });
  finish(nest, { node, states: state, frame });
}
