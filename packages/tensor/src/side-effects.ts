// Operators that also write to some of their inputs, which pure graph operators cannot say: after the call itself, what
// PyTorch leaves in them is computed and stored. One row per operator.
import type { Arg } from '@tsinductor/graph';
import { isTensorParameter, isValue } from '@tsinductor/graph';
import type { BoundCall } from './bound-call.ts';
import { dispatch, dispatchOne } from './dispatch.ts';
import { float } from './scalars.ts';
import { copyInto } from './write.ts';
import type { Tensor } from './tensor.ts';

type SideEffect = (call: BoundCall) => void;

const effects: Readonly<Record<string, SideEffect>> = {
  batchNorm: updateStatistics,
  nativeBatchNorm: updateStatistics,
  instanceNorm: updateInstanceStatistics,
  embedding: renormUsedRows,
};

/** What the call does beside its results. */
export const sideEffectsOf = ({ operator }: BoundCall): SideEffect | undefined =>
  Object.hasOwn(effects, operator.name) ? effects[operator.name] : undefined;

function argument(call: BoundCall, name: string): Tensor | undefined {
  const position = call.operator.parameters.filter(isTensorParameter).findIndex((parameter) => parameter.name === name);
  const arg: Arg | undefined = call.args[position];
  return isValue(arg) ? call.tensors[arg.node] : undefined;
}

const call = (name: string, ...given: readonly unknown[]): Tensor => dispatchOne(name, given);

/** Instance normalisation moves them towards the mean of the samples' statistics. */
function updateInstanceStatistics(bound: BoundCall): void {
  const { useInputStats, momentum } = bound.attrs;
  const [input, mean, variance] = ['input', 'runningMean', 'runningVar'].map((name) => argument(bound, name));
  if (useInputStats !== true || input === undefined) return;
  const dims = input.shape.map((_, axis) => axis).slice(2);
  for (const [running, statistic] of [
    [mean, 'mean'],
    [variance, 'var'],
  ] as const) {
    if (running === undefined) continue;
    const fresh = call('mean', call(statistic, input, dims), 0);
    copyInto(
      running,
      call('add', call('mul', running, 1 - Number(momentum)), call('mul', fresh, Number(momentum))),
      'instanceNorm',
    );
  }
}

/** The rows of an embedding's table that were used keep the norm that was asked for. */
function renormUsedRows(bound: BoundCall): void {
  const { maxNorm, normType } = bound.attrs;
  const [input, weight] = ['input', 'weight'].map((name) => argument(bound, name));
  if (typeof maxNorm !== 'number' || input === undefined || weight === undefined) return;
  const rows = call('isin', call('arange', weight.shape[0]), call('to', input, 'i64'));
  const limited = call('renorm', weight, float(Number(normType)), 0, float(maxNorm));
  copyInto(weight, call('where', call('unsqueeze', rows, 1), limited, weight), 'embedding');
}

/** In training, batch normalisation moves the running statistics towards those of the batch. */
function updateStatistics(call: BoundCall): void {
  const [input, mean, variance] = ['input', 'runningMean', 'runningVar'].map((name) => argument(call, name));
  if (call.attrs['training'] !== true || input === undefined || mean === undefined || variance === undefined) return;
  const [newMean, newVariance] = dispatch('batchNormStatistics', [input, mean, variance], {
    momentum: call.attrs['momentum'],
  }) as Tensor[];
  copyInto(mean, newMean, 'batchNorm');
  copyInto(variance, newVariance, 'batchNorm');
}
