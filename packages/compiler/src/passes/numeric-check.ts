// What a pass does to values (`fxPassesNumericCheck`): the graph is run by the interpreter before and after it, on the tensors of the call.
import { at } from '@tsinductor/base';
import type { Graph } from '@tsinductor/graph';
import type { Tensor } from '@tsinductor/tensor';
import { EagerExecutor, unrecorded, withoutGradients } from '@tsinductor/tensor/internal';
import { passChanges } from '../errors.ts';

/** Throws UserError PASS_NUMERICS where an output differs by more than `tolerance`, relative to its largest element. */
export function checkNumbers(
  pass: string,
  { before, after }: { readonly before: Graph; readonly after: Graph },
  { inputs, tolerance }: { readonly inputs: readonly Tensor[]; readonly tolerance: number },
): void {
  unrecorded(() =>
    withoutGradients(() => {
      const executor = new EagerExecutor();
      const [expected, found] = [before, after].map((graph) => executor.runGraph(graph, inputs));
      expected?.forEach((tensor, output) => {
        const difference = relativeDifference(tensor, at(found ?? [], output));
        if (!(difference <= tolerance)) throw passChanges(pass, { output, difference, tolerance });
      });
    }),
  );
}

/** The largest difference of two elements over the largest element; elements that are not finite are equal or infinitely far apart. */
function relativeDifference(expected: Tensor, found: Tensor): number {
  const [a, b] = [expected, found].map((tensor) => tensor.to('f64').reshape([-1]).toTypedArray() as Float64Array);
  if (a === undefined || b === undefined) return Infinity;
  let [largest, difference] = [0, 0];
  a.forEach((value, position) => {
    const other = b[position] ?? NaN;
    if (Object.is(value, other)) return;
    if (!Number.isFinite(value) || !Number.isFinite(other)) difference = Infinity;
    difference = Math.max(difference, Math.abs(value - other));
    largest = Math.max(largest, Math.abs(value));
  });
  return difference === 0 ? 0 : difference / (largest === 0 ? 1 : largest);
}
