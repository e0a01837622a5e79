// Compiles a graph that was kept once more, and says what came of it: `tsinductor run FOLDER`.
import { readFileSync } from 'node:fs';
import { replayGraph } from '@tsinductor/compiler';
import { renderTable } from './table.ts';
import type { Outcome } from './terminal.ts';

/** The status is 1 where a result is further from the interpreter's than rounding explains. */
export function replayFile(file: string): Outcome {
  const notes: string[] = [];
  const voice = {
    warn: (code: string, message: string) => notes.push(`${code}: ${message}`),
    log: (topic: string, message: string) => notes.push(`[${topic}] ${message}`),
  };
  const { name, report, milliseconds, differences } = replayGraph(readFileSync(file, 'utf8'), voice);
  const { runsOn, cacheKey, origin, kernels } = report;
  const results = differences.map((difference) => ({ difference, isNear: difference <= tolerance }));
  return {
    data: { name, runsOn, cacheKey, origin, milliseconds, kernels, results, notes },
    status: results.every(({ isNear }) => isNear) ? 0 : 1,
    text: (colors) =>
      [
        `${colors.bold(name)}: ${runsOn}${origin === undefined ? '' : `, ${origin}`}, ${milliseconds.toFixed(3)} ms a call`,
        ...(cacheKey === undefined ? [] : [`key ${cacheKey}`]),
        renderTable(
          ['kernel', 'what it does'],
          kernels.map((kernel) => [kernel.name, kernel.description]),
          colors,
        ),
        renderTable(
          ['result', 'largest difference from the interpreter'],
          results.map(({ difference, isNear }, position) => [
            String(position),
            `${difference.toPrecision(3)}${isNear ? '' : colors.red(' (too far)')}`,
          ]),
          colors,
        ),
        ...notes,
      ].join('\n'),
  };
}

/** Inputs are between 0 and 1: what rounding in another order of sums makes of them is far below this. */
const tolerance = 1e-2;
