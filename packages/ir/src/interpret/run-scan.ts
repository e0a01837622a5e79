// Scans over vectors: rows are consecutive positions, columns are outputs. What does not depend on the state is computed
// for all rows at once; the rest row by row, in order, as a scan is defined.
import { at } from '@tsinductor/base';
import type { ScanNode } from '../loop.ts';
import { Side } from './grid.ts';
import type { Grid } from './grid.ts';
import { chunk } from './run-map.ts';
import type { Execution, RunNode } from './run-node.ts';
import { VectorBody } from './vector-body.ts';
import type { Vector } from './vector-loops.ts';
import { scatter } from './vector-memory.ts';

export function compileScan(node: ScanNode, execution: Execution): RunNode {
  const { frame } = execution;
  const [rows, columns] = [new Side(node.over, frame.sizes), new Side(node.axes, frame.sizes)];
  if (rows.total * columns.total === 0) return () => undefined;
  const width = Math.min(columns.total, chunk);
  const height = Math.max(1, Math.min(rows.total, Math.floor(chunk / width)));
  const grid: Grid = { rows, columns, capacity: width * height };
  const step = new VectorBody(node.step, grid, frame);
  const finish = new VectorBody(node.finish, grid, frame);
  const writes = node.writes.map((write) => finish.index(write));
  const dtypes = finish.resultDTypes;
  return () => {
    for (columns.start = 0; columns.start < columns.total; columns.start += width) {
      columns.count = Math.min(width, columns.total - columns.start);
      const states = initialStates(node, execution, columns.count);
      for (rows.start = 0; rows.start < rows.total; rows.start += height) {
        rows.count = Math.min(height, rows.total - rows.start);
        step.runIndependent();
        for (let row = 0; row < rows.count; row += 1)
          advance({ step, finish, states }, row * columns.count, columns.count);
        finish.run();
        node.outs.forEach((out, position) => {
          scatter(
            { array: frame.buffer(out), dtype: at(dtypes, position) },
            at(writes, position).places(),
            finish.result(position),
          );
        });
      }
    }
  };
}

function initialStates(node: ScanNode, { frame }: Execution, count: number): readonly Vector[] {
  const side = (points: number): Side => Object.assign(new Side([], frame.sizes), { count: points });
  const init = new VectorBody(node.init, { rows: side(1), columns: side(count), capacity: count }, frame);
  init.run();
  return node.state.map((_, slot) => init.result(slot).slice());
}

interface Scan {
  readonly step: VectorBody;
  readonly finish: VectorBody;
  readonly states: readonly Vector[];
}

/** One row: the state before it, its step, and the state after it where `finish` reads it. */
function advance({ step, finish, states }: Scan, from: number, count: number): void {
  states.forEach((state, slot) => copyPart(state, step.state(slot), { source: 0, target: from, count }));
  step.runDependent({ from, to: from + count });
  states.forEach((state, slot) => {
    const next = step.result(slot);
    copyPart(next, state, { source: from, target: 0, count });
    copyPart(next, finish.state(slot), { source: from, target: from, count });
  });
}

function copyPart(
  source: Vector,
  target: Vector | undefined,
  part: { source: number; target: number; count: number },
): void {
  if (target === undefined) return;
  if (part.count === 1) target[part.target] = source[part.source] ?? 0;
  else
    (target as Float64Array).set((source as Float64Array).subarray(part.source, part.source + part.count), part.target);
}
