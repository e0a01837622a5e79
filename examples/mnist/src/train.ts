// Training and testing a classifier with compiled steps, keeping what the report draws.
import { compile, tensor } from 'tsinductor';
import type { CompiledFunction, Tensor } from 'tsinductor';
import { classes, pixels, seeded, shuffledBatches } from './data.ts';
import type { Digits } from './data.ts';
import type { Classifier } from './models.ts';

export interface Schedule {
  readonly epochs: number;
  readonly batch: number;
  /** Learning rate by epoch. */
  rate(epoch: number): number;
}

export interface EpochResult {
  readonly epoch: number;
  readonly loss: number;
  readonly accuracy: number;
  readonly seconds: number;
}

export interface Misread {
  readonly index: number;
  readonly label: number;
  readonly guess: number;
}

export interface TrainingResult {
  readonly model: string;
  readonly epochs: readonly EpochResult[];
  /** Mean cross entropy of every step. */
  readonly losses: readonly number[];
  readonly accuracy: number;
  /** confusion[label][guess] on the test digits. */
  readonly confusion: readonly (readonly number[])[];
  readonly misread: readonly Misread[];
  readonly step: CompiledFunction<(images: Tensor, labels: Tensor, rate: Tensor) => Tensor>;
}

export const batchTensors = (batch: Digits): [Tensor, Tensor] => [
  tensor(batch.images, { shape: [batch.count, pixels] }),
  tensor(batch.labels),
];

/** Trains `model` in place. `progress` is told after every step how far the training has come, 0 to 1. */
export function train(
  model: Classifier,
  data: { readonly train: Digits; readonly test: Digits },
  { schedule, progress }: { schedule: Schedule; progress: (done: number, loss: number) => void },
): TrainingResult {
  const step = compile((images: Tensor, labels: Tensor, rate: Tensor) => model.step(images, labels, rate), {
    name: model.name,
    fullgraph: true,
  });
  const random = seeded(7);
  const steps = Math.floor(data.train.count / schedule.batch) * schedule.epochs;
  const losses: number[] = [];
  const epochs: EpochResult[] = [];
  let tested = test(model, data.test);
  for (let epoch = 0; epoch < schedule.epochs; epoch += 1) {
    const start = performance.now();
    const first = losses.length;
    using rate = tensor(schedule.rate(epoch), { dtype: 'f32' });
    for (const batch of shuffledBatches(data.train, schedule.batch, random)) {
      const [images, labels] = batchTensors(batch);
      const loss = step(images, labels, rate);
      losses.push(Number(loss.item()));
      for (const used of [images, labels, loss]) used.dispose();
      progress(losses.length / steps, losses.at(-1) ?? 0);
    }
    const seconds = (performance.now() - start) / 1e3;
    const mean = losses.slice(first).reduce((sum, loss) => sum + loss, 0) / (losses.length - first);
    tested = test(model, data.test);
    epochs.push({ epoch: epoch + 1, loss: mean, accuracy: tested.accuracy, seconds });
  }
  return { model: model.name, epochs, losses, step, ...tested };
}

/** Reads the test digits in compiled batches. */
export function test(model: Classifier, digits: Digits): Pick<TrainingResult, 'accuracy' | 'confusion' | 'misread'> {
  const guess = compile((images: Tensor) => model.logits(images).argmax(1), { fullgraph: true });
  using images = tensor(digits.images, { shape: [digits.count, pixels] });
  using guesses = guess(images);
  const confusion = Array.from({ length: classes }, () => new Array<number>(classes).fill(0));
  const misread: Misread[] = [];
  (guesses.toArray() as number[]).forEach((digit, index) => {
    const label = Number(digits.labels[index]);
    const row = confusion[label];
    if (row !== undefined) row[digit] = (row[digit] ?? 0) + 1;
    if (digit !== label) misread.push({ index, label, guess: digit });
  });
  return { accuracy: 1 - misread.length / digits.count, confusion, misread };
}
