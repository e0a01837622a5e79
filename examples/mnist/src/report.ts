// Draws what the demo found as one page: learning curves, the confusion matrix, misread digits, step times, and the
// generated C++ of a training step beside the TypeScript that it came from.
import { parse, View } from 'vega';
import { compile as compileChart } from 'vega-lite';
import type { TopLevelSpec } from 'vega-lite';
import type { Digits } from './data.ts';
import { pixels } from './data.ts';
import type { Agreement, StepTimes } from './measure.ts';
import type { Misread, TrainingResult } from './train.ts';

export interface ReportInput {
  readonly results: readonly TrainingResult[];
  readonly times: StepTimes;
  readonly agreement: Agreement;
  readonly test: Digits;
  readonly typescript: string;
  readonly cpp: string;
  readonly explanation: string;
}

const escape = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${String(character.charCodeAt(0))};`);

/** The whole page, self-contained. */
export async function drawReport(input: ReportInput): Promise<string> {
  const charts = await Promise.all(
    [learningCurve(input), accuracyCurve(input), ...input.results.map(confusion)].map(draw),
  );
  const best = input.results.at(-1);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>tsinductor: MNIST</title><style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1280px; color: #222; }
h2 { margin-top: 2.5rem; } figure { display: inline-block; margin: 0 1.5rem 1.5rem 0; vertical-align: top; }
table { border-collapse: collapse; } td, th { padding: 0.25rem 1rem; border-bottom: 1px solid #ddd; text-align: left; }
.pair { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 1rem; }
pre { background: #f6f6f4; padding: 1rem; overflow: auto; max-height: 40rem; font-size: 12px; line-height: 1.4; }
.digit { display: inline-block; margin: 0.4rem; text-align: center; font-size: 12px; }
</style></head><body>
<h1>MNIST, every step compiled</h1>
${summary(input)}
<h2>Learning</h2>
${charts.map((chart) => `<figure>${chart}</figure>`).join('\n')}
<h2>Misread by the ${escape(best?.model ?? '')}</h2>
${(best?.misread ?? [])
  .slice(0, 24)
  .map((misread) => drawDigit(input.test, misread))
  .join('\n')}
<h2>One training step</h2>
<div class="pair"><pre>${escape(input.typescript)}</pre><pre>${escape(input.cpp)}</pre></div>
<h2>What the compiler decided</h2>
<pre>${escape(input.explanation)}</pre>
</body></html>
`;
}

function summary({ results, times, agreement }: ReportInput): string {
  const percent = (value: number): string => `${(100 * value).toFixed(2)} %`;
  const rows = [
    ...results.map((result) => [`${result.model}: test digits read right`, percent(result.accuracy)]),
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
  return `<table>${rows.map(([name, value]) => `<tr><th>${escape(name ?? '')}</th><td>${escape(value ?? '')}</td></tr>`).join('')}</table>`;
}

async function draw(spec: TopLevelSpec): Promise<string> {
  return new View(parse(compileChart(spec).spec), { renderer: 'none' }).toSVG();
}

function learningCurve({ results }: ReportInput): TopLevelSpec {
  const values = results.flatMap(({ model, losses }) =>
    losses.flatMap((loss, step) => (step % 10 === 0 ? [{ model, step, loss }] : [])),
  );
  return {
    title: 'Mean cross entropy of each batch',
    width: 420,
    height: 260,
    data: { values },
    mark: { type: 'line', opacity: 0.8, strokeWidth: 1 },
    encoding: {
      x: { field: 'step', type: 'quantitative' },
      y: { field: 'loss', type: 'quantitative', scale: { type: 'log' } },
      color: { field: 'model', type: 'nominal' },
    },
  };
}

function accuracyCurve({ results }: ReportInput): TopLevelSpec {
  const values = results.flatMap(({ model, epochs }) =>
    epochs.map(({ epoch, accuracy }) => ({ model, epoch, accuracy })),
  );
  return {
    title: 'Accuracy on the 10,000 test digits',
    width: 420,
    height: 260,
    data: { values },
    mark: { type: 'line', point: true },
    encoding: {
      x: { field: 'epoch', type: 'ordinal' },
      y: { field: 'accuracy', type: 'quantitative', scale: { zero: false }, axis: { format: '.1%' } },
      color: { field: 'model', type: 'nominal' },
    },
  };
}

function confusion({ model, confusion: counts }: TrainingResult): TopLevelSpec {
  const values = counts.flatMap((row, label) => row.map((count, guess) => ({ label, guess, count })));
  return {
    title: `Confusion: ${model}`,
    width: 320,
    height: 320,
    data: { values },
    encoding: { x: { field: 'guess', type: 'ordinal' }, y: { field: 'label', type: 'ordinal' } },
    layer: [
      { mark: 'rect', encoding: { color: { field: 'count', type: 'quantitative', scale: { type: 'symlog' } } } },
      { mark: { type: 'text', fontSize: 10 }, encoding: { text: { field: 'count' } } },
    ],
  };
}

function drawDigit(digits: Digits, { index, label, guess }: Misread): string {
  const image = digits.images.subarray(index * pixels, (index + 1) * pixels);
  const dots = Array.from(image).flatMap((value, position) =>
    value === 0
      ? []
      : [
          `<rect x="${String(position % 28)}" y="${String(Math.floor(position / 28))}" width="1" height="1" fill-opacity="${value.toFixed(2)}"/>`,
        ],
  );
  const caption = `${String(label)} read as ${String(guess)}`;
  return `<div class="digit"><svg width="64" height="64" viewBox="0 0 28 28" style="background:#f2f2ee">${dots.join('')}</svg><br>${caption}</div>`;
}
