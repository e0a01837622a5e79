// Training and testing a classifier with compiled steps, keeping what the reports draw.
import { compile, noGrad, valueAndGrad } from 'tsinductor';
import type { CompiledFunction, Tensor } from 'tsinductor';
import { batches } from 'tsinductor/data';
import type { Batches } from 'tsinductor/data';
import { functionalCall } from 'tsinductor/nn';
import type { StateDict } from 'tsinductor/nn';
import { exponentialDecay, Schedule, SGD } from 'tsinductor/optim';
import type { OptimizerState } from 'tsinductor/optim';
import { classes } from './data.ts';
import type { Digits } from './data.ts';
import type { Classifier } from './models.ts';

export type Step = (images: Tensor, labels: Tensor) => Tensor;
export type DigitBatches = Batches<{ readonly images: Tensor; readonly labels: Tensor }>;

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

/** How a classifier read the test digits. */
export interface Tested {
  readonly accuracy: number;
  /** confusion[label][guess]. */
  readonly confusion: readonly (readonly number[])[];
  readonly misread: readonly Misread[];
}

export interface TrainingResult extends Tested {
  readonly model: string;
  readonly epochs: readonly EpochResult[];
  /** Mean cross entropy of every step. */
  readonly losses: readonly number[];
  readonly step: CompiledFunction<Step>;
}

/** What changes parameters by their gradients. */
interface Stepping {
  step(gradients: readonly Tensor[]): void;
  stateDict(): OptimizerState;
}

/** One step of training, in place: forward, mean cross entropy, gradients, update. Gives the loss. */
export function trainingStep(model: Classifier, optimizer: Stepping): Step {
  const weights = Object.fromEntries(model.namedParameters());
  const lossOf = (given: StateDict, images: Tensor, labels: Tensor): Tensor =>
    functionalCall(model, given, images).crossEntropy(labels);
  return (images, labels) => {
    const [loss, gradients] = valueAndGrad(lossOf)(weights, images, labels);
    optimizer.step(Object.values(gradients));
    return loss;
  };
}

/** Batches of digits in an order of their own for each epoch; the odd rest is left out. */
export const shuffled = ({ images, labels }: Digits, size: number, seed: number): DigitBatches =>
  batches({ images, labels }, { size, seed, shuffle: true, dropLast: true });

/** Makes a step for each batch that is left of the epoch; gives their losses. */
export function* epochOf(step: Step, train: DigitBatches): Generator<number, void, undefined> {
  for (const { images, labels } of train) {
    // The loss depends on parameters: outside of noGrad, the call would be recorded for a backward() besides.
    const loss = noGrad(() => step(images, labels));
    yield Number(loss.item());
    for (const used of [images, labels, loss]) used.dispose();
  }
}

export interface Plan {
  readonly epochs: number;
  readonly batch: number;
}

/** Trains `model` in place. `progress` is told after every step how far the training has come, 0 to 1. */
export function train(
  model: Classifier,
  data: { readonly train: Digits; readonly test: Digits },
  { plan, progress }: { plan: Plan; progress: (done: number, loss: number) => void },
): TrainingResult {
  const optimizer = new SGD(model.parameters(), { lr: 0.5 });
  const schedule = new Schedule(optimizer, exponentialDecay(0.85));
  const step = compile(trainingStep(model, optimizer), { name: model.title, fullgraph: true });
  const digits = shuffled(data.train, plan.batch, 7);
  const losses: number[] = [];
  const epochs: EpochResult[] = [];
  let tested = test(model, data.test);
  while (digits.epoch < plan.epochs) {
    const [start, first] = [performance.now(), losses.length];
    for (const loss of epochOf(step, digits)) progress(losses.push(loss) / (digits.length * plan.epochs), loss);
    schedule.step();
    const seconds = (performance.now() - start) / 1e3;
    tested = test(model, data.test);
    epochs.push({ epoch: digits.epoch, loss: mean(losses.slice(first)), accuracy: tested.accuracy, seconds });
  }
  return { model: model.title, epochs, losses, step, ...tested };
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Reads the test digits in compiled batches. */
export function test(model: Classifier, { images, labels }: Digits): Tested {
  const guess = compile((part: Tensor) => model.forward(part).argmax(1), { fullgraph: true });
  const guesses: number[] = [];
  for (const part of batches(images, { size: 1000 })) {
    guesses.push(...(noGrad(() => guess(part)).toArray() as number[]));
    part.dispose();
  }
  const confusion = Array.from({ length: classes }, () => new Array<number>(classes).fill(0));
  const misread: Misread[] = [];
  (labels.toArray() as number[]).forEach((label, index) => {
    const digit = guesses[index] ?? -1;
    const row = confusion[label];
    if (row !== undefined) row[digit] = (row[digit] ?? 0) + 1;
    if (digit !== label) misread.push({ index, label, guess: digit });
  });
  return { accuracy: 1 - misread.length / guesses.length, confusion, misread };
}
