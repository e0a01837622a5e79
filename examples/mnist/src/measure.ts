// Times one training step: eager, compiled and, where it is installed, PyTorch, interleaved in rounds; and compares the
// losses of compiled and eager steps from the same start.
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { compile, manualSeed, noGrad } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { SGD } from 'tsinductor/optim';
import { noDigits } from './errors.ts';
import type { Digits } from './data.ts';
import { Perceptron } from './models.ts';
import { shuffled, trainingStep } from './train.ts';
import type { Step } from './train.ts';

export interface StepTimes {
  readonly compiledMs: number;
  readonly eagerMs: number;
  /** undefined where PyTorch is not installed; `torchWhy` then says so. */
  readonly torchMs?: number;
  readonly torchVersion?: string;
  readonly torchWhy?: string;
  /** The first call of a fresh step, whose code is in the cache by then, as the same step was trained with. */
  readonly cachedFirstCallMs: number;
}

export interface Agreement {
  readonly steps: number;
  /** Largest |compiled - eager| / |eager| of the losses. */
  readonly worst: number;
  /** What rounding allows: the accumulated n·ε bound of one step, times the steps taken. */
  readonly bound: number;
}

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? NaN;
};

/** Times a step of the perceptron on one batch. */
export async function timeSteps(digits: Digits, batch: number): Promise<StepTimes> {
  const eager = freshStep();
  const { images, labels } = firstBatch(digits, batch);
  const step = compile(freshStep(), { fullgraph: true });
  const timed = (run: () => Tensor): number => {
    const start = performance.now();
    noGrad(run).dispose();
    return performance.now() - start;
  };
  const compiled = (): number => timed(() => step(images, labels));
  const cachedFirstCallMs = compiled();
  for (let warm = 0; warm < 20; warm += 1) compiled();
  const torch = await startTorch(batch);
  const rounds: { compiled: number; torch?: number }[] = [];
  for (let round = 0; round < 7; round += 1) {
    const ours = median(Array.from({ length: 60 }, compiled));
    const theirs = torch.ask === undefined ? undefined : await torch.ask();
    rounds.push({ compiled: ours, ...(theirs === undefined ? {} : { torch: theirs }) });
  }
  torch.stop?.();
  const eagerMs = median(Array.from({ length: 3 }, () => timed(() => eager(images, labels))));
  const torchTimes = rounds.flatMap((round) => round.torch ?? []);
  return {
    compiledMs: median(rounds.map((round) => round.compiled)),
    eagerMs,
    cachedFirstCallMs,
    ...(torchTimes.length === 0 ? {} : { torchMs: median(torchTimes) }),
    ...(torch.version === undefined ? {} : { torchVersion: torch.version }),
    ...(torch.why === undefined ? {} : { torchWhy: torch.why }),
  };
}

/** A step of a perceptron of its own, whose first weights are the same each time. */
function freshStep(): Step {
  manualSeed(1);
  const model = new Perceptron();
  return trainingStep(model, new SGD(model.parameters(), { lr: 0.1 }));
}

/** Runs `steps` steps compiled and eager from the same weights over the same batches. */
export function compareLosses(digits: Digits, batch: number, steps: number): Agreement {
  const [step, eager] = [compile(freshStep(), { fullgraph: true }), freshStep()];
  let worst = 0;
  let done = 0;
  for (const { images, labels } of shuffled(digits, batch, 3)) {
    const [compiled, expected] = noGrad(() => [step(images, labels), eager(images, labels)]).map((loss) =>
      Number(loss.item()),
    ) as [number, number];
    worst = Math.max(worst, Math.abs(compiled - expected) / Math.abs(expected));
    if ((done += 1) === steps) break;
  }
  // One step rounds sums of up to 784 products: n·ε relative to Σ|x|. Errors of the weights add up over the steps.
  return { steps, worst, bound: 784 * 2 ** -24 * steps };
}

function firstBatch(digits: Digits, batch: number): { readonly images: Tensor; readonly labels: Tensor } {
  for (const part of shuffled(digits, batch, 5)) return part;
  throw noDigits();
}

interface TorchPeer {
  readonly ask?: () => Promise<number | undefined>;
  readonly stop?: () => boolean;
  readonly version?: string;
  readonly why?: string;
}

/** A PyTorch process at its best settings, which times a round of steps whenever it is asked. */
async function startTorch(batch: number): Promise<TorchPeer> {
  const script = fileURLToPath(new URL('../src/torch_step.py', import.meta.url));
  // torch at its best: wide vectors, large blocks kept, and OpenBLAS left to find out the CPU for itself.
  const settings = ['ATEN_CPU_CAPABILITY=avx512', 'MALLOC_MMAP_MAX_=0', 'MALLOC_TRIM_THRESHOLD_=4294967296'];
  const cleared = ['-u', 'OPENBLAS_CORETYPE', '-u', 'OPENBLAS_L2_SIZE'];
  for (const python of ['python3', '/usr/bin/python3']) {
    const args = [script, '512', String(batch), '60', String(availableParallelism())];
    const child = spawn('env', [...cleared, ...settings, python, ...args]);
    const answers = readAnswers(child);
    const first = await askOnce(child, answers);
    if (first !== undefined) {
      return {
        version: first.version,
        ask: async () => (await askOnce(child, answers))?.medianMs,
        // It has nothing to put away, and takes a fifth of a second to end by itself.
        stop: () => child.kill(),
      };
    }
    child.kill();
  }
  return { why: 'PyTorch is not installed (Debian: python3-torch)' };
}

interface TorchAnswer {
  readonly version: string;
  readonly medianMs: number;
}

function readAnswers(child: ChildProcessWithoutNullStreams): AsyncIterator<string> {
  child.on('error', () => undefined);
  child.stdin.on('error', () => undefined);
  return createInterface({ input: child.stdout })[Symbol.asyncIterator]();
}

async function askOnce(
  child: ChildProcessWithoutNullStreams,
  answers: AsyncIterator<string>,
): Promise<TorchAnswer | undefined> {
  child.stdin.write('round\n');
  const answer = await answers.next();
  return answer.done === true ? undefined : (JSON.parse(answer.value) as TorchAnswer);
}
