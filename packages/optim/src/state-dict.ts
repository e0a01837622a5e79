// The state of an optimiser in the form of PyTorch's state_dict: for each parameter, by its number, what is kept for it; for each group
// its learning rate and which parameters it has.
import { isTensor, noGrad, tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import type { CommonOptions } from './algorithm.ts';
import { stateDiffers } from './errors.ts';
import type { Group, Slot } from './optimizer.ts';
import { isNumber } from './saved-values.ts';

/** What an optimiser needs to go on: `state` by the number of the parameter, among all of them. */
export interface OptimizerState {
  readonly state: Readonly<Record<string, Readonly<Record<string, Tensor>>>>;
  readonly paramGroups: readonly { readonly lr: number; readonly params: readonly number[] }[];
}

/** The state, whose tensors are the optimiser's own. */
export function readState<Options extends CommonOptions>(groups: readonly Group<Options>[]): OptimizerState {
  const slots = groups.flatMap((group) => group.slots);
  let next = 0;
  return {
    state: Object.fromEntries(slots.map(({ step, state }, index) => [index, { step, ...state }])),
    paramGroups: groups.map((group) => ({ lr: group.lr, params: group.slots.map(() => next++) })),
  };
}

/** Takes over a state by copying; gives the learning rates of the groups. Throws UserError OPTIM_STATE, having changed nothing. */
export function writeState<Options extends CommonOptions>(
  groups: readonly Group<Options>[],
  saved: OptimizerState,
): readonly number[] {
  const slots = groups.flatMap((group) => group.slots);
  const { state, paramGroups } = checkedState(saved);
  if (paramGroups.length !== groups.length)
    throw stateDiffers(`it has ${String(paramGroups.length)} groups, and there are ${String(groups.length)}`);
  groups.forEach((group, index) => {
    checkGroup(group.slots.length, paramGroups[index]);
  });
  const found = slots.map((slot, index) => partsFor(slot, index, state[String(index)]));
  noGrad(() => {
    takeSteps(
      slots,
      found.map(({ step }) => step),
    );
    found.forEach(({ parts }) => {
      for (const [own, other] of parts) own.copy_(other);
    });
  });
  return paramGroups.map(({ lr }) => lr);
}

/** The state, where it has what all states have. */
function checkedState(saved: unknown): OptimizerState {
  const { state, paramGroups } = (saved ?? {}) as Partial<OptimizerState>;
  if (typeof state !== 'object' || (state as unknown) === null || !Array.isArray(paramGroups))
    throw stateDiffers('it is no record of state and paramGroups');
  return { state, paramGroups: paramGroups as OptimizerState['paramGroups'] };
}

function checkGroup(count: number, saved: unknown): void {
  const { lr, params } = (saved ?? {}) as { readonly lr?: unknown; readonly params?: unknown };
  if (!isNumber(lr) || !(lr >= 0)) throw stateDiffers('a group has no learning rate of at least 0');
  if (!Array.isArray(params) || params.length !== count)
    throw stateDiffers(`a group has not ${String(count)} parameters`);
}

interface Parts {
  readonly step: number;
  readonly parts: readonly (readonly [own: Tensor, saved: Tensor])[];
}

function partsFor({ state }: Slot, index: number, saved: Readonly<Record<string, Tensor>> | null | undefined): Parts {
  const what = `parameter ${String(index)}`;
  if (saved === undefined || saved === null) throw stateDiffers(`it has nothing of ${what}`);
  const { step, ...others } = saved;
  if (names(others) !== names(state))
    throw stateDiffers(`of ${what} it has ${names(others)}, and ${names(state)} is kept`);
  if (!isTensor(step) || step.numel !== 1) throw stateDiffers(`of ${what} it has no number of steps`);
  const parts = Object.entries(state).map(([name, own]) => {
    const other = others[name];
    if (!isTensor(other) || other.shape.join() !== own.shape.join())
      throw stateDiffers(`${name} of ${what} has not the shape [${own.shape.join(', ')}]`);
    return [own, other] as const;
  });
  return { step: Number(step.item()), parts };
}

function names(record: object): string {
  const all = Object.keys(record).sort().join(', ');
  return all === '' ? 'nothing' : all;
}

/** Parameters with as many steps share their count again. */
function takeSteps(slots: readonly Slot[], counts: readonly number[]): void {
  const shared = new Map<string, Tensor>();
  slots.forEach((slot, index) => {
    const count = counts[index] ?? 0;
    const { device } = slot.step;
    const key = `${String(count)} ${device}`;
    const step = shared.get(key) ?? tensor(count, { dtype: 'f64' }).to(device);
    shared.set(key, step);
    slot.step = step;
  });
}
