// The demo: trains a softmax regression and a two-layer perceptron on MNIST with every step compiled, measures a step
// eager, compiled and in PyTorch, and writes a page with what it found.
//
// node dist/main.js [--epochs N] [--json FILE] [--output DIR]
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { manualSeed } from 'tsinductor';
import { loadDigits } from './data.ts';
import type { Digits } from './data.ts';
import { compareLosses, timeSteps } from './measure.ts';
import { Perceptron, SoftmaxRegression } from './models.ts';
import type { Classifier } from './models.ts';
import { numberOf } from './number-option.ts';
import { progressOf } from './progress.ts';
import { drawReport } from './report.ts';
import { train } from './train.ts';
import type { TrainingResult } from './train.ts';

const batch = 256;

const { values: options } = parseArgs({
  options: {
    epochs: { type: 'string', default: '12' },
    json: { type: 'string' },
    output: { type: 'string', default: 'demo-output' },
  },
});

const epochs = numberOf('epochs', options.epochs, 1);
mkdirSync(options.output, { recursive: true });

function trainWithProgress(model: Classifier, data: { train: Digits; test: Digits }): TrainingResult {
  const { update, stop } = progressOf(model.title);
  const plan = { epochs, batch };
  const result = train(model, data, { plan, progress: update });
  stop();
  console.log(`  ${model.title}: ${(100 * result.accuracy).toFixed(2)} % of 10,000 test digits read right`);
  return result;
}

console.log('reading the MNIST digits');
const data = { train: await loadDigits('train'), test: await loadDigits('t10k') };
manualSeed(1);
console.log('training, every step compiled');
const results = [new SoftmaxRegression(), new Perceptron()].map((model) => trainWithProgress(model, data));
console.log('comparing 50 steps with the eager interpreter');
const agreement = compareLosses(data.train, batch, 50);
console.log(
  `  losses differ by ${agreement.worst.toExponential(2)} relative at most (bound ${agreement.bound.toExponential(2)})`,
);
console.log('timing one perceptron step: eager, compiled, PyTorch');
const times = await timeSteps(data.train, batch);
const explanation = results.at(-1)?.step.explain();
const kernels = explanation?.graphs[0]?.kernels.length ?? 0;
const before = explanation?.graphs[0]?.loopNodes ?? 0;
console.log(`  compiled ${times.compiledMs.toFixed(3)} ms, eager ${times.eagerMs.toFixed(1)} ms per step`);
console.log(
  times.torchMs === undefined
    ? `  ${times.torchWhy ?? 'PyTorch was not measured'}`
    : `  PyTorch ${times.torchVersion ?? ''} ${times.torchMs.toFixed(3)} ms: ours takes ${(times.compiledMs / times.torchMs).toFixed(2)} times that`,
);
console.log(`  kernels per step: ${String(before)} before fusion, ${String(kernels)} after`);
console.log(`  first call of the step with its code in the cache: ${times.cachedFirstCallMs.toFixed(0)} ms`);

const page = join(options.output, 'mnist.html');
const cpp = explanation?.graphs[0]?.source?.() ?? '(run by the interpreter: no C++ was generated)';
const models = readFileSync(new URL('../src/models.ts', import.meta.url), 'utf8');
const typescript = models.slice(models.indexOf('export class Perceptron'), models.indexOf('/** Two convolutions'));
const drawn = {
  results,
  times,
  agreement,
  test: data.test,
  typescript,
  cpp,
  explanation: explanation?.toString() ?? '',
};
writeFileSync(page, await drawReport(drawn));
console.log(`wrote ${page}`);
if (options.json !== undefined) {
  const summary = results.map(({ model, accuracy, epochs }) => ({ model, accuracy, epochs }));
  writeFileSync(
    options.json,
    JSON.stringify({ results: summary, times, agreement, kernels: { before, after: kernels } }),
  );
}
