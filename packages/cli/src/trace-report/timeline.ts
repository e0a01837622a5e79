// When what was compiled. In: the events of processes. Out: a drawing: for each process a row, with a bar for each graph, as long as
// compiling it took, and a mark for each recompilation and graph break.
import type { RecordedEvent } from '@tsinductor/compiler';
import { duration, escaped } from './html.ts';
import type { TracedProcess } from './read-trace.ts';

const width = 1000;
const rowHeight = 34;
const left = 90;

interface Span {
  readonly from: number;
  readonly to: number;
}

export function timeline(processes: readonly TracedProcess[]): string {
  const spans = processes.flatMap(({ events }) => events.map(spanOf));
  const [start, end] = [Math.min(...spans.map(({ from }) => from)), Math.max(...spans.map(({ to }) => to))];
  const scale = (width - left - 10) / Math.max(1, end - start);
  const place = (time: number): string => (left + (time - start) * scale).toFixed(2);
  const rows = processes.map(({ id, events }, row) => {
    const top = 10 + row * rowHeight;
    const shapes = events.map((event) => shapeOf(event, { top, place, scale }));
    return `<text x="4" y="${String(top + 15)}">${escaped(id)}</text>${shapes.join('')}`;
  });
  const bottom = 10 + processes.length * rowHeight;
  const axis = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const time = start + (end - start) * part;
    const anchor = part === 1 ? 'end' : part === 0 ? 'start' : 'middle';
    return `<text x="${place(time)}" y="${String(bottom + 12)}" text-anchor="${anchor}">${duration(time - start)}</text>`;
  });
  return `<svg class="timeline" viewBox="0 0 ${String(width)} ${String(bottom + 18)}">${[...rows, ...axis].join('\n')}</svg>`;
}

const spanOf = (event: RecordedEvent): Span => ({
  from: event.at - (event.event === 'compiled' ? (event.milliseconds ?? 0) : 0),
  to: event.at,
});

interface Row {
  readonly top: number;
  readonly place: (time: number) => string;
  readonly scale: number;
}

function shapeOf(event: RecordedEvent, { top, place, scale }: Row): string {
  const { from, to } = spanOf(event);
  const titled = (text: string): string => `<title>${escaped(text)}</title>`;
  switch (event.event) {
    case 'compiled': {
      const wide = Math.max(2, (to - from) * scale).toFixed(2);
      const title = titled(`${event.function}: ${event.origin ?? event.runsOn}, ${duration(to - from)}`);
      const look = event.origin === 'built' ? 'built' : 'found';
      return `<rect class="${look}" x="${place(from)}" y="${String(top)}" width="${wide}" height="20">${title}</rect>`;
    }
    case 'recompiles':
    case 'graph_breaks': {
      const [x, y] = [place(to), String(top + 20)];
      const title = titled(`${event.function}: ${event.text}`);
      return `<path class="${event.event}" d="M ${x} ${y} l -5 9 l 10 0 z">${title}</path>`;
    }
    case 'guards':
    case 'stages':
      return '';
  }
}
