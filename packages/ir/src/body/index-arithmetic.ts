// Arithmetic on coordinates as index expressions. In: an op and the nodes of its operands. Out: the index expression that it
// computes, so that index arithmetic simplifies it, and whoever knows more of a coordinate simplifies it further.
//
// Coordinates are below 2^53, since what they are of lies in memory. Nothing is said where a result might not be: i64 wraps, index
// expressions do not.
import type { PointwiseName } from '@tsinductor/ops';
import { floorDivide, modulo } from '../arithmetic/divide.ts';
import { add, int, multiply, subtract, termsOf } from '../arithmetic/polynomial.ts';
import { boundsOf } from '../arithmetic/range.ts';
import type { Index } from '../index-expr.ts';
import type { Scalar, ScalarId } from '../scalar.ts';
import { constantToValue } from './constant.ts';

type Arithmetic = (x: Index, y: Index) => Index | undefined;

const isPositive = (index: Index): boolean => index.kind === 'int' && index.value > 0;

const operations: Readonly<Partial<Record<PointwiseName, Arithmetic>>> = {
  add,
  sub: subtract,
  mul: (x, y) => (x.kind === 'int' || y.kind === 'int' ? multiply(x, y) : undefined),
  divFloor: (x, y) => (isPositive(y) ? floorDivide(x, y) : undefined),
  remainder: (x, y) => (isPositive(y) ? modulo(x, y) : undefined),
};

/** The index expression that an op on coordinates and constants computes; undefined where it is none. */
export function indexOfOp(
  nodeOf: (id: ScalarId) => Scalar,
  op: PointwiseName,
  args: readonly ScalarId[],
): Index | undefined {
  const operation = operations[op];
  if (operation === undefined) return undefined;
  const operands = args.map((id) => coordinateOf(nodeOf(id)));
  const [x, y] = operands;
  if (x === undefined || y === undefined || args.every((id) => nodeOf(id).kind === 'constant')) return undefined;
  const result = operation(x, y);
  return result !== undefined && isExact(result) ? result : undefined;
}

function coordinateOf(node: Scalar): Index | undefined {
  if (node.kind === 'index') return node.value;
  if (node.kind !== 'constant' || node.dtype !== 'i64') return undefined;
  const value = Number(constantToValue(node.value, 'i64'));
  return Number.isSafeInteger(value) ? int(value) : undefined;
}

/** Factors by which coordinates of unknown size are still far from where i64 wraps. */
const mostFactor = 1024;

function isExact(index: Index): boolean {
  const { low, high } = boundsOf(index);
  const isBounded = Math.abs(low) <= 2 ** 53 && Math.abs(high) <= 2 ** 53;
  return isBounded || termsOf(index).every(({ coefficient, factors }) => factors.length <= 1 && Math.abs(coefficient) <= mostFactor); // prettier-ignore
}
