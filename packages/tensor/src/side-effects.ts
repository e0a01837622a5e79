// Operators that also write to some of their inputs, which pure graph operators cannot say: after the call itself, what
// PyTorch leaves in them is computed and stored. One row per operator.
import type { Arg } from '@tsinductor/graph';
import { isTensorParameter, isValue } from '@tsinductor/graph';
import type { BoundCall } from './bound-call.ts';
import { dispatch } from './dispatch.ts';
import { copyInto } from './write.ts';
import type { Tensor } from './tensor.ts';

type SideEffect = (call: BoundCall) => void;

const effects: Readonly<Record<string, SideEffect>> = {
  batchNorm: updateStatistics,
  nativeBatchNorm: updateStatistics,
};

/** What the call does beside its results. */
export const sideEffectsOf = ({ operator }: BoundCall): SideEffect | undefined =>
  Object.hasOwn(effects, operator.name) ? effects[operator.name] : undefined;

function argument(call: BoundCall, name: string): Tensor | undefined {
  const position = call.operator.parameters.filter(isTensorParameter).findIndex((parameter) => parameter.name === name);
  const arg: Arg | undefined = call.args[position];
  return isValue(arg) ? call.tensors[arg.node] : undefined;
}

/** In training, batch normalisation moves the running statistics towards those of the batch. */
function updateStatistics(call: BoundCall): void {
  const [input, mean, variance] = ['input', 'runningMean', 'runningVar'].map((name) => argument(call, name));
  if (call.attrs['training'] !== true || input === undefined || mean === undefined || variance === undefined) return;
  const [newMean, newVariance] = dispatch('batchNormStatistics', [input, mean, variance], { momentum: call.attrs['momentum'] }) as Tensor[];
  copyInto(mean, newMean, 'batchNorm');
  copyInto(variance, newVariance, 'batchNorm');
}
