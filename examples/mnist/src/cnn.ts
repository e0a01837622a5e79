// The demo of convolutions: trains a network of two of them on MNIST with every step compiled, keeps a checkpoint, from which it goes on with
// --resume as if it had never stopped, and draws learning curve, confusion matrix and misread digits.
//
// node dist/cnn.js [--epochs N] [--resume] [--json FILE] [--output DIR]
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compile, manualSeed } from 'tsinductor';
import { loadCheckpoint, saveCheckpoint } from 'tsinductor/data';
import { AdamW, oneCycle, Schedule } from 'tsinductor/optim';
import { loadDigits } from './data.ts';
import { ConvolutionalNetwork } from './models.ts';
import { numberOf } from './number-option.ts';
import { drawLearning, drawMisread, page, percent, table } from './page.ts';
import { progressOf } from './progress.ts';
import { epochOf, mean, shuffled, test, trainingStep } from './train.ts';
import type { EpochResult, Tested } from './train.ts';

const batch = 128;
/** Steps between two checkpoints. */
const often = 100;

const { values: options } = parseArgs({
  options: {
    epochs: { type: 'string', default: '4' },
    resume: { type: 'boolean', default: false },
    json: { type: 'string' },
    output: { type: 'string', default: 'demo-output' },
  },
});

/** What is drawn at the end: a part of the checkpoint as the model is. */
class History {
  losses: number[] = [];
  epochs: EpochResult[] = [];
  /** Seconds of training in the epoch so far. */
  seconds = 0;

  stateDict(): Pick<History, 'losses' | 'epochs' | 'seconds'> {
    const { losses, epochs, seconds } = this;
    return { losses, epochs, seconds };
  }

  loadStateDict(state: Pick<History, 'losses' | 'epochs' | 'seconds'>): void {
    Object.assign(this, state);
  }
}

/** The confusion matrix as text: rows are digits, columns what they were read as. */
function confusionText({ confusion }: Tested): string {
  const row = (name: string, counts: readonly (string | number)[]): string =>
    `  ${name.padStart(5)}${counts.map((count) => String(count === 0 ? '.' : count).padStart(6)).join('')}`;
  const header = row(
    '',
    Array.from(confusion.keys(), (digit) => `as ${String(digit)}`),
  );
  return [header, ...confusion.map((counts, digit) => row(String(digit), counts))].join('\n');
}

const epochs = numberOf('epochs', options.epochs, 1);
console.log('reading the MNIST digits');
const data = { train: await loadDigits('train'), test: await loadDigits('t10k') };
manualSeed(1);
const model = new ConvolutionalNetwork();
const optimizer = new AdamW(model.parameters(), { lr: 4e-3 });
const train = shuffled(data.train, batch, 7);
const steps = train.length * epochs;
const schedule = new Schedule(optimizer, oneCycle(steps));
const history = new History();
const parts = { model, optimizer, schedule, train, history };

mkdirSync(options.output, { recursive: true });
const checkpoint = join(options.output, 'mnist-cnn.safetensors');
if (options.resume) {
  if (!existsSync(checkpoint)) {
    console.error(`there is no ${checkpoint} to resume from: run without --resume first`);
    process.exit(1);
  }
  await loadCheckpoint(checkpoint, parts);
  console.log(`resuming behind step ${String(history.losses.length)} of ${String(steps)}`);
}

console.log(`training ${String(epochs)} epochs of ${String(train.length)} steps, every step compiled`);
const step = compile(trainingStep(model, optimizer), { name: model.title, fullgraph: true });
const { update, stop } = progressOf(model.title);
while (train.epoch < epochs) {
  const started = performance.now() - 1e3 * history.seconds;
  for (const loss of epochOf(step, train)) {
    update(history.losses.push(loss) / steps, loss);
    schedule.step();
    if (history.losses.length % often !== 0) continue;
    history.seconds = (performance.now() - started) / 1e3;
    await saveCheckpoint(checkpoint, parts);
  }
  const seconds = (performance.now() - started) / 1e3;
  history.seconds = 0;
  const { accuracy } = test(model, data.test);
  const loss = mean(history.losses.slice(-train.length));
  history.epochs.push({ epoch: train.epoch, loss, accuracy, seconds });
  console.log(
    `  epoch ${String(train.epoch)}: loss ${loss.toFixed(4)}, ${percent(accuracy)} of 10,000 test digits, ${seconds.toFixed(1)} s`,
  );
  await saveCheckpoint(checkpoint, parts);
}
const tested = test(model, data.test);
stop();
console.log(confusionText(tested));

const total = history.epochs.reduce((sum, { seconds }) => sum + seconds, 0);
const result = { model: model.title, losses: history.losses, epochs: history.epochs, ...tested };
const kernels = step.explain().graphs[0]?.kernels.length;
const body = `${table([
  ['test digits read right', percent(tested.accuracy)],
  ['training', `${String(history.epochs.length)} epochs, ${total.toFixed(1)} s`],
  [
    'one step',
    `${String(batch)} digits, ${kernels === undefined ? 'not compiled: all epochs were done' : `${String(kernels)} kernels`}`,
  ],
])}
<h2>Learning</h2>
${await drawLearning([result])}
<h2>Misread</h2>
${drawMisread(data.test, tested.misread)}`;
const path = join(options.output, 'mnist-cnn.html');
writeFileSync(path, page('MNIST, a convolutional network', body));
console.log(
  `${percent(tested.accuracy)} of 10,000 test digits read right, ${total.toFixed(1)} s of training; wrote ${path}`,
);
if (options.json !== undefined)
  writeFileSync(options.json, JSON.stringify({ accuracy: tested.accuracy, epochs: history.epochs, kernels }));
