// Loops over the points of an axis that count, where a kernel finds out which these are: they are runs of points, whose ends are in scratch.
import { named } from '@tsinductor/codegen';
import { add, int, maximum, minimum, multiply, subtract } from '@tsinductor/ir';
import type { Axis, Index } from '@tsinductor/ir';
import { scalarLoop } from './loops.ts';
import type { Range } from './loops.ts';
import type { Nest } from './nest.ts';

export interface Runs {
  /** Where each begins (2i) and ends (2i + 1), in order, as i64. */
  readonly buffer: string;
  readonly count: Index;
  /** What all places where runs begin are multiples of, and all where they end. */
  readonly multiples: readonly [starts: number, ends: number];
}

/** The parts of a whole axis that count: one after another, where they are runs. */
export function eachRun(nest: Nest, range: Range, body: (part: Range) => void): void {
  const runs = nest.runs?.get(range.axis.name);
  if (runs === undefined) body(range);
  else throughRuns(nest, { runs, axis: range.axis }, body);
}

interface Block {
  readonly runs: Runs | undefined;
  readonly axis: Axis;
  /** Its first point, and how many it has. */
  readonly first: Index;
  readonly count: Index;
}

/** The points of a block of an axis that count, from its first point on. */
export function runsWithin(
  nest: Nest,
  { runs, axis, first, count }: Block,
  body: (part: Pick<Range, 'from' | 'to'>) => void,
): void {
  if (runs === undefined) body({ from: int(0), to: count });
  else
    throughRuns(nest, { runs, axis }, ({ from, to }) => {
      body({ from: maximum(subtract(from, first), int(0)), to: minimum(subtract(to, first), count) });
    });
}

export function throughRuns(
  nest: Nest,
  { runs, axis }: { readonly runs: Runs; readonly axis: Axis },
  body: (part: Range) => void,
): void {
  const { writer, memory } = nest;
  const type = { dtype: 'i64', lanes: 1 } as const;
  scalarLoop(nest, { axis: { name: 'run', extent: runs.count }, from: int(0), to: runs.count }, (run) => {
    const [from, to] = (['run_start', 'run_end'] as const).map((base, side): Index => {
      const access = { buffer: runs.buffer, at: add(multiply(run, int(2)), int(side)), step: int(0), align: 8 };
      const value = writer.define({ kind: 'load', type, access }, base, writer.depth);
      if (value.kind !== 'name') return int(0);
      memory.multiples.set(value.name, runs.multiples[side] ?? 1);
      return named(value.name, add(axis.extent, int(1)));
    }) as [Index, Index];
    body({ axis, from, to });
  });
}
