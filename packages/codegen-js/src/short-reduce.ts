// Reductions of a few positions, of many outputs: all positions of an output are written out, and its lanes are variables. In: a
// reduction of at most `mostPositions`. Out: one loop nest over the outputs.
//
// Law: the order is that of `reduce-text.ts`: lanes take positions in turn, then the upper half of the lanes is merged into the lower.
import { at } from '@tsinductor/base';
import type { ReduceNode } from '@tsinductor/ir';
import { writeBody, writeOverStates } from './body-writer.ts';
import { KernelText } from './kernel-text.ts';
import { coordinatesOf, indexesOf, loopOver, loopsOf, pointOf } from './loop-form.ts';
import type { LoopForm } from './loop-form.ts';
import type { Printed, Printing } from './map-text.ts';
import { Nest } from './nest.ts';
import { stateBounds, stateValue } from './state-kinds.ts';
import { bigintText } from './values.ts';
import type { Value } from './values.ts';
import { storeResults } from './write-values.ts';

/** Beyond these a function is too long for what it gains: positions, and operations of all of them. */
const mostPositions = 64;
const mostOperations = 600;

/** Whether writing the positions out pays. */
export const isShort = ({ node, axes }: LoopForm<ReduceNode>, positions: number): boolean => {
  const outputs = axes.slice(0, node.axes.length).reduce((count, { extent }) => count * extent, 1);
  const operations = positions * (node.step.nodes.length + node.merge.nodes.length);
  return positions > 0 && positions <= mostPositions && operations <= mostOperations && outputs >= positions;
};

interface Lanes {
  readonly lanes: number;
  readonly positions: number;
}

export function printShortReduce(form: LoopForm<ReduceNode>, { lanes, positions }: Lanes, printing: Printing): Printed {
  const { node, axes, isGiven, place } = form;
  const kernel = new KernelText(printing.helpers);
  const outer = node.axes.length;
  const joined = loopsOf(form, indexesOf([node.step, node.finish], node.writes), outer).filter(
    (loop) => at(loop, 0) < outer,
  );
  const loops = joined.map((own) => loopOver(kernel, axes, own));
  const nest = new Nest(kernel, loops);
  const placed = loops.map(({ variable }, level) => ({
    axes: at(joined, level),
    placed: { text: variable, level: level + 1 },
  }));
  const coordinates = coordinatesOf(axes, placed);
  const level = nest.innermost;
  const bounds = stateBounds(form, positions);
  /** A state as a variable. */
  const kept = (value: Value, slot: number): Value => {
    const dtype = at(node.state, slot);
    const isBigint = dtype === 'i64' && bounds[slot] === undefined;
    const named = nest.define({ text: isBigint ? bigintText(value) : value.text, level: value.level });
    return { ...stateValue(dtype, named.text, bounds[slot]), level: value.level };
  };
  const scope = { kernel, nest, coordinates, isGiven };
  const start = writeOverStates(node.init, { ...scope, place }, noState).map(kept);
  const states: (readonly Value[])[] = Array.from({ length: lanes }, () => start);
  for (let position = 0; position < positions; position += 1) {
    const lane = position % lanes;
    const own = pointOf(form, pointAt(form, position));
    const carried = (slot: number): Value => at(at(states, lane), slot);
    const { results } = writeBody(node.step, { ...scope, place: own.place, carried });
    states[lane] = results.map((value, slot) => kept({ ...value, level }, slot));
  }
  for (let half = lanes / 2; half >= 1; half /= 2)
    for (let lane = 0; lane < half; lane += 1) {
      const both = [...at(states, lane), ...at(states, lane + half)];
      states[lane] = writeOverStates(node.merge, { ...scope, place }, (slot) => at(both, slot)).map(kept);
    }
  const written = writeBody(node.finish, { ...scope, place, carried: (slot) => at(at(states, 0), slot) });
  const places = node.writes.map((write) => written.place(write));
  const outs = { outs: node.outs, places, dtypeOf: printing.dtypeOf };
  for (const line of storeResults(kernel, written.results, outs)) nest.line(level, line);
  return kernel.finish(nest.printFrom(0));
}

/** The states before any position are made of nothing. */
const noState = (): Value => ({ kind: 'number', text: '0', level: 0 });

/** The coordinates of a position, in row-major order of the axes that are reduced. */
function pointAt({ node, axes }: LoopForm<ReduceNode>, position: number): ReadonlyMap<string, number> {
  const point = new Map<string, number>();
  let rest = position;
  for (const { name, extent } of axes.slice(node.axes.length).reverse()) {
    point.set(name, rest % extent);
    rest = Math.floor(rest / extent);
  }
  return point;
}
