// The `compile` suite: how the time from a function to native code, and the text on the way, grow with the graph, for ten
// families of graphs up to 5,000 calls of operators.
import Table from 'cli-table3';
import pc from 'picocolors';
import { families } from './compile/families.ts';
import { drawGrowth } from './compile/draw-growth.ts';
import { growthOf, linear, totalMs } from './compile/growth.ts';
import { measureFamily } from './compile/measure-family.ts';
import type { CompileRow } from './compile/measure-family.ts';
import { matching } from './own-suite.ts';
import type { OwnOptions, OwnSuite } from './own-suite.ts';
import { duration } from './statistics.ts';

/** Calls of operators. */
const sizes: readonly number[] = [156, 312, 625, 1250, 2500, 5000];

function measureCompiling({ filter, progress }: OwnOptions): readonly CompileRow[] {
  return matching(families, filter).flatMap((family, index) => {
    progress(index, `compiling, ${family.name}`);
    return [...measureFamily(family, sizes)];
  });
}

const columns = ['family', 'calls', 'primitives', 'kernels', 'distinct', 'trace', 'schedule', 'print', 'C++ compiler', 'all', 'text', 'bytes a call']; // prettier-ignore

/** One line for each graph. */
function compileTable(rows: readonly CompileRow[]): string {
  const table = new Table({ head: columns.map((text) => pc.bold(text)), style: { head: [], border: [] } });
  for (const row of rows) {
    const { traceMs, scheduleMs, printMs, compilerMs } = row;
    const times = [traceMs, scheduleMs, printMs, compilerMs, totalMs(row)].map(duration);
    const counts = [row.nodes, row.primitives, row.kernels, row.distinct].map(String);
    const text = [`${(row.textBytes / 1000).toFixed(0)} kB`, (row.textBytes / row.nodes).toFixed(0)];
    table.push([row.family, ...counts, ...times, ...text]);
  }
  return table.toString();
}

/** How each family grows: time and text are nodes to these powers. */
function growthTable(rows: readonly CompileRow[]): string {
  const head = ['family', 'time ~ calls ^', 'text ~ calls ^'].map((text) => pc.bold(text));
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const name of new Set(rows.map(({ family }) => family))) {
    const { time, text } = growthOf(rows.filter(({ family }) => family === name));
    const cells = [time, text].map((power) => (power > linear ? pc.red(power.toFixed(2)) : power.toFixed(2)));
    table.push([name, ...cells]);
  }
  return table.toString();
}

export const compileSuite: OwnSuite<CompileRow> = {
  name: 'compile',
  cases: (filter) => matching(families, filter).map(({ name }) => name),
  measure: measureCompiling,
  tables: (rows) => [compileTable(rows), growthTable(rows)],
  draw: drawGrowth,
};
