// What a random program of views, writes and reads is made of. Each action takes one of the program's tensors and two small
// numbers that say how; it makes further tensors, writes into some, or reads elements. A table: an entry is all that there is
// to an action.
import { at } from '@tsinductor/base';
import { cat, einsum, nn, slice, where } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';

/** What a program has while it runs. */
export interface State {
  readonly tensors: Tensor[];
  /** What it has read. */
  readonly read: unknown[];
  /** An object that outlives the call. */
  readonly kept: Record<string, Tensor>;
}

export interface How {
  readonly a: number;
  readonly b: number;
}

/** Does nothing where the tensor is none of its kind. */
type Action = (state: State, x: Tensor, how: How) => unknown;

const size = (x: Tensor, axis = 0): number => x.shape[axis] ?? 0;
const axisOf = (x: Tensor, a: number): number => a % Math.max(1, x.ndim);
const other = ({ tensors }: State, a: number): Tensor => at(tensors, a % tensors.length);
const hasShape = (x: Tensor, y: Tensor): boolean => x.shape.join() === y.shape.join();
/** Small whole numbers stay exact whatever is done with them a few times. */
const isSmall = (x: Tensor): boolean => x.numel > 0 && Math.abs(Number(x.abs().amax().item())) < 1e6;

const makes =
  (make: (x: Tensor, how: How, state: State) => Tensor | readonly Tensor[] | undefined): Action =>
  (state, x, how) => {
    const made = make(x, how, state);
    if (made !== undefined)
      state.tensors.push(...(Array.isArray(made) ? (made as readonly Tensor[]) : [made as Tensor]));
  };

const views: Readonly<Record<string, Action>> = {
  row: makes((x, { a }) => (size(x) > 0 ? x.at(a % size(x)) : undefined)),
  part: makes((x, { a, b }) => (x.ndim > 0 ? x.at(slice(a % 3, null, 1 + (b % 3))) : undefined)),
  narrow: makes((x, { a, b }) => (x.ndim > 0 ? x.narrow(axisOf(x, a), 0, b % (size(x, axisOf(x, a)) + 1)) : undefined)),
  transpose: makes((x) => (x.ndim > 1 ? x.transpose(0, -1) : undefined)),
  flatten: makes((x) => x.reshape([-1])),
  fold: makes((x) => (x.numel % 2 === 0 && x.numel > 0 ? x.reshape([2, x.numel / 2]) : undefined)),
  sameShape: makes((x) => x.reshape([...x.shape])),
  diagonal: makes((x) => (x.ndim > 1 ? x.diagonal() : undefined)),
  unsqueeze: makes((x, { a }) => x.unsqueeze(a % (x.ndim + 1))),
  squeeze: makes((x) => x.squeeze()),
  split: makes((x, { a, b }) => (x.ndim > 0 ? x.split(1 + (a % 3), axisOf(x, b)).slice(0, 3) : undefined)),
  expand: makes((x, { a }) => x.unsqueeze(0).expand([1 + (a % 3), ...x.shape])),
  unfold: makes((x, { a }) => (size(x) > 1 ? x.unfold(0, 2, 1 + (a % 2)) : undefined)),
  itself: makes((x) => x.to(x.dtype)),
  contiguous: makes((x) => x.contiguous()),
  kept: makes((x) => nn.functional.dropout(x, 0.5, { training: false })),
  sum: makes((x) => einsum(x.ndim === 2 ? 'ij->ji' : '...->...', x)),
};

const fresh: Readonly<Record<string, Action>> = {
  scaled: makes((x, { a }) => (isSmall(x) ? x.mul(a - 3) : undefined)),
  same: makes((x) => x.add(0)),
  sumOf: makes((x, { a }) => (x.ndim > 0 ? x.sum(axisOf(x, a)) : undefined)),
  clone: makes((x) => x.clone()),
  joined: makes((x, { a }, state) => {
    const y = other(state, a);
    return x.ndim > 0 && hasShape(x, y) ? cat([x, y]) : undefined;
  }),
  chosen: makes((x, { a }, state) => {
    const y = other(state, a);
    return hasShape(x, y) ? where(x.gt(y), x, y) : undefined;
  }),
};

const writes: Readonly<Record<string, Action>> = {
  add: (_, x, { a }) => x.add_(a),
  mul: (_, x, { a }) => isSmall(x) && x.mul_(a - 2),
  fill: (_, x, { a }) => x.fill_(a),
  zero: (_, x) => x.zero_(),
  copySum: (state, x, { a }) => isSmall(other(state, a)) && x.copy_(other(state, a).sum()),
  copy: (state, x, { a }) => hasShape(x, other(state, a)) && x.copy_(other(state, a)),
  addOther: (state, x, { a }) => hasShape(x, other(state, a)) && isSmall(x) && x.add_(other(state, a)),
  setRow: (_, x, { a, b }) => size(x) > 0 && x.set([a % size(x)], b),
  setPart: (_, x, { a, b }) => x.ndim > 0 && x.set([slice(a % 2, null, 2)], b),
  addTransposed: (_, x) => x.ndim === 2 && size(x) === size(x, 1) && isSmall(x) && x.add_(x.t()),
  rowOfRow: (_, x, { a }) =>
    x.ndim > 1 &&
    size(x) > 0 &&
    size(x, 1) > 0 &&
    x
      .at(a % size(x))
      .at(0)
      .add_(1),
};

const reads: Readonly<Record<string, Action>> = {
  element: ({ read }, x) => x.numel > 0 && read.push(x.flatten().at(0).item()),
  lastRow: ({ read }, x) => size(x) > 0 && read.push(x.at(-1).toArray()),
  all: ({ read }, x) => read.push(x.toArray()),
  total: ({ read }, x) => x.numel > 0 && read.push(x.sum().item()),
  branch: ({ read, tensors }, x, { a }) => {
    if (x.numel === 0) return;
    const value = Number(
      x
        .flatten()
        .at(a % x.numel)
        .item(),
    );
    read.push(value);
    tensors.push(value > 2 ? x.sub(value % 8) : x.neg());
  },
  keeps: ({ kept }, x, { a }) => (kept[`k${String(a % 3)}`] = x),
  usesKept: ({ kept, tensors }, _, { a }) => {
    const found = kept[`k${String(a % 3)}`];
    if (found !== undefined) tensors.push(found);
  },
};

/** By group, as often as the group is drawn. */
export const actionGroups: readonly (readonly [weight: number, actions: Readonly<Record<string, Action>>])[] = [
  [40, views],
  [20, fresh],
  [28, writes],
  [12, reads],
];

export const viewActions: ReadonlyMap<string, Action> = new Map(
  actionGroups.flatMap(([, actions]) => Object.entries(actions)),
);
