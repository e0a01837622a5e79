// What rounding may do to the results of a graph, measured: the graph is evaluated again and again, each time with every
// value that may be rounded differently moved by up to its own bound, in random directions. How far each element of an
// output moves is its tolerance; one that becomes another integer, or leaves the finite numbers, may be anything.
//
// For graphs whose intermediates are not visible. Where they are (check-programs.ts, `forward`), nothing is estimated.
import { at, isFloat, isTsInductorError } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Graph } from '@tsinductor/graph';
import { isPointwise, isReduction, pointwise } from '@tsinductor/ops';
import { fromBuffer } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { dispatch } from '@tsinductor/tensor/internal';
import { isHalf, numbersOf, spacing } from './compare.ts';
import type { CallNode, GraphEvaluator, Hook } from './evaluate-graph.ts';
import type { Random } from './random.ts';
import { boundsOf, isInexact } from './rounding.ts';
import { evaluateWide } from './wide-halves.ts';

export interface Disturbance {
  readonly evaluator: GraphEvaluator;
  readonly random: Random;
  /** Half-precision intermediates may be kept in f32. */
  readonly halvesAreWide: boolean;
  /** How often the graph is evaluated: an element that only a rare rounding moves (over the edge of a bin) needs many. */
  readonly samples: number;
}

/** Enough for most graphs; before a difference counts as one, as many are drawn as `thorough` says. */
export const quick = 6;
export const thorough = 96;
/** A sample seldom meets the worst direction of every element at once. */
const safety = 4;

/** For each output, how far each of its elements may be from `expected`. */
export function toleranceOf(
  graph: Graph,
  { inputs, expected }: { inputs: readonly Tensor[]; expected: readonly Tensor[] },
  disturbance: Disturbance,
): readonly Float64Array[] {
  const wanted = expected.map(numbersOf);
  const tolerance = wanted.map((values) => new Float64Array(values.length));
  for (let sample = 0; sample < disturbance.samples; sample += 1) {
    const moved = disturbed(graph, inputs, { disturbance, sample });
    // An index that rounding may drive out of range: every result may be anything.
    if (moved === undefined) return tolerance.map((bounds) => bounds.fill(Infinity));
    moved.forEach((tensor, output) => {
      const [values, base, bounds] = [numbersOf(tensor), at(wanted, output), at(tolerance, output)]; // prettier-ignore
      const integral = !isFloat(tensor.dtype);
      values.forEach((value, k) => {
        bounds[k] = Math.max(at(bounds, k), movement(value, at(base, k), integral));
      });
    });
  }
  return tolerance;
}

function disturbed(
  graph: Graph,
  inputs: readonly Tensor[],
  { disturbance, sample }: { disturbance: Disturbance; sample: number },
): readonly Tensor[] | undefined {
  const { evaluator, halvesAreWide } = disturbance;
  try {
    if (halvesAreWide && sample === 0) return evaluateWide(evaluator, graph, inputs);
    return evaluator.run(graph, inputs, disturb(disturbance, sample));
  } catch (error) {
    if (isTsInductorError(error) && error.name === 'UserError') return undefined;
    throw error;
  }
}

function movement(value: number, base: number, integral: boolean): number {
  if (value === base || (Number.isNaN(value) && Number.isNaN(base))) return 0;
  if (integral || !Number.isFinite(value) || !Number.isFinite(base)) return Infinity;
  return safety * Math.abs(value - base);
}

function disturb({ random, halvesAreWide }: Disturbance, sample: number): Hook {
  // Two samples move everything one way: what cancels under random signs shows there.
  const direction = (): number => (sample === 1 || sample === 2 ? 3 - 2 * sample : random.chance(0.5) ? 1 : -1);
  return (node, results, args) =>
    results.map((result) => {
      const bounds = boundsFor(node, result, { args, halvesAreWide });
      return bounds === undefined ? result : moveBy(result, bounds, { direction, halvesAreWide });
    });
}

/** Views and copies round nothing. */
const rounds = ({ target }: CallNode): boolean =>
  isPointwise(target) || target === 'cast' || target === 'bmm' || isReduction(target) || target.startsWith('cum');

function boundsFor(
  node: CallNode,
  result: Tensor,
  { args, halvesAreWide }: { args: readonly Tensor[]; halvesAreWide: boolean },
): Float64Array | undefined {
  const inexact = isInexact(node, args[0]?.dtype);
  const wide = halvesAreWide && isHalf(result.dtype) && rounds(node);
  if (!inexact && !wide) return undefined;
  const bounds = inexact ? boundsOf(node, result, args) : new Float64Array(result.numel);
  if (wide) numbersOf(result).forEach((value, k) => (bounds[k] = at(bounds, k) + spacing(value, result.dtype)));
  return bounds;
}

/** The largest finite halves: where rounding gives an infinity, the wider value may have been just beyond. */
const largestHalf: Partial<Record<DType, number>> = { f16: 65504, bf16: 3.3895313892515355e38 };

function moveBy(
  tensor: Tensor,
  bounds: Float64Array,
  { direction, halvesAreWide }: { direction: () => number; halvesAreWide: boolean },
): Tensor {
  const values = numbersOf(tensor);
  const largest = halvesAreWide ? largestHalf[tensor.dtype] : undefined;
  const moved = values.map((value, k) => {
    const bound = at(bounds, k);
    if (largest !== undefined && Math.abs(value) === Infinity)
      return direction() < 0 ? Math.sign(value) * largest : value;
    // A sum that may overflow on its way may be anything, whatever it is here: another value says so.
    if (bound === Infinity) return Number.isNaN(value) ? 0 : NaN;
    return bound === 0 || !Number.isFinite(value) ? value : value + direction() * bound;
  });
  return fromBuffer(moved.buffer, { dtype: 'f64', shape: tensor.shape }).to(tensor.dtype);
}

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
