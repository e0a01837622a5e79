// How far compiled results may be from interpreted ones, by running error analysis. In: a graph of primitives, its inputs.
// Out: for each element of each output a bound that holds whatever order reductions take: every value carries the error
// that it may have, and each primitive says what becomes of the errors of its operands and what it adds of its own.
//
// One procedure for every graph, without a random sample and without a factor of safety. A bound of 0 says that the element
// must be the same bits; Infinity that it may be anything: an index or a truth value that rounding may turn into another one.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { scalar } from '@tsinductor/graph';
import type { Graph, Meta } from '@tsinductor/graph';
import { isPointwise, isReduction } from '@tsinductor/ops';
import { fromBuffer } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { epsilonOf, isHalf, numbersOf, spacing } from './compare.ts';
import { elementwiseMovement } from './elementwise-movement.ts';
import type { CallNode, GraphEvaluator } from './evaluate-graph.ts';
import type { JudgedCall } from './judged-call.ts';
import { displaced, distance, probeCount, replaced } from './moved-operands.ts';
import type { Errors } from './moved-operands.ts';
import { boundsOf, isInexact, magnitude } from './rounding.ts';
import { wideNode, wideTensor } from './wide-halves.ts';

export interface Judging {
  readonly evaluator: GraphEvaluator;
  /** Half-precision intermediates may be kept in f32. */
  readonly halvesAreWide: boolean;
}

/** For each output, how far each of its elements may be from what is interpreted. */
export function outputBounds(
  graph: Graph,
  inputs: readonly Tensor[],
  { evaluator, halvesAreWide }: Judging,
): readonly Float64Array[] {
  const known = new Map<Tensor, Float64Array>();
  const outputs = evaluator.run(graph, inputs, (node, results, args) => {
    const result = at(results, 0);
    const errors = args.map((arg) => known.get(arg));
    const used = halvesAreWide ? wideNode(node) : node;
    const seen = halvesAreWide ? args.map(wideTensor) : args;
    const call: JudgedCall = {
      node,
      args: seen,
      errors,
      result,
      evaluate: (given) => at(evaluator.apply(used, given), 0),
      evaluateDouble: (given) => numbersOf(at(evaluator.apply(doubleNode(node), given), 0)),
    };
    const error = errorOf(call, { argument: args[0]?.dtype, isWide: halvesAreWide });
    if (error?.some((bound) => bound > 0) === true) {
      known.set(result, error);
      // A second result says where the elements of the first were, which may be anywhere where these may be others.
      for (const other of results.slice(1)) known.set(other, new Float64Array(other.numel).fill(Infinity));
    }
    return results;
  });
  return outputs.map((output) => known.get(output) ?? new Float64Array(output.numel));
}

/** In double precision; what the call adds itself is 0. */
function doubleNode(node: CallNode): CallNode {
  const results = node.results.map((meta): Meta => ({ ...meta, dtype: 'f64' }));
  return { ...node, results, attrs: 'value' in node.attrs ? { ...node.attrs, value: scalar(0) } : node.attrs };
}

/** Views and copies round nothing. */
const rounds = ({ target }: CallNode): boolean =>
  isPointwise(target) || target === 'cast' || target === 'bmm' || isReduction(target) || target.startsWith('cum');

function errorOf(call: JudgedCall, { argument, isWide }: { argument: DType | undefined; isWide: boolean }): Errors {
  const { node, errors, result } = call;
  const isMoved = errors.some((error) => error !== undefined);
  const isRounded = isWide && isHalf(result.dtype) && rounds(node);
  if (!isMoved && !isRounded && !isInexact(node, argument)) return undefined;
  const movement = isMoved || isInexact(node, argument) ? movementOf(call) : new Float64Array(result.numel);
  // The result itself may be rounded, or not. What is infinite and nothing at once bounds nothing.
  const rounding = isRounded ? numbersOf(result).map((value) => roundingOf(value, result.dtype)) : undefined;
  return movement.map(
    (bound, k) => (Number.isNaN(bound) ? Infinity : bound) + (rounding === undefined ? 0 : at(rounding, k)),
  );
}

/** An infinite half may be a number beyond the largest one, where it is kept wide. */
const roundingOf = (value: number, dtype: Tensor['dtype']): number =>
  Math.abs(value) === Infinity ? Infinity : spacing(value, dtype);

type Rule = (call: JudgedCall) => Float64Array;

/** Whether an operand at a position holds elements; others say where elements go. */
type IsData = (position: number, count: number) => boolean;

interface Passing {
  readonly rule: Rule;
  readonly isData: IsData;
}

const every: IsData = () => true;
const first: IsData = (position) => position === 0;
const ends: IsData = (position, count) => position === 0 || position === count - 1;
const passing = (rule: Rule, isData: IsData = every): Passing => ({ rule, isData });
const moved = passing((call) => call.evaluateDouble(errorTensors(call, every)));
const placed = passing((call) => call.evaluateDouble(errorTensors(call, first)), first);

/** What becomes of errors in everything that is no map of elements. */
const passings: Readonly<Record<string, Passing>> = {
  permute: moved,
  expand: moved,
  reshape: moved,
  slice: moved,
  diagonal: moved,
  unfold: moved,
  asStrided: moved,
  flip: moved,
  pad: moved,
  cat: moved,
  gather: placed,
  indexSelect: placed,
  index: placed,
  require: placed,
  scatter: passing((call) => (scattering[call.node.attrs['mode'] as string] ?? dependent)(call), ends),
  indexPut: passing((call) => (call.node.attrs['accumulate'] === true ? accumulated : overwritten)(call), ends),
  bmm: passing((call) => withOwn(call, productMovement(call))),
  sum: passing((call) => withOwn(call, call.evaluateDouble(errorTensors(call, every)))),
  nansum: passing((call) => withOwn(call, call.evaluateDouble(errorTensors(call, every)))),
  prod: passing((call) => withOwn(call, factorMovement(call))),
  logsumexp: passing((call) => withOwn(call, monotone(call))),
  sorted: passing(monotone),
  ranked: passing(monotone, first),
  amax: passing(monotone),
  amin: passing(monotone),
  argmax: passing(outranked),
  argmin: passing(outranked),
  argmaxLast: passing(outranked),
  argminLast: passing(outranked),
  any: passing(truth),
  all: passing(truth),
  countNonzero: passing(truth),
  cumsum: passing((call) => withOwn(call, accumulated(call))),
  cumprod: passing((call) => withOwn(call, factorMovement(call))),
  cumamax: passing(monotone),
  cumamin: passing(monotone),
  cumargmax: passing(dependent),
  cumargmin: passing(dependent),
  cumlogsumexp: passing((call) => withOwn(call, runningLogarithm(call))),
};

const scattering: Readonly<Record<string, Rule>> = { set: overwritten, add: accumulated, min: monotone, max: monotone };

function passingOf(target: string): Passing {
  const passing = Object.hasOwn(passings, target) ? passings[target] : undefined;
  if (passing === undefined) throw new TypeError(`nothing says what becomes of errors in ${target}`);
  return passing;
}

function movementOf(call: JudgedCall): Float64Array {
  const { args, errors, node, result } = call;
  const { target } = node;
  if (isPointwise(target) || target === 'cast') return elementwiseMovement(call);
  const { rule, isData } = passingOf(target);
  const isAnywhere = errors.some((error, position) => error !== undefined && !isData(position, args.length));
  if (isAnywhere) return new Float64Array(result.numel).fill(Infinity);
  const only = (keep: (bound: number) => boolean): JudgedCall => ({
    ...call,
    errors: errors.map((error) => error?.map((bound) => (keep(bound) ? bound : 0))),
  });
  const movement = rule(only((bound) => bound !== Infinity));
  if (!errors.some((error) => error?.includes(Infinity) === true)) return movement;
  const unknown = dependent(only((bound) => bound === Infinity));
  return movement.map((bound, k) => Math.max(bound, at(unknown, k)));
}

const doubles = (values: Float64Array, shape: readonly number[]): Tensor =>
  fromBuffer(Float64Array.from(values).buffer, { dtype: 'f64', shape });

const errorAt = ({ errors, args }: JudgedCall, position: number): Float64Array =>
  errors[position] ?? new Float64Array(at(args, position).numel);

/** The errors in place of the elements; operands that hold none as they are. */
const errorTensors = (call: JudgedCall, isData: IsData): Tensor[] =>
  call.args.map((arg, position) =>
    isData(position, call.args.length) ? doubles(errorAt(call, position), arg.shape) : arg,
  );

/** |x| plus its error, likewise. */
const reaches = (call: JudgedCall, isData: IsData): Tensor[] =>
  call.args.map((arg, position) => {
    if (!isData(position, call.args.length)) return arg;
    const error = errorAt(call, position);
    return doubles(
      numbersOf(magnitude(arg)).map((value, k) => value + at(error, k)),
      arg.shape,
    );
  });

/** What a call adds of its own, over operands that may be that much larger. */
function withOwn(call: JudgedCall, movement: Float64Array): Float64Array {
  const { node, args, result } = call;
  const own = boundsOf(node, result, { dtype: at(args, 0).dtype, magnitudes: reaches(call, every) });
  return movement.map((bound, k) => bound + at(own, k));
}

/** |a| eb + ea (|b| + eb). */
function productMovement(call: JudgedCall): Float64Array {
  const a = magnitude(at(call.args, 0));
  const [errorOfA, errorOfB] = errorTensors(call, every) as [Tensor, Tensor];
  const right = call.evaluateDouble([a, errorOfB]);
  return call.evaluateDouble([errorOfA, at(reaches(call, every), 1)]).map((bound, k) => bound + at(right, k));
}

/** Products of greater factors, less those of the factors, and what rounding takes of them on the way. */
function factorMovement(call: JudgedCall): Float64Array {
  const product = call.evaluateDouble(call.args.map(magnitude));
  const epsilon = epsilonOf(dtypeInfo[call.result.dtype].compute);
  const count = at(call.args, 0).numel;
  return call.evaluateDouble(reaches(call, every)).map((bound, k) => {
    const moved = bound - at(product, k);
    return moved > 0 ? moved + 2 * count * epsilon * bound : 0;
  });
}

/** Elements that are written, over others that stay. */
function overwritten(call: JudgedCall): Float64Array {
  return call.evaluateDouble(errorTensors(call, ends));
}

/** Sums in a fixed order: of elements that moved, each may be rounded another way. */
function accumulated(call: JudgedCall): Float64Array {
  const movement = overwritten(call);
  const epsilon = epsilonOf(dtypeInfo[call.result.dtype].compute);
  const total = call.evaluateDouble(reaches(call, ends));
  const count = (call.args.at(-1)?.numel ?? 0) + 1;
  return movement.map((bound, k) => (bound === 0 ? 0 : bound + count * epsilon * at(total, k)));
}

/** Results that grow with every element: between those of all elements moved down, and all moved up. */
function monotone(call: JudgedCall): Float64Array {
  const movement = new Float64Array(call.result.numel);
  for (const factor of [1, -1]) {
    const args = call.args.map((arg, position) => displaced(arg, call.errors[position], factor));
    widen(movement, call, args);
  }
  return movement;
}

/** The same with what rounding may do on the way. */
function runningLogarithm(call: JudgedCall): Float64Array {
  const epsilon = epsilonOf(dtypeInfo[call.result.dtype].compute);
  const reach = numbersOf(at(reaches(call, every), 0)).reduce((most, value) => Math.max(most, value), 0);
  const rounding = (4 * reach + 4 * at(call.args, 0).numel + 16) * epsilon;
  return monotone(call).map((bound) => (bound === 0 ? 0 : bound + rounding));
}

/** Raises each bound to how far the call of other operands is from the call's result. */
function widen(movement: Float64Array, { evaluate, result }: JudgedCall, args: readonly Tensor[]): void {
  const base = numbersOf(result);
  const isExact = !isFloat(result.dtype);
  numbersOf(evaluate(args)).forEach((value, k) => {
    movement[k] = Math.max(at(movement, k), distance(value, at(base, k), isExact));
  });
}

/** Which position is the extreme one: certain where it stays so with its element moved against all others. */
function outranked(call: JudgedCall): Float64Array {
  const [x] = call.args as [Tensor];
  const error = errorAt(call, 0);
  const { of, rank } = placesOf(x.shape, call.node.attrs['dims'] as readonly number[]);
  const chosen = numbersOf(call.result);
  const movement = new Float64Array(call.result.numel);
  for (const factor of [1, -1]) {
    const against = error.map((bound, k) => (at(rank, k) === at(chosen, at(of, k)) ? -bound : bound));
    widen(movement, call, [displaced(x, against, factor)]);
  }
  return movement;
}

/** For each element, the result that it goes into, and which one of those that go there it is. */
function placesOf(shape: readonly number[], dims: readonly number[]): { of: Float64Array; rank: Float64Array } {
  const count = shape.reduce((product, size) => product * size, 1);
  const places = { of: new Float64Array(count), rank: new Float64Array(count) };
  for (let k = 0; k < count; k += 1) {
    let [left, ofStep, rankStep] = [k, 1, 1];
    for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
      const size = at(shape, axis);
      const index = left % size;
      left = (left - index) / size;
      if (dims.includes(axis)) {
        places.rank[k] = at(places.rank, k) + index * rankStep;
        rankStep *= size;
      } else {
        places.of[k] = at(places.of, k) + index * ofStep;
        ofStep *= size;
      }
    }
  }
  return places;
}

/** Only whether elements are 0 matters: those that may be. */
function truth(call: JudgedCall): Float64Array {
  const mayVanish = call.errors.map((error, position) => {
    const sizes = numbersOf(magnitude(at(call.args, position)));
    return error?.map((bound, k) => (bound >= at(sizes, k) ? bound : 0));
  });
  return dependent({ ...call, errors: mayVanish });
}

/** Nothing is known but which results depend on elements that may move: they may be anything. */
function dependent(call: JudgedCall): Float64Array {
  const movement = new Float64Array(call.result.numel);
  const isReplaced = (error: number): boolean => error > 0;
  for (let probe = 0; probe < probeCount; probe += 1) {
    widen(
      movement,
      call,
      call.args.map((arg, position) => replaced(arg, call.errors[position], { probe, isReplaced })),
    );
  }
  return movement.map((bound) => (bound === 0 ? 0 : Infinity));
}
