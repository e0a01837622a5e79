// Random programs of views and writes: traced and run, they must leave every tensor and input as eager execution does.
import { expect, test } from '@jest/globals';
import { UserError, at } from '@tsinductor/base';
import fc from 'fast-check';
import { arange, slice } from '../index.ts';
import { EagerExecutor, trace } from '../internal.ts';
import type { Tensor } from '../index.ts';

/** One step: which tensor, what is done to it, and two numbers that say how. */
type Step = readonly [which: number, what: number, a: number, b: number];

/** A view of all elements, where the tensor's strides allow one: eager execution and tracing must agree on that. */
function ifItIsView(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof UserError) || error.code !== 'VIEW_IMPOSSIBLE') throw error;
  }
}

/** Appends what the step makes to `tensors`, or writes into one of them. */
const actions: readonly ((tensors: Tensor[], x: Tensor, how: { a: number; b: number }) => void)[] = [
  (tensors, x, { a }) => x.ndim > 0 && tensors.push(x.at(a % at(x.shape, 0))),
  (tensors, x, { a, b }) => x.ndim > 0 && tensors.push(x.at(slice(a % 3, null, 1 + (b % 3)))),
  (tensors, x) => x.ndim > 1 && tensors.push(x.transpose(0, -1)),
  (tensors, x) => tensors.push(x.reshape([-1])),
  (tensors, x) => ifItIsView(() => tensors.push(x.view([-1]))),
  (tensors, x) => ifItIsView(() => tensors.push(x.transpose(0, -1).view([-1]))),
  (_, x) => x.ndim === 2 && x.shape[0] === x.shape[1] && x.copy_(x.mul(2).t()),
  (tensors, x) => x.ndim > 1 && tensors.push(x.diagonal()),
  (tensors, x, { a }) => tensors.push(x.unsqueeze(a % (x.ndim + 1))),
  (tensors, x, { a, b }) => x.ndim > 0 && tensors.push(...x.split(1 + (a % 3), b % x.ndim)),
  (tensors, x, { a }) => tensors.push(x.mul(a - 3)),
  (_, x, { a }) => x.add_(a),
  (_, x, { a }) => x.mul_(a - 2),
  (_, x, { a }) => x.fill_(a),
  (tensors, x, { a }) => x.copy_(at(tensors, a % tensors.length).sum()),
  (tensors, x, { a }) => {
    const source = at(tensors, a % tensors.length);
    if (source.shape.join() === x.shape.join()) x.copy_(source);
  },
  (_, x, { a, b }) => x.ndim > 0 && at(x.shape, 0) > 0 && x.set([a % at(x.shape, 0)], b),
  (_, x) => x.ndim === 2 && x.shape[0] === x.shape[1] && x.add_(x.t()),
];

function program(steps: readonly Step[]): (x: Tensor) => Tensor[] {
  return (x) => {
    const tensors = [x];
    for (const [which, what, a, b] of steps) {
      const target = at(tensors, which % tensors.length);
      if (target.numel > 0 && tensors.length < 24) at(actions, what % actions.length)(tensors, target, { a, b });
    }
    // Values as they are in the end, whatever was written since.
    return tensors.map((tensor) => tensor.add(0));
  };
}

const small = fc.nat({ max: 11 });
const steps = fc.array(fc.tuple(fc.nat({ max: 23 }), fc.nat({ max: actions.length - 1 }), small, small), {
  maxLength: 14,
});
const shapes = fc.constantFrom<(readonly number[])[]>([4, 4], [3, 5], [2, 3, 2], [6], [1, 4]);

test('random views and writes', () => {
  fc.assert(
    fc.property(steps, shapes, fc.boolean(), (choices, shape, isTransposed) => {
      const fn = program(choices);
      const make = (): Tensor => {
        const plain = arange(
          shape.reduce((count, size) => count * size, 1),
          { dtype: 'f64' },
        ).reshape(shape);
        return isTransposed ? plain.transpose(0, -1) : plain;
      };
      const [eager, traced] = [make(), make()];
      const expected = fn(eager).map((tensor) => tensor.toArray());
      const { graph, outputs } = trace(fn, [traced]);
      const results = new EagerExecutor().runGraph(graph, [traced]);
      for (const { output } of graph.mutations) traced.writeBack(at(results, output));
      expect(results.slice(0, outputs.length).map((tensor) => tensor.toArray())).toEqual(expected);
      expect(traced.toArray()).toEqual(eager.toArray());
    }),
    { numRuns: 120, seed: 20 },
  );
});
