// Arithmetic on coordinates as index expressions. In: an op and the nodes of its operands. Out: the index expression that it
// computes, so that index arithmetic simplifies it, and whoever knows more of a coordinate simplifies it further.
//
// Nothing is said of what is larger than coordinates are: i64 wraps, index expressions do not, and vectors of positions have 32 bits
// where what they come to has no more.
import type { PointwiseName } from '@tsinductor/ops';
import { floorDivide, modulo } from '../arithmetic/divide.ts';
import { add, int, multiply, subtract, termsOf } from '../arithmetic/polynomial.ts';
import type { Term } from '../arithmetic/polynomial.ts';
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
  return result !== undefined && [x, y, result].every(isSmall) ? result : undefined;
}

function coordinateOf(node: Scalar): Index | undefined {
  if (node.kind === 'index') return node.value;
  if (node.kind !== 'constant' || node.dtype !== 'i64') return undefined;
  const value = Number(constantToValue(node.value, 'i64'));
  return Number.isSafeInteger(value) ? int(value) : undefined;
}

/**
 * Whether 32 bits hold a coordinate, so that every step towards a position may be computed with so many; or, where its size is not
 * known, whether it is no larger than the coordinates that it is made of.
 */
function isSmall(index: Index): boolean {
  const { low, high } = boundsOf(index);
  return (low >= -(2 ** 31) && high < 2 ** 31) || termsOf(index).every(isCoordinate);
}

function isCoordinate({ coefficient, factors }: Term): boolean {
  const [factor, ...others] = factors;
  if (factor === undefined) return Math.abs(coefficient) <= 2 ** 20;
  const divisor = factor.kind === 'floorDiv' && factor.divisor.kind === 'int' ? factor.divisor.value : 1;
  return others.length === 0 && Math.abs(coefficient) <= divisor;
}
