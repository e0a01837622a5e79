// What goes through a loop or comes out of a branch: tensors in a nesting, taken apart and put together again.
import { at } from '@tsinductor/base';
import { SizeEnvironment } from '@tsinductor/graph';
import type { Index } from '@tsinductor/ir';
import { isArray, isRecord, mapTensors } from '../autograd/trees.ts';
import { processState } from '../process-state.ts';
import { indexesOf } from '../symbolic-shape.ts';
import { isTensor } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { flowForm, flowValue } from './errors.ts';

/** A nesting that was taken apart. */
export interface Nesting {
  readonly tensors: readonly Tensor[];
  /** The nesting without its tensors, as text: `{h: *, c: *}`. */
  readonly form: string;
  /** The same nesting of other tensors. */
  readonly around: (tensors: readonly Tensor[]) => unknown;
}

/** Throws UserError FLOW_VALUE where it holds anything but tensors. */
export function openNesting(value: unknown, where: string): Nesting {
  const tensors: Tensor[] = [];
  mapTensors(
    value,
    (tensor) => tensors.push(tensor),
    (leaf) => {
      if (leaf !== undefined && leaf !== null) throw flowValue(where, leaf);
      return leaf;
    },
  );
  const around = (others: readonly Tensor[]): unknown => {
    let next = 0;
    return mapTensors(value, () => at(others, next++));
  };
  return { tensors, form: formOf(value), around };
}

function formOf(value: unknown): string {
  if (isTensor(value)) return '*';
  if (isArray(value)) return `[${value.map(formOf).join(', ')}]`;
  if (!isRecord(value)) return String(value);
  return `{${Object.entries(value)
    .map(([name, item]) => `${name}: ${formOf(item)}`)
    .join(', ')}}`;
}

/** Throws UserError FLOW_FORM where `made` is another nesting, or its tensors have other dtypes or shapes. */
export function requireForm(what: string, made: Nesting, wanted: Nesting): void {
  if (made.form !== wanted.form) throw flowForm(what, { gave: made.form, wanted: wanted.form });
  made.tensors.forEach((tensor, position) => {
    const like = at(wanted.tensors, position);
    if (!hasForm(tensor, like)) throw flowForm(what, { gave: described(tensor), wanted: described(like) });
  });
}

/** Whether dtype and shape are the same; symbolic sizes are compared as such, and stay. */
function hasForm(tensor: Tensor, like: Tensor): boolean {
  const [sizes, others] = [indexesOf(tensor.shape), indexesOf(like.shape)];
  const environment = processState.recorder?.sizes ?? new SizeEnvironment();
  const isSame = (size: Index, axis: number): boolean => environment.same(size, at(others, axis));
  return tensor.dtype === like.dtype && sizes.length === others.length && sizes.every(isSame);
}

const described = ({ dtype, shape }: Tensor): string => `${dtype}[${shape.join(', ')}]`;
