// What becomes of errors in a map of elements. In: a pointwise call (or a cast) with the errors of its operands. Out: how far
// each element of its result may move. It is evaluated along the diagonals of the box that the operands may be in: where it
// is monotone, the corners bound it. Where it turns back within the box by more than little (a pole, a jump, whole periods),
// nothing bounds it. Twice the error that the op's own entry admits is added: compiled and interpreted code compute it at two
// places.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import { isScalar, scalarNumber } from '@tsinductor/graph';
import { isPointwise, pointwise } from '@tsinductor/ops';
import type { PointwiseOp } from '@tsinductor/ops';
import { fromBuffer } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { dispatch } from '@tsinductor/tensor/internal';
import { isHalf, numbersOf, spacing } from './compare.ts';
import type { JudgedCall } from './judged-call.ts';
import { displaced, distance, probeCount, replaced } from './moved-operands.ts';

/** Places on half a diagonal and on the other, in order: at no simple fractions, so that no period hides what lies between. */
const before = [-1, -0.6180339887498949];
const after = [0.3819660112501051, 0.8541019662496846, 1];

/** A share of the greatest result (of 1 at least) by which a map may turn back: an extreme point, or rounding. */
const turn = 2 ** -8;

/** The directions of the diagonals of a box of that many operands; those of opposite signs are one. */
const diagonals = (count: number): readonly (readonly number[])[] =>
  Array.from({ length: 2 ** Math.max(count - 1, 0) }, (_, bits) =>
    Array.from({ length: count }, (__, operand) => (operand === 0 || ((bits >> (operand - 1)) & 1) === 0 ? 1 : -1)),
  );

export function elementwiseMovement(call: JudgedCall): Float64Array {
  const { node, args, errors, result, evaluate } = call;
  const base = numbersOf(result);
  const movement = new Float64Array(base.length);
  const moving = errors.flatMap((error, position) => (error === undefined ? [] : [position]));
  for (const direction of diagonals(moving.length)) {
    const valuesAt = (place: number): Float64Array =>
      numbersOf(
        evaluate(
          args.map((arg, position) =>
            displaced(arg, errors[position], place * (direction[moving.indexOf(position)] ?? 0)),
          ),
        ),
      );
    raise(movement, [...before.map(valuesAt), base, ...after.map(valuesAt)], { base, isExact: !isFloat(result.dtype) });
  }
  markDependent(movement, call);
  const op = isPointwise(node.target) ? pointwise[node.target] : undefined;
  return op === undefined || !isFloat(result.dtype) ? movement : withAccuracy(movement, op, call);
}

/** Raises each bound to the farthest of the values along a diagonal. */
function raise(
  movement: Float64Array,
  values: readonly Float64Array[],
  { base, isExact }: { readonly base: Float64Array; readonly isExact: boolean },
): void {
  movement.forEach((bound, k) => {
    let [up, down, largest, farthest] = [0, 0, 1, bound];
    values.forEach((place, position) => {
      const value = at(place, k);
      const step = value - (values[position - 1]?.[k] ?? value);
      if (step > 0) up += step;
      else down -= step;
      largest = Math.max(largest, Math.abs(value));
      farthest = Math.max(farthest, distance(value, at(base, k), isExact));
    });
    movement[k] = Math.min(up, down) > turn * largest ? Infinity : farthest;
  });
}

/** Elements that change with an operand of which nothing is known may be anything. */
function markDependent(movement: Float64Array, { args, errors, result, evaluate }: JudgedCall): void {
  const isUnknown = errors.map((error, position) => at(args, position).dtype !== 'bool' && error?.includes(Infinity));
  if (!isUnknown.includes(true)) return;
  const base = numbersOf(result);
  const isReplaced = (error: number): boolean => error === Infinity;
  for (let probe = 0; probe < probeCount; probe += 1) {
    const given = args.map((arg, position) =>
      isUnknown[position] === true ? replaced(arg, errors[position], { probe, isReplaced }) : arg,
    );
    numbersOf(evaluate(given)).forEach((value, k) => {
      if (!Object.is(value, base[k])) movement[k] = Infinity;
    });
  }
}

/** Adds what both evaluations of the op may be off, where an operand moved at all. */
function withAccuracy(movement: Float64Array, op: PointwiseOp, call: JudgedCall): Float64Array {
  const { ulp = 0, scale } = op;
  if (ulp === 0) return movement;
  const { node, args, errors, result } = call;
  const { shape, dtype } = result;
  const values = numbersOf(result);
  const spread = (tensor: Tensor): Float64Array => numbersOf(dispatch('expand', [tensor, shape]) as Tensor);
  const moved = errors.flatMap((error, position) =>
    error === undefined
      ? []
      : [spread(fromBuffer(error.slice().buffer, { dtype: 'f64', shape: at(args, position).shape }))],
  );
  let next = 0;
  const operands =
    scale === undefined
      ? []
      : node.args.map((arg) => (isScalar(arg) ? values.map(() => scalarNumber(arg)) : spread(at(args, next++))));
  const format = isHalf(dtype) ? dtype : dtypeInfo[dtype].compute;
  return movement.map((bound, k) => {
    if (!moved.some((error) => at(error, k) > 0)) return bound;
    const size = scale === undefined ? 0 : scale(...operands.map((operand) => at(operand, k)));
    return bound + 2 * ulp * spacing(Math.max(Math.abs(at(values, k)), Number.isFinite(size) ? size : 0), format);
  });
}
