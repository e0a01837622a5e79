// Draws what the demo found as one page: learning curves, the confusion matrix, misread digits, step times, and the
// generated C++ of a training step beside the TypeScript that it came from.
import type { Digits } from './data.ts';
import type { Agreement, StepTimes } from './measure.ts';
import { drawLearning, drawMisread, escape, page, percent, table } from './page.ts';
import type { TrainingResult } from './train.ts';

export interface ReportInput {
  readonly results: readonly TrainingResult[];
  readonly times: StepTimes;
  readonly agreement: Agreement;
  readonly test: Digits;
  readonly typescript: string;
  readonly cpp: string;
  readonly explanation: string;
}

/** The whole page, self-contained. */
export async function drawReport(input: ReportInput): Promise<string> {
  const best = input.results.at(-1);
  const body = `${summary(input)}
<h2>Learning</h2>
${await drawLearning(input.results)}
<h2>Misread by the ${escape(best?.model ?? '')}</h2>
${drawMisread(input.test, best?.misread ?? [])}
<h2>One training step</h2>
<div class="pair"><pre>${escape(input.typescript)}</pre><pre>${escape(input.cpp)}</pre></div>
<h2>What the compiler decided</h2>
<pre>${escape(input.explanation)}</pre>`;
  return page('MNIST, every step compiled', body);
}

function summary({ results, times, agreement }: ReportInput): string {
  const rows: (readonly [string, string])[] = [
    ...results.map((result) => [`${result.model}: test digits read right`, percent(result.accuracy)] as const),
    ['step, compiled', `${times.compiledMs.toFixed(3)} ms`],
    ['step, eager interpreter', `${times.eagerMs.toFixed(1)} ms`],
    [
      `step, PyTorch ${times.torchVersion ?? ''}`,
      times.torchMs === undefined ? (times.torchWhy ?? 'not measured') : `${times.torchMs.toFixed(3)} ms`,
    ],
    [
      `first ${String(agreement.steps)} losses against eager`,
      `${agreement.worst.toExponential(1)} relative (bound ${agreement.bound.toExponential(1)})`,
    ],
  ];
  return table(rows);
}
