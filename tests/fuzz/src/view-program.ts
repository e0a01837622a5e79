// Random programs of views, writes and reads, and what comes of one: run eagerly, and compiled. In: a seed and a number. Out:
// a program as data; and everything that a caller can see of a run, as plain values: what was returned and how it lies in
// memory, what shares memory with what, what was read, what arguments hold afterwards, and the error, if one was thrown.
import { at, get, isTsInductorError } from '@tsinductor/base';
import { arange } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { sharesMemory } from '@tsinductor/tensor/internal';
import type { Random } from './random.ts';
import { actionGroups, viewActions } from './view-actions.ts';
import type { How, State } from './view-actions.ts';

export interface ViewStep extends How {
  readonly action: string;
  /** Which of the tensors there are by then, counted round. */
  readonly which: number;
}

export interface ViewProgram {
  readonly label: string;
  readonly shape: readonly number[];
  /** How many arguments; the second one is a view of the first where they share memory. */
  readonly inputs: number;
  readonly isShared: boolean;
  readonly steps: readonly ViewStep[];
  /** Which tensors are returned. */
  readonly outputs: readonly number[];
}

const shapes: readonly (readonly number[])[] = [[4, 4], [3, 5], [2, 3, 2], [6], [1, 4], [2, 0], []]; // prettier-ignore
/** More tensors than that are not made. */
const most = 24;

export function drawViewProgram(random: Random, label: string): ViewProgram {
  const names = (): string => random.pick(Object.keys(random.weighted(actionGroups)));
  const inputs = random.weighted([
    [50, 1],
    [35, 2],
    [15, 3],
  ] as const);
  const steps = Array.from({ length: random.between(1, 12) }, (): ViewStep => ({
    action: names(),
    which: random.below(most),
    a: random.below(12),
    b: random.below(12),
  }));
  const outputs = Array.from({ length: random.between(1, 4) }, () => random.below(most));
  return { label, shape: random.pick(shapes), inputs, isShared: inputs > 1 && random.chance(0.3), steps, outputs };
}

/** What a call gets. */
export interface Arguments {
  readonly tensors: readonly Tensor[];
  readonly kept: Record<string, Tensor>;
}

/** Fresh arguments; `first` is where their elements begin to count. */
export function argumentsOf({ shape, inputs, isShared }: ViewProgram, first: number): Arguments {
  const count = shape.reduce((product, size) => product * size, 1);
  const tensors = Array.from({ length: inputs }, (_, k) =>
    arange(first + k, first + k + count)
      .to('f64')
      .reshape(shape),
  );
  const base = at(tensors, 0);
  return {
    tensors: isShared
      ? tensors.with(1, base.ndim > 0 ? base.narrow(0, 0, Math.ceil(at(shape, 0) / 2)) : base.unsqueeze(0))
      : tensors,
    kept: {},
  };
}

export interface Returned {
  readonly outputs: readonly Tensor[];
  readonly read: readonly unknown[];
}

/** The program as a function. */
export const viewFunction =
  ({ steps, outputs }: ViewProgram) =>
  (given: readonly Tensor[], kept: Record<string, Tensor>): Returned => {
    const state: State = { tensors: [...given], read: [], kept };
    for (const { action, which, ...how } of steps) {
      if (state.tensors.length >= most) break;
      get(viewActions, action)(state, at(state.tensors, which % state.tensors.length), how);
    }
    return { outputs: outputs.map((which) => at(state.tensors, which % state.tensors.length)), read: state.read };
  };

type ViewFunction = ReturnType<typeof viewFunction>;

/** Everything that a caller can see of a call, as text. */
export function outcomeOf(fn: ViewFunction, { tensors, kept }: Arguments): string {
  let returned: Returned = { outputs: [], read: [] };
  let thrown: string | undefined;
  try {
    returned = fn(tensors, kept);
  } catch (error) {
    thrown = isTsInductorError(error) ? error.code : String(error);
  }
  const all = [...new Set([...returned.outputs, ...Object.values(kept), ...tensors])];
  const shown = (tensor: Tensor): unknown => ({
    is: all.indexOf(tensor),
    dtype: tensor.dtype,
    shape: tensor.shape,
    values: tensor.toArray(),
  });
  return JSON.stringify({
    outputs: returned.outputs.map(shown),
    kept: Object.fromEntries(
      Object.keys(kept)
        .sort()
        .map((name) => [name, shown(get(new Map(Object.entries(kept)), name))]),
    ),
    arguments: tensors.map(shown),
    shared: all.map((x, i) => all.flatMap((y, j) => (j > i && x.numel * y.numel > 0 && sharesMemory(x, y) ? [j] : []))),
    read: returned.read,
    thrown,
  });
}
