// The stages that a graph went through. In: their texts. Out: a part of a page for each: what changed, or the whole where a stage makes
// another form (of a graph loops, of loops C++).
import type { StagesEvent } from '@tsinductor/compiler';
import { code, duration, escaped, folded } from './html.ts';
import { diffLines } from './line-diff.ts';
import type { DiffLine } from './line-diff.ts';

/** Two texts with less in common are two forms. */
const leastInCommon = 0.3;
/** Lines around a change that are shown. */
const around = 2;

export function stagesPart({ stages, times }: Pick<StagesEvent, 'stages' | 'times'>, traced: string): string {
  let before = traced;
  const parts = stages.map(({ name, doc, summary, isSame, text }) => {
    const time = times.find((one) => one.name === name)?.milliseconds;
    const said = [isSame ? 'nothing changed' : summary, ...(time === undefined ? [] : [duration(time)])].join(', ');
    const title = `<b>${escaped(name)}</b> <span class="quiet">${escaped(doc)}</span>: ${escaped(said)}`;
    if (isSame) return `<p class="same">${title}</p>`;
    const body = changes(before, text);
    before = text;
    return folded(title, body);
  });
  return parts.join('\n');
}

function changes(before: string, after: string): string {
  const lines = diffLines(before.trimEnd(), after.trimEnd());
  const same = lines.filter(({ kind }) => kind === 'same').length;
  if (same < leastInCommon * lines.length) return code(after);
  return `<pre>${shownLines(lines).join('\n')}</pre>`;
}

/** What changed, with some lines around it; what lies between is counted. */
function shownLines(lines: readonly DiffLine[]): readonly string[] {
  const changed = lines.flatMap(({ kind }, position) => (kind === 'same' ? [] : [position]));
  const isShown = (position: number): boolean => changed.some((change) => Math.abs(change - position) <= around);
  const shown: string[] = [];
  let left = 0;
  const count = (): void => {
    if (left > 0) shown.push(`<i>… ${String(left)} lines …</i>`);
    left = 0;
  };
  for (const [position, { kind, text }] of lines.entries()) {
    if (!isShown(position)) {
      left += 1;
      continue;
    }
    count();
    shown.push(`<span class="${kind}">${escaped(text)}</span>`);
  }
  count();
  return shown;
}
