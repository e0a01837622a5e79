// The demo: trains a softmax regression and a two-layer perceptron on MNIST with every step compiled, measures a step
// eager, compiled and in PyTorch, and writes a page with what it found.
//
// node dist/main.js [--epochs N] [--json FILE] [--output DIR]
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SingleBar } from 'cli-progress';
import { loadDigits } from './data.ts';
import type { Digits } from './data.ts';
import { compareLosses, timeSteps } from './measure.ts';
import { Perceptron, SoftmaxRegression } from './models.ts';
import type { Classifier } from './models.ts';
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

/** Redraws a bar on a terminal; elsewhere prints a line at each tenth. */
function progressOf(name: string): { update: (done: number, loss: number) => void; stop: () => void } {
  if (!process.stdout.isTTY) {
    let tenths = 0;
    return {
      update: (done, loss) => {
        if (Math.floor(done * 10) <= tenths) return;
        tenths = Math.floor(done * 10);
        console.log(`  ${name}: ${String(tenths * 10)} %, loss ${loss.toFixed(4)}`);
      },
      stop: () => undefined,
    };
  }
  const bar = new SingleBar({ format: `  ${name} {bar} {percentage}% loss {loss}`, hideCursor: true });
  bar.start(1000, 0, { loss: '' });
  return {
    update: (done, loss) => {
      bar.update(Math.round(done * 1000), { loss: loss.toFixed(4) });
    },
    stop: () => {
      bar.stop();
    },
  };
}

function trainWithProgress(model: Classifier, data: { train: Digits; test: Digits }): TrainingResult {
  const { update, stop } = progressOf(model.name);
  const epochs = Number(options.epochs);
  const rate = (epoch: number): number => 0.5 * 0.85 ** epoch;
  const result = train(model, data, { schedule: { epochs, batch, rate }, progress: update });
  stop();
  console.log(`  ${model.name}: ${(100 * result.accuracy).toFixed(2)} % of 10,000 test digits read right`);
  return result;
}

console.log('reading the MNIST digits');
const data = { train: loadDigits('train'), test: loadDigits('t10k') };
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

mkdirSync(options.output, { recursive: true });
const page = join(options.output, 'mnist.html');
const cpp = explanation?.graphs[0]?.source?.() ?? '(run by the interpreter: no C++ was generated)';
const models = readFileSync(new URL('../src/models.ts', import.meta.url), 'utf8');
const typescript = models.slice(models.indexOf('export class Perceptron'), models.indexOf('export type Classifier'));
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
