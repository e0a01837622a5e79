// Draws time and text against nodes, a chart for each family, on logarithmic axes: what is linear rises by one decade in one.
import type { TopLevelSpec } from 'vega-lite';
import { totalMs } from './growth.ts';
import type { CompileRow } from './measure-family.ts';

interface Point {
  readonly family: string;
  readonly nodes: number;
  readonly what: string;
  readonly value: number;
}

/** The stages in the order of the legend; text stands beside times, in kilobytes. */
const curves: Readonly<Record<string, (row: CompileRow) => number>> = {
  'all, ms': totalMs,
  'trace, ms': ({ traceMs }) => traceMs,
  'schedule, ms': ({ scheduleMs }) => scheduleMs,
  'print, ms': ({ printMs }) => printMs,
  'C++ compiler, ms': ({ compilerMs }) => compilerMs,
  'text, kB': ({ textBytes }) => textBytes / 1000,
};

const pointsOf = (row: CompileRow): readonly Point[] =>
  Object.entries(curves).map(([what, valueOf]) => ({
    family: row.family,
    nodes: row.nodes,
    what,
    value: Math.max(valueOf(row), 0.1),
  }));

/** An SVG of all rows. The drawing library is loaded here: a machine where nothing is drawn need not have it. */
export async function drawGrowth(rows: readonly CompileRow[]): Promise<string> {
  const families = [...new Set(rows.map(({ family }) => family))];
  const spec: TopLevelSpec = {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    background: 'white',
    title: 'Compiling: time and text against calls of operators (both logarithmic; dashed: linear)',
    data: { values: rows.flatMap(pointsOf) },
    facet: { field: 'family', type: 'nominal', sort: families, title: null },
    columns: 5,
    spec: {
      width: 220,
      height: 200,
      layer: [
        {
          mark: { type: 'line', point: { size: 18 } },
          encoding: {
            x: { field: 'nodes', type: 'quantitative', scale: { type: 'log' }, title: 'calls of operators' },
            y: { field: 'value', type: 'quantitative', scale: { type: 'log' }, title: 'ms, kB' },
            color: { field: 'what', type: 'nominal', sort: Object.keys(curves), title: null },
          },
        },
        {
          data: { values: [100, 5000].map((nodes) => ({ nodes, value: nodes })) },
          mark: { type: 'line', strokeDash: [4, 3], color: '#999', strokeWidth: 1 },
          encoding: {
            x: { field: 'nodes', type: 'quantitative' },
            y: { field: 'value', type: 'quantitative' },
          },
        },
      ],
    },
  };
  const [{ parse, View }, { compile }] = await Promise.all([import('vega'), import('vega-lite')]);
  return new View(parse(compile(spec).spec), { renderer: 'none' }).toSVG();
}
