// Parts of the pages that the demos write: the frame, charts as SVG, the confusion matrix, digits as they were read.
import { parse, View } from 'vega';
import { compile as compileChart } from 'vega-lite';
import type { TopLevelSpec } from 'vega-lite';
import type { Digits } from './data.ts';
import { pixels } from './data.ts';
import type { EpochResult, Misread, Tested } from './train.ts';

/** What is drawn of one model's training. */
export interface Drawn extends Tested {
  readonly model: string;
  readonly epochs: readonly EpochResult[];
  readonly losses: readonly number[];
}

export const escape = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${String(character.charCodeAt(0))};`);

/** A whole page, self-contained. */
export const page = (title: string, body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>tsinductor: ${escape(title)}</title><style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1280px; color: #222; }
h2 { margin-top: 2.5rem; } figure { display: inline-block; margin: 0 1.5rem 1.5rem 0; vertical-align: top; }
table { border-collapse: collapse; } td, th { padding: 0.25rem 1rem; border-bottom: 1px solid #ddd; text-align: left; }
.pair { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 1rem; }
pre { background: #f6f6f4; padding: 1rem; overflow: auto; max-height: 40rem; font-size: 12px; line-height: 1.4; }
.digit { display: inline-block; margin: 0.4rem; text-align: center; font-size: 12px; }
</style></head><body>
<h1>${escape(title)}</h1>
${body}
</body></html>
`;

/** Names and values as a table. */
export const table = (rows: readonly (readonly [name: string, value: string])[]): string =>
  `<table>${rows.map(([name, value]) => `<tr><th>${escape(name)}</th><td>${escape(value)}</td></tr>`).join('')}</table>`;

export const percent = (value: number): string => `${(100 * value).toFixed(2)} %`;

/** The learning curves and confusion matrices of some models, as figures. */
export async function drawLearning(results: readonly Drawn[]): Promise<string> {
  const charts = [learningCurve(results), accuracyCurve(results), ...results.map(confusion)];
  const drawn = await Promise.all(charts.map(draw));
  return drawn.map((chart) => `<figure>${chart}</figure>`).join('\n');
}

/** The first misread digits. */
export function drawMisread(digits: Digits, misread: readonly Misread[]): string {
  const bytes = digits.images.toTypedArray() as Uint8Array;
  return misread
    .slice(0, 24)
    .map((one) => drawDigit(bytes, one))
    .join('\n');
}

async function draw(spec: TopLevelSpec): Promise<string> {
  return new View(parse(compileChart(spec).spec), { renderer: 'none' }).toSVG();
}

function learningCurve(results: readonly Drawn[]): TopLevelSpec {
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

function accuracyCurve(results: readonly Drawn[]): TopLevelSpec {
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

function confusion({ model, confusion: counts }: Drawn): TopLevelSpec {
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

function drawDigit(bytes: Uint8Array, { index, label, guess }: Misread): string {
  const image = bytes.subarray(index * pixels, (index + 1) * pixels);
  const dots = Array.from(image).flatMap((value, position) =>
    value === 0
      ? []
      : [
          `<rect x="${String(position % 28)}" y="${String(Math.floor(position / 28))}" width="1" height="1" fill-opacity="${(value / 255).toFixed(2)}"/>`,
        ],
  );
  const caption = `${String(label)} read as ${String(guess)}`;
  return `<div class="digit"><svg width="64" height="64" viewBox="0 0 28 28" style="background:#f2f2ee">${dots.join('')}</svg><br>${caption}</div>`;
}
