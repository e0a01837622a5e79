// The definitions of kernels in generated source. In: the report of a graph. Out: by the kernel's name, from the line that names it
// to the brace that closes it; a kernel of several functions has them all.
import type { GraphReport } from '../report.ts';

export function kernelTexts({ kernels, source }: Pick<GraphReport, 'kernels' | 'source'>): ReadonlyMap<string, string> {
  const lines = source?.().split('\n') ?? [];
  const names = new Set(kernels.map(({ name }) => name));
  const texts = new Map<string, string>();
  for (const [start, line] of lines.entries()) {
    const name = /void (?:__launch_bounds__\(\d+\) )?(\w+?)(?:_part)?\(.*\{$/.exec(line)?.[1];
    if (name === undefined || !names.has(name)) continue;
    const end = lines.indexOf('}', start);
    const text = lines.slice(start, end + 1).join('\n');
    const before = texts.get(name);
    texts.set(name, before === undefined ? text : `${before}\n${text}`);
  }
  return texts;
}
