// The demo of transformers: trains one on a text, character by character, with every step compiled, for some minutes; draws the loss, and has the
// model write. It keeps a checkpoint, from which it goes on with --resume as if it had never stopped.
//
// node dist/main.js [--minutes N | --steps N] [--text FILE] [--resume] [--json FILE] [--output DIR]
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { arange, compile, manualSeed, noGrad, tensor, valueAndGrad } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { batches, loadCheckpoint, saveCheckpoint } from 'tsinductor/data';
import { functionalCall } from 'tsinductor/nn';
import type { StateDict } from 'tsinductor/nn';
import { AdamW, cosine, linear, Schedule, sequence } from 'tsinductor/optim';
import { drawCurve } from './chart.ts';
import { Transformer } from './model.ts';
import { numberOf } from './number-option.ts';
import { writeOn } from './sample.ts';
import { loadCorpus } from './text.ts';

const sizes = { context: 96, width: 128, heads: 4, layers: 3 };
const batch = 16;
/** Steps between two lines, and between two checkpoints. */
const often = 100;

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '4' },
    steps: { type: 'string', default: '2000' },
    text: { type: 'string' },
    resume: { type: 'boolean', default: false },
    json: { type: 'string' },
    output: { type: 'string', default: 'demo-output' },
  },
});
const steps = numberOf('steps', options.steps, 2);
const limit = 60 * numberOf('minutes', options.minutes, 0.01);

// The part to test on has to have a batch of pieces.
const corpus = loadCorpus(options.text, sizes.context + batch);
const symbols = corpus.alphabet.length;
manualSeed(1);
const model = new Transformer({ ...sizes, symbols });
const weights = Object.fromEntries(model.namedParameters());
const count = model.parameters().reduce((sum, { numel }) => sum + numel, 0);
const optimizer = new AdamW(model.parameters(), { lr: 2e-3, weightDecay: 0.05 });
const warmup = Math.min(50, Math.floor(steps / 2));
const schedule = new Schedule(optimizer, sequence(linear(warmup), warmup, cosine(steps - warmup, 0.05)));

/** Pieces of the text as long as the context and one character more, from every place. */
function pieces(text: Tensor, seed: number): ReturnType<typeof batches<Tensor>> {
  const offsets = arange(sizes.context + 1).unsqueeze(0);
  const length = text.numel - sizes.context;
  const batchOf = (rows: Uint32Array): Tensor =>
    text.take(tensor(BigInt64Array.from(rows, BigInt)).unsqueeze(1).add(offsets));
  return batches({ length, batch: batchOf }, { size: batch, shuffle: true, seed, dropLast: true });
}

/** The mean cross entropy of every next character of the pieces. */
const lossOf = (given: StateDict, tokens: Tensor): Tensor =>
  functionalCall(model, given, tokens.narrow(1, 0, sizes.context))
    .flatten(0, 1)
    .crossEntropy(tokens.narrow(1, 1, sizes.context).flatten());

const step = compile(
  (tokens: Tensor) => {
    const [loss, gradients] = valueAndGrad(lossOf)(weights, tokens);
    optimizer.step(Object.values(gradients));
    return loss;
  },
  { name: 'transformer step', fullgraph: true },
);

/** The mean loss over some pieces of the part of the text that the model has not seen. */
function testLoss(): number {
  const test = compile((tokens: Tensor) => lossOf(weights, tokens), { fullgraph: true });
  let [sum, done] = [0, 0];
  for (const tokens of pieces(corpus.test, 5)) {
    sum += noGrad(() => test(tokens)).item() as number;
    if ((done += 1) === 20) break;
  }
  return sum / done;
}

/** What is drawn at the end: a part of the checkpoint as the model is. */
class History {
  losses: number[] = [];
  seconds = 0;

  stateDict(): Pick<History, 'losses' | 'seconds'> {
    return { losses: this.losses, seconds: this.seconds };
  }

  loadStateDict(state: Pick<History, 'losses' | 'seconds'>): void {
    Object.assign(this, state);
  }
}

const train = pieces(corpus.train, 7);
const history = new History();
const parts = { model, optimizer, schedule, train, history };
mkdirSync(options.output, { recursive: true });
const checkpoint = join(options.output, 'gpt.safetensors');
if (options.resume) {
  if (!existsSync(checkpoint)) {
    console.error(`there is no ${checkpoint} to resume from: run without --resume first`);
    process.exit(1);
  }
  await loadCheckpoint(checkpoint, parts);
  console.log(`resuming behind step ${String(history.losses.length)}`);
}
console.log(
  `${String(corpus.train.numel)} characters of ${corpus.name}, ${String(symbols)} different ones; a transformer of ${String(count)} parameters`,
);
console.log(`training ${String(steps)} steps, or ${options.minutes} minutes, every step compiled`);

const started = performance.now() - 1e3 * history.seconds;
const isDone = (): boolean => history.losses.length >= steps || history.seconds >= limit;
// A batch that is taken counts as trained on in the checkpoint: none is taken that is not. A short text is gone through more than once.
while (!isDone())
  for (const tokens of train) {
    const loss = noGrad(() => step(tokens));
    history.losses.push(loss.item() as number);
    schedule.step();
    for (const used of [tokens, loss]) used.dispose();
    history.seconds = (performance.now() - started) / 1e3;
    if (history.losses.length % often === 0) {
      const recent = history.losses.slice(-often).reduce((sum, value) => sum + value, 0) / often;
      console.log(
        `  step ${String(history.losses.length)}: loss ${recent.toFixed(3)}, ${history.seconds.toFixed(0)} s`,
      );
      await saveCheckpoint(checkpoint, parts);
    }
    if (isDone()) break;
  }
await saveCheckpoint(checkpoint, parts);

const found = testLoss();
console.log(`\nloss by step\n${drawCurve(history.losses)}\n`);
console.log(
  `${String(history.losses.length)} steps in ${history.seconds.toFixed(0)} s; on text that it has not seen, ${found.toFixed(3)} nats, ${(found / Math.LN2).toFixed(2)} bits for each character`,
);
const prompt = corpus.alphabet.includes('\n') ? [corpus.alphabet.indexOf('\n')] : [1];
const written = writeOn(model, prompt, { length: 600, temperature: 0.7, context: sizes.context });
const sample = written.map((symbol) => corpus.alphabet[symbol] ?? '').join('');
console.log(`\nwhat it writes\n${sample.replace(/^/gm, '  | ')}`);
if (options.json !== undefined)
  writeFileSync(options.json, JSON.stringify({ ...history.stateDict(), testLoss: found, parameters: count, sample }));
