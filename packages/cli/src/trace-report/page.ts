// The page of a trace: one file, with its style and its drawings in it, and nothing that is loaded from elsewhere. In: the events of
// processes, and what draws. Out: HTML.
import type { CompiledEvent, DrawSvg, RecordedEvent, StagesEvent, TracedLine } from '@tsinductor/compiler';
import { plural } from '../table.ts';
import { code, duration, escaped, folded, list } from './html.ts';
import type { TracedProcess } from './read-trace.ts';
import { stagesPart } from './stages.ts';
import { pageStyle } from './style.ts';
import { timeline } from './timeline.ts';

/** What is known of one function in one process. */
interface TracedFunction {
  readonly process: string;
  readonly name: string;
  readonly events: readonly RecordedEvent[];
}

export function tracePage(title: string, processes: readonly TracedProcess[], draw: DrawSvg | undefined): string {
  const functions = processes.flatMap(functionsOf);
  const start = Math.min(...processes.flatMap(({ events }) => events.map(({ at }) => at)));
  const contents = functions.map(({ name }, index) => `<a href="#function-${String(index)}">${escaped(name)}</a>`);
  const sections = functions.map((one, index) =>
    functionSection(one, { id: `function-${String(index)}`, start, draw }),
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>${pageStyle}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
<p>${summaryOf(processes)}, from ${new Date(start).toISOString().replace('T', ' ').slice(0, 19)} UTC on.</p>
<h2>Timeline</h2>
<p class="quiet">A row for each process, a bar for each graph: <span class="key built">built</span> <span class="key found">found or
run otherwise</span>; triangles are <span class="recompiles">recompilations</span> and <span class="graph_breaks">graph breaks</span>.</p>
${timeline(processes)}
<nav>${contents.join(' ')}</nav>
${sections.join('\n')}
</body>
</html>
`;
}

function summaryOf(processes: readonly TracedProcess[]): string {
  const events = processes.flatMap((one) => one.events);
  const count = (kind: RecordedEvent['event']): number => events.filter(({ event }) => event === kind).length;
  const functions = processes.reduce((sum, one) => sum + functionsOf(one).length, 0);
  return [
    plural(processes.length, 'process', 'processes'),
    plural(functions, 'function'),
    plural(count('compiled'), 'graph'),
    plural(count('recompiles'), 'recompilation'),
    plural(count('graph_breaks'), 'graph break'),
  ].join(', ');
}

function functionsOf({ id, events }: TracedProcess): readonly TracedFunction[] {
  const names = [...new Set(events.map((event) => event.function))];
  return names.map((name) => ({ process: id, name, events: events.filter((event) => event.function === name) }));
}

interface SectionOptions {
  readonly id: string;
  readonly start: number;
  readonly draw: DrawSvg | undefined;
}

function functionSection({ process, name, events }: TracedFunction, { id, start, draw }: SectionOptions): string {
  const compiled = events.filter((event) => event.event === 'compiled');
  const stages = events.filter((event) => event.event === 'stages');
  const graphs = compiled.map((event, index) =>
    graphPart(
      event,
      stages.findLast(({ graph, at }) => graph === event.graph && at <= event.at),
      { index, draw },
    ),
  );
  return `<section id="${id}">
<h2>${escaped(name)} <span class="quiet">process ${escaped(process)}</span></h2>
<h3>Guards and recompiles over time</h3>
${history(events, start)}
${graphs.join('\n')}
</section>`;
}

/** What was guarded, what was compiled again, and why, in the order in which it happened. */
function history(events: readonly RecordedEvent[], start: number): string {
  const rows = events.flatMap((event) => {
    const said = historyText(event);
    return said === undefined
      ? []
      : [
          `<tr class="${event.event}"><td>${duration(event.at - start)}</td><td>${said[0]}</td><td>${said[1]}</td></tr>`,
        ];
  });
  return `<table class="history"><tr><th>after</th><th>what</th><th></th></tr>${rows.join('')}</table>`;
}

function historyText(event: RecordedEvent): readonly [what: string, text: string] | undefined {
  switch (event.event) {
    case 'compiled':
      return ['compiled', escaped(`${event.origin ?? ''} ${event.runsOn}${tookText(event)}`)];
    case 'guards':
      return ['guards', list(event.text.split('\n').map((line) => line.trim()))];
    case 'recompiles':
      return ['recompiled because', escaped(event.text)];
    case 'graph_breaks':
      return ['graph break', escaped(event.text)];
    case 'stages':
      return undefined;
  }
}

const tookText = ({ milliseconds }: CompiledEvent): string =>
  milliseconds === undefined ? '' : `, ${duration(milliseconds)}`;

interface GraphOptions {
  readonly index: number;
  readonly draw: DrawSvg | undefined;
}

function graphPart(compiled: CompiledEvent, stages: StagesEvent | undefined, { index, draw }: GraphOptions): string {
  const key = compiled.cacheKey === undefined ? '' : ` <span class="quiet">key ${escaped(compiled.cacheKey)}</span>`;
  const made =
    stages === undefined
      ? '<p class="quiet">It went through no stages of ours.</p>'
      : [
          folded('Drawing of the graph', drawing(stages.drawings.graph, draw)),
          folded('Drawing of its loops in their kernels', drawing(stages.drawings.groups, draw)),
          folded(`Stages (${String(stages.stages.length)})`, stagesPart(stages, compiled.text)),
          folded(`Decisions (${String(stages.decisions.length)})`, list(stages.decisions)),
        ].join('\n');
  return `<h3>Graph ${String(index)}${key}</h3>
${code(compiled.text)}
${made}
<h4>Kernels beside their lines</h4>
${compiled.kernels.map((kernel) => kernelPart(kernel, stages)).join('\n')}`;
}

function drawing(text: string, draw: DrawSvg | undefined): string {
  if (draw === undefined)
    return `<p class="quiet">With <code>npm install --save-dev @viz-js/viz</code> this is drawn; it is in the language of Graphviz:</p>${code(text)}`;
  const svg = draw(text);
  return `<div class="drawing">${svg.slice(svg.indexOf('<svg'))}</div>`;
}

function kernelPart({ name, description, code: text }: CompiledEvent['kernels'][number], stages?: StagesEvent): string {
  const lines = stages?.kernels.find((kernel) => kernel.name === name)?.lines ?? [];
  return `<div class="kernel"><div><b>${escaped(name)}</b><p class="quiet">${escaped(description)}</p>${linesPart(lines)}</div>
<div>${text === undefined ? '<p class="quiet">no source of its own</p>' : code(text)}</div></div>`;
}

function linesPart(lines: readonly TracedLine[]): string {
  const rows = lines.map(
    ({ op, file, line, text = '' }) =>
      `<tr><td title="${escaped(file)}">${escaped(file.split('/').at(-1) ?? file)}:${String(line)}</td><td><code>${escaped(text)}</code></td><td>${escaped(op)}</td></tr>`,
  );
  return `<table class="lines">${rows.join('')}</table>`;
}
