// Comparisons, logic, classification and choice. At bool, comparisons are bitwise: a mask needs no other instruction.
import { isFloat } from '@tsinductor/base';
import { binary, ternary, unary } from '../define.ts';
import type { Binary, Spec, Ternary, Unary } from '../define.ts';
import { infix, levels, prefix, prelude } from '../prelude.ts';
import { bitcast } from '../term.ts';
import { abs } from './arithmetic.ts';
import { bitwiseAnd, bitwiseOr, bitwiseXor } from './bitwise.ts';

const compares = (test: (x: number, y: number) => boolean, bigints: (x: bigint, y: bigint) => boolean) =>
  ({
    float: (x = 0, y = 0) => Number(test(x, y)),
    int: (x = 0, y = 0) => Number(test(x, y)),
    bigint: (x = 0n, y = 0n) => bigints(x, y),
  }) satisfies Spec['evaluate'];

export const eq: Binary = binary('eq', {
  doc: 'Whether two values are equal.',
  formula: 'x = y',
  rule: 'compare',
  reference: (x = 0, y = 0) => Number(x === y),
  ulp: 0,
  traits: { commutative: true, otherZero: ['same', 'same'], cost: 1 },
  c: infix('==', levels.equal),
  evaluate: compares(
    (x, y) => x === y,
    (x, y) => x === y,
  ),
  decompose: ({ x, y }, dtype) => (dtype === 'bool' ? logicalNot(bitwiseXor(x, y)) : undefined),
});

export const ne: Binary = binary('ne', {
  doc: 'Whether two values differ.',
  formula: 'x != y',
  rule: 'compare',
  reference: (x = 0, y = 0) => Number(x !== y),
  ulp: 0,
  traits: { commutative: true, otherZero: ['same', 'same'], cost: 1 },
  c: infix('!=', levels.equal),
  evaluate: compares(
    (x, y) => x !== y,
    (x, y) => x !== y,
  ),
  decompose: ({ x, y }, dtype) => (dtype === 'bool' ? bitwiseXor(x, y) : undefined),
});

export const lt: Binary = binary('lt', {
  doc: 'Whether x is less than y.',
  formula: 'x < y',
  rule: 'compare',
  reference: (x = 0, y = 0) => Number(x < y),
  ulp: 0,
  traits: { otherZero: ['same', 'same'], cost: 1 },
  c: infix('<', levels.compare),
  evaluate: compares(
    (x, y) => x < y,
    (x, y) => x < y,
  ),
  decompose: ({ x, y }, dtype) => (dtype === 'bool' ? bitwiseAnd(logicalNot(x), y) : undefined),
});

export const le: Binary = binary('le', {
  doc: 'Whether x is less than or equal to y.',
  formula: 'x <= y',
  rule: 'compare',
  reference: (x = 0, y = 0) => Number(x <= y),
  ulp: 0,
  traits: { otherZero: ['same', 'same'], cost: 1 },
  c: infix('<=', levels.compare),
  evaluate: compares(
    (x, y) => x <= y,
    (x, y) => x <= y,
  ),
  decompose: ({ x, y }, dtype) => (dtype === 'bool' ? bitwiseOr(logicalNot(x), y) : undefined),
});

export const gt: Binary = binary('gt', {
  doc: 'Whether x is greater than y.',
  formula: 'x > y',
  rule: 'compare',
  reference: (x = 0, y = 0) => Number(x > y),
  ulp: 0,
  traits: { otherZero: ['same', 'same'], cost: 1 },
  c: infix('>', levels.compare),
  evaluate: compares(
    (x, y) => x > y,
    (x, y) => x > y,
  ),
  decompose: ({ x, y }, dtype) => (dtype === 'bool' ? bitwiseAnd(x, logicalNot(y)) : undefined),
});

export const ge: Binary = binary('ge', {
  doc: 'Whether x is greater than or equal to y.',
  formula: 'x >= y',
  rule: 'compare',
  reference: (x = 0, y = 0) => Number(x >= y),
  ulp: 0,
  traits: { otherZero: ['same', 'same'], cost: 1 },
  c: infix('>=', levels.compare),
  evaluate: compares(
    (x, y) => x >= y,
    (x, y) => x >= y,
  ),
  decompose: ({ x, y }, dtype) => (dtype === 'bool' ? bitwiseOr(x, logicalNot(y)) : undefined),
});

export const logicalNot: Unary = unary('logicalNot', {
  doc: 'Whether x is zero.',
  rule: 'logical',
  traits: { cost: 1 },
  c: prefix('!'),
  evaluate: { bool: (x = 0) => 1 - x },
});

export const logicalAnd: Binary = binary('logicalAnd', {
  doc: 'Whether both are not zero.',
  rule: 'logical',
  traits: { commutative: true, associative: true, idempotent: true, cost: 1 },
  decompose: ({ x, y }) => bitwiseAnd(x, y),
});

export const logicalOr: Binary = binary('logicalOr', {
  doc: 'Whether at least one is not zero.',
  rule: 'logical',
  traits: { commutative: true, associative: true, idempotent: true, cost: 1 },
  decompose: ({ x, y }) => bitwiseOr(x, y),
});

export const logicalXor: Binary = binary('logicalXor', {
  doc: 'Whether exactly one is not zero.',
  rule: 'logical',
  traits: { commutative: true, associative: true, cost: 1 },
  decompose: ({ x, y }) => bitwiseXor(x, y),
});

export const ofTwoOrders: Binary = binary('ofTwoOrders', {
  doc: 'y; where the elements of a reduction come in the order of their positions, x is the same and may stand for it.',
  formula: 'y',
  rule: 'logical',
  internal: true,
  traits: { cost: 1, isFirstInOrder: true },
  decompose: ({ y }) => y,
});

export const where: Ternary = ternary('where', {
  doc: 'y where x holds, else z. Whatever the other operand is, it does not matter.',
  signature: 'condition: operand, input: operand, other: operand',
  formula: 'x ? y : z',
  rule: 'select',
  reference: (x = 0, y = 0, z = 0) => (x === 0 ? z : y),
  ulp: 0,
  traits: { otherZero: ['same', 'sign', 'sign'], cost: 1 },
  c: prelude('where_'),
  evaluate: {
    float: (x = 0, y = 0, z = 0) => (x !== 0 ? y : z),
    int: (x = 0, y = 0, z = 0) => (x !== 0 ? y : z),
    // The condition is a number (0 or 1) here too: see `evaluator`.
    bigint: (x = 0n, y = 0n, z = 0n) => (Number(x) !== 0 ? y : z),
  },
  decompose: ({ x, y, z }, dtype) =>
    dtype === 'bool' ? bitwiseOr(bitwiseAnd(x, y), bitwiseAnd(logicalNot(x), z)) : undefined,
  gradient: ({ g, x }) => [undefined, where(x, g, 0), where(x, 0, g)],
});

export const isnan: Unary = unary('isnan', {
  doc: 'Whether x is NaN.',
  rule: 'predicate',
  reference: (x = 0) => Number(Number.isNaN(x)),
  ulp: 0,
  traits: { cost: 1 },
  decompose: ({ x }) => ne(x, x),
});

export const isinf: Unary = unary('isinf', {
  doc: 'Whether x is infinite.',
  rule: 'predicate',
  reference: (x = 0) => Number(Math.abs(x) === Infinity),
  ulp: 0,
  traits: { cost: 2 },
  decompose: ({ x }, dtype) => (isFloat(dtype) ? eq(abs(x), Infinity) : ne(x, x)),
});

export const isfinite: Unary = unary('isfinite', {
  doc: 'Whether x is neither NaN nor infinite.',
  rule: 'predicate',
  reference: (x = 0) => Number(Number.isFinite(x)),
  ulp: 0,
  traits: { cost: 2 },
  decompose: ({ x }, dtype) => (isFloat(dtype) ? lt(abs(x), Infinity) : eq(x, x)),
});

export const isposinf: Unary = unary('isposinf', {
  doc: 'Whether x is positive infinity.',
  rule: 'predicate',
  reference: (x = 0) => Number(x === Infinity),
  ulp: 0,
  traits: { cost: 1 },
  decompose: ({ x }, dtype) => (isFloat(dtype) ? eq(x, Infinity) : ne(x, x)),
});

export const isneginf: Unary = unary('isneginf', {
  doc: 'Whether x is negative infinity.',
  rule: 'predicate',
  reference: (x = 0) => Number(x === -Infinity),
  ulp: 0,
  traits: { cost: 1 },
  decompose: ({ x }, dtype) => (isFloat(dtype) ? eq(x, -Infinity) : ne(x, x)),
});

export const isreal: Unary = unary('isreal', {
  doc: 'True: there are no complex numbers here.',
  rule: 'predicate',
  reference: () => 1,
  ulp: 0,
  traits: { cost: 0 },
  decompose: ({ x }) => logicalOr(eq(x, x), ne(x, x)),
});

export const signbit: Unary = unary('signbit', {
  doc: 'Whether the sign bit is set: also of -0 and NaN.',
  rule: 'predicate',
  exact: 'a bit of the operand',
  traits: { cost: 1, readsSign: true },
  decompose: ({ x }, dtype) => {
    if (!isFloat(dtype)) return dtype === 'bool' || dtype === 'u8' ? ne(x, x) : lt(x, 0);
    return lt(bitcast(dtype === 'f64' ? 'i64' : 'i32', x), 0);
  },
});
