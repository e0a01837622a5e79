// How something grows with the size of a graph: the exponent of the power of nodes that fits it best.
import { at } from '@tsinductor/base';
import type { CompileRow } from './measure-family.ts';

/** Up to this exponent, growth counts as linear: the rest is noise, and what caches do. */
export const linear = 1.15;

/** The slope of the line through the logarithms of `points`, by least squares. */
export function exponentOf(points: readonly (readonly [size: number, value: number])[]): number {
  const logs = points.map(([size, value]) => [Math.log(size), Math.log(value)] as const);
  const mean = (position: 0 | 1): number => logs.reduce((sum, pair) => sum + pair[position], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const squares = logs.reduce((sum, [size]) => sum + (size - x) ** 2, 0);
  return logs.reduce((sum, [size, value]) => sum + (size - x) * (value - y), 0) / squares;
}

/** What compiling the graph takes from the function to native code. */
export const totalMs = ({ traceMs, scheduleMs, printMs, compilerMs }: CompileRow): number =>
  traceMs + scheduleMs + printMs + compilerMs;

/** How a family grows, by its larger graphs: the smallest third mostly takes what every graph does. */
export interface Growth {
  readonly family: string;
  readonly time: number;
  readonly text: number;
}

export function growthOf(rows: readonly CompileRow[]): Growth {
  const large = rows.toSorted((a, b) => a.nodes - b.nodes).slice(Math.floor(rows.length / 3));
  return {
    family: at(rows, 0).family,
    time: exponentOf(large.map((row) => [row.nodes, totalMs(row)])),
    text: exponentOf(large.map((row) => [row.nodes, row.textBytes])),
  };
}
