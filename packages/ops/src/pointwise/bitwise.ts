// Operations on the bits of integers and bool. Shifts by amounts outside [0, width) are defined: see `preludeFunctions`.
import { binary, unary } from '../define.ts';
import type { Binary, Unary } from '../define.ts';
import { infix, levels, prefix, prelude } from '../prelude.ts';
import { logicalNot } from './comparison.ts';
import { integers, integersAndBool } from './dtype-sets.ts';
import { shiftLeft, shiftRight } from './integer-semantics.ts';

export const bitwiseAnd: Binary = binary('bitwiseAnd', {
  doc: 'Bitwise and.',
  formula: 'x & y',
  rule: 'promote',
  accepts: integersAndBool,
  traits: { commutative: true, associative: true, idempotent: true, identity: -1, cost: 1 },
  c: infix('&', levels.bitAnd),
  evaluate: { int: (x = 0, y = 0) => x & y, bigint: (x = 0n, y = 0n) => x & y, bool: (x = 0, y = 0) => x & y },
});

export const bitwiseOr: Binary = binary('bitwiseOr', {
  doc: 'Bitwise or.',
  formula: 'x | y',
  rule: 'promote',
  accepts: integersAndBool,
  traits: { commutative: true, associative: true, idempotent: true, identity: 0, cost: 1 },
  c: infix('|', levels.bitOr),
  evaluate: { int: (x = 0, y = 0) => x | y, bigint: (x = 0n, y = 0n) => x | y, bool: (x = 0, y = 0) => x | y },
});

export const bitwiseXor: Binary = binary('bitwiseXor', {
  doc: 'Bitwise exclusive or.',
  formula: 'x ^ y',
  rule: 'promote',
  accepts: integersAndBool,
  traits: { commutative: true, associative: true, identity: 0, cost: 1 },
  c: infix('^', levels.bitXor),
  evaluate: { int: (x = 0, y = 0) => x ^ y, bigint: (x = 0n, y = 0n) => x ^ y, bool: (x = 0, y = 0) => x ^ y },
});

export const bitwiseNot: Unary = unary('bitwiseNot', {
  doc: 'Bitwise complement; of bool, the negation.',
  formula: '~x',
  rule: 'promote',
  accepts: integersAndBool,
  traits: { cost: 1 },
  c: prefix('~'),
  evaluate: { int: (x = 0) => ~x, bigint: (x = 0n) => ~x },
  decompose: ({ x }, dtype) => (dtype === 'bool' ? logicalNot(x) : undefined),
});

export const bitwiseLeftShift: Binary = binary('bitwiseLeftShift', {
  doc: 'x shifted left by y bits; 0 where y is negative or not below the width.',
  formula: 'x << y',
  rule: 'promote',
  accepts: integers,
  traits: { identity: 0, cost: 1 },
  c: prelude('shl_'),
  evaluate: shiftLeft,
});

export const mulWords: Binary = binary('mulWords', {
  doc: 'The product of the lower 32 bits of x and y, as unsigned numbers: what random words are mixed by.',
  formula: '(x mod 2^32) (y mod 2^32)',
  rule: 'promote',
  accepts: ['i64'],
  internal: true,
  traits: { commutative: true, cost: 1 },
  c: prelude('mulwords_'),
  evaluate: { bigint: (x = 0n, y = 0n) => BigInt.asUintN(32, x) * BigInt.asUintN(32, y) },
});

export const bitwiseRightShift: Binary = binary('bitwiseRightShift', {
  doc: 'x shifted right by y bits, filled with the sign; all sign where y is negative or not below the width.',
  formula: 'x >> y',
  rule: 'promote',
  accepts: integers,
  traits: { identity: 0, cost: 1 },
  c: prelude('shr_'),
  evaluate: shiftRight,
});
