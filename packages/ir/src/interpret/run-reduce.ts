// Reductions over vectors.
//
// Note [lanes]: an output has L partial states, its lanes. Lane l takes the positions l, l + L, l + 2 L ...; in the end
// lanes are merged as a tree, the upper half into the lower. A lane takes a few positions one after another, and what it has
// of them is merged with what it has of as many others, pairwise: so a sum of n elements has about log2 n roundings on the
// way to its result instead of n. Vectors hold the lanes of several outputs: point (lane, output), lane first.
import { at } from '@tsinductor/base';
import type { ReduceNode } from '../loop.ts';
import { Side } from './grid.ts';
import type { Grid } from './grid.ts';
import { chunk } from './run-map.ts';
import type { Execution, RunNode } from './run-node.ts';
import { VectorBody } from './vector-body.ts';
import type { Vector } from './vector-loops.ts';
import { scatter } from './vector-memory.ts';

/** Lanes where there are many outputs; a single output takes as many as a vector holds. */
const manyOutputs = 64;

const powerBelow = (count: number): number => 2 ** Math.floor(Math.log2(Math.max(1, count)));

/** How many lanes each of so many outputs has, of so many positions. */
export const laneCount = (positions: number, outputs: number): number => shapeOfVector(positions, outputs).lanes;

/** Lanes and outputs of a vector. */
function shapeOfVector(positions: number, outputs: number): { lanes: number; columns: number } {
  const columns = Math.max(1, Math.min(outputs, chunk / manyOutputs));
  const lanes = Math.min(powerBelow(positions), powerBelow(chunk / columns));
  return { lanes, columns: Math.max(1, Math.min(outputs, Math.floor(chunk / lanes))) };
}

export function compileReduce(node: ReduceNode, execution: Execution): RunNode {
  const { frame } = execution;
  const [rows, columns] = [new Side(node.over, frame.sizes), new Side(node.axes, frame.sizes)];
  if (columns.total === 0) return () => undefined;
  const shape = shapeOfVector(rows.total, columns.total);
  const grid: Grid = { rows, columns, capacity: shape.lanes * shape.columns };
  // Bodies of states alone have points, but no axes.
  const flat: Grid = { rows: single(node), columns: points(), capacity: grid.capacity };
  const ends: Grid = { rows: single(node), columns, capacity: grid.capacity };
  const machine: Machine = {
    node,
    shape,
    grid,
    flat,
    init: new VectorBody(node.init, flat, frame),
    step: rows.total === 0 ? undefined : new VectorBody(node.step, grid, frame),
    merge: new VectorBody(node.merge, flat, frame),
    finish: new VectorBody(node.finish, ends, frame),
  };
  const writes = node.writes.map((write) => machine.finish.index(write));
  const dtypes = machine.finish.resultDTypes;
  return () => {
    for (columns.start = 0; columns.start < columns.total; columns.start += columns.count) {
      columns.count = Math.min(shape.columns, columns.total - columns.start);
      const states = reduceOutputs(machine);
      setStates(machine.finish, states, { first: 0, from: 0, count: columns.count });
      machine.finish.run();
      node.outs.forEach((out, position) => {
        scatter(
          { array: frame.buffer(out), dtype: at(dtypes, position) },
          at(writes, position).places(),
          machine.finish.result(position),
        );
      });
    }
  };
}

const noSizes: ReadonlyMap<string, number> = new Map();

function single(_node: ReduceNode): Side {
  const side = new Side([], noSizes);
  side.count = 1;
  return side;
}

const points = (): Side => new Side([], noSizes);

interface Machine {
  readonly node: ReduceNode;
  readonly shape: { readonly lanes: number; readonly columns: number };
  readonly grid: Grid;
  readonly flat: Grid;
  readonly init: VectorBody;
  /** Undefined where there are no positions. */
  readonly step: VectorBody | undefined;
  readonly merge: VectorBody;
  readonly finish: VectorBody;
}

/** The states of the present columns, one each. */
function reduceOutputs(machine: Machine): readonly Vector[] {
  const { shape, grid, flat, init, step } = machine;
  const width = grid.columns.count;
  flat.columns.count = shape.lanes * width;
  init.run();
  const empty = machine.node.state.map((_, slot) => init.result(slot).slice());
  if (step === undefined) return empty;
  const pairs = new Pairwise(machine, shape.lanes * width);
  const { rows } = grid;
  let states: readonly Vector[] = empty.map((state) => state.slice());
  for (let turn = 1; (turn - 1) * shape.lanes < rows.total; turn += 1) {
    rows.start = (turn - 1) * shape.lanes;
    rows.count = Math.min(shape.lanes, rows.total - rows.start);
    const count = rows.count * width;
    setStates(step, states, { first: 0, from: 0, count });
    step.run();
    states.forEach((state, slot) => copyStart(state, step.result(slot), count));
    if (turn % together !== 0) continue;
    pairs.add(states);
    states = empty.map((state) => state.slice());
  }
  states = pairs.finish(states);
  for (let lanes = shape.lanes / 2; lanes >= 1; lanes /= 2) mergeHalves(machine, states, lanes * width);
  return states;
}

/** Positions that a lane takes one after another. */
const together = 8;

/** Merges states of equal numbers of positions, in their order: as many levels wait as the number of states has binary digits. */
class Pairwise {
  readonly #machine: Machine;
  readonly #count: number;
  readonly #waiting: { readonly states: readonly Vector[]; readonly positions: number }[] = [];

  /** `count` is of points in a state. */
  constructor(machine: Machine, count: number) {
    this.#machine = machine;
    this.#count = count;
  }

  /** States of the next positions, which are this object's from now on. */
  add(states: readonly Vector[]): void {
    let [later, positions] = [states, 1];
    for (let last = this.#waiting.at(-1); last?.positions === positions; last = this.#waiting.at(-1)) {
      this.#waiting.pop();
      later = this.#merged(last.states, later);
      positions *= 2;
    }
    this.#waiting.push({ states: later, positions });
  }

  /** All states as one; `rest` are those of the last positions. */
  finish(rest: readonly Vector[]): readonly Vector[] {
    return this.#waiting.reduceRight((later, { states }) => this.#merged(states, later), rest);
  }

  /** `earlier`, which becomes that of both. */
  #merged(earlier: readonly Vector[], later: readonly Vector[]): readonly Vector[] {
    const { flat, merge, node } = this.#machine;
    flat.columns.count = this.#count;
    setStates(merge, earlier, { first: 0, from: 0, count: this.#count });
    setStates(merge, later, { first: node.state.length, from: 0, count: this.#count });
    merge.run();
    earlier.forEach((state, slot) => {
      copyStart(state, merge.result(slot), this.#count);
    });
    return earlier;
  }
}

function mergeHalves({ flat, merge, node }: Machine, states: readonly Vector[], half: number): void {
  flat.columns.count = half;
  setStates(merge, states, { first: 0, from: 0, count: half });
  setStates(merge, states, { first: node.state.length, from: half, count: half });
  merge.run();
  states.forEach((state, slot) => copyStart(state, merge.result(slot), half));
}

/** Puts states[slot][from .. from + count) where the body has its states `first + slot`. */
function setStates(
  body: VectorBody,
  states: readonly Vector[],
  { first, from, count }: { first: number; from: number; count: number },
): void {
  states.forEach((state, slot) => {
    const target = body.state(first + slot);
    if (target !== undefined) (target as Float64Array).set((state as Float64Array).subarray(from, from + count));
  });
}

function copyStart(target: Vector, source: Vector, count: number): void {
  (target as Float64Array).set((source as Float64Array).subarray(0, count));
}
