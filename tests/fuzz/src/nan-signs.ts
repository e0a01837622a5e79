// Elements that depend on the sign of a NaN, found by evaluating a graph twice. In: a graph's results with one sign and with
// the other. Out: which elements may be anything for that reason; all others must be the same bits.
import { at, isFloat } from '@tsinductor/base';
import { isPointwise, pointwise } from '@tsinductor/ops';
import type { Tensor } from '@tsinductor/tensor';
import { dispatch } from '@tsinductor/tensor/internal';
import { numbersOf } from './compare.ts';
import type { Hook } from './evaluate-graph.ts';

/**
 * A NaN's sign is nobody's promise: hardware and JavaScript make different ones. A hook that gives the calls which read a
 * sign the other answer wherever they read that of a NaN; elements that change with it may be anything.
 */
export const otherNanSigns: Hook = (node, results, args) => {
  const { target } = node;
  const [result, source] = [at(results, 0), args.at(-1)];
  if (!isPointwise(target) || pointwise[target].traits.readsSign !== true) return results;
  if (source === undefined || !isFloat(source.dtype)) return results;
  const unknown = dispatch('isnan', [source]);
  const flipped = result.dtype === 'bool' ? result.logicalNot() : result.neg();
  return [dispatch('where', [unknown, flipped, result]) as Tensor].map((tensor) => tensor.contiguous());
};

/** For each element: Infinity where two runs differ, 0 where they agree. */
export function whereTheyDiffer(one: readonly Tensor[], other: readonly Tensor[]): readonly Float64Array[] {
  return one.map((tensor, output) => {
    const [left, right] = [numbersOf(tensor), numbersOf(at(other, output))];
    return left.map((value, k) => (Object.is(value, right[k]) ? 0 : Infinity));
  });
}
