// The rules, by theme. Constants stand on the right of commutative ops: the engine puts them there.
import {
  abs,
  add,
  bitwiseAnd,
  bitwiseNot,
  bitwiseOr,
  bitwiseXor,
  div,
  eq,
  ge,
  gt,
  le,
  logicalAnd,
  logicalNot,
  logicalOr,
  lt,
  maximum,
  minimum,
  mul,
  ne,
  neg,
  sub,
  toTerm,
  where,
  wild,
} from '@tsinductor/ops';
import type { Term, TermLike } from '@tsinductor/ops';
import { lawBroken } from '../errors.ts';
import type { Rule, RuleCondition, RuleDomain } from './rule.ts';

const [x, y, z, c] = [wild('x'), wild('y'), wild('z'), wild('c')] as const;

function rule(domain: RuleDomain, when?: RuleCondition): (name: string, from: Term, to: TermLike) => Rule {
  return (name, from, to) => {
    if (from.kind !== 'call') throw lawBroken(`rule "${name}"`, 'its left side is no call');
    return { name, domain, from, to: toTerm(to), ...(when !== undefined && { when }) };
  };
}
const exact = rule('exact');
const signed = rule('exact', 'isSigned');
const integer = rule('integer');
const fast = rule('fastMath');

const arithmeticRules: readonly Rule[] = [
  exact('x * 1 = x', mul(x, 1), x),
  exact('x / 1 = x', div(x, 1), x),
  exact('x - 0 = x', sub(x, 0), x),
  exact('x + -0 = x', add(x, -0), x),
  exact('x * -1 = -x', mul(x, -1), neg(x)),
  exact('-(-x) = x', neg(neg(x)), x),
  exact('x + -y = x - y', add(x, neg(y)), sub(x, y)),
  exact('-x + y = y - x', add(neg(x), y), sub(y, x)),
  exact('x - -y = x + y', sub(x, neg(y)), add(x, y)),
  signed('|-x| = |x|', abs(neg(x)), abs(x)),
  exact('||x|| = |x|', abs(abs(x)), abs(x)),
  integer('x + 0 = x', add(x, 0), x),
  integer('x * 0 = 0', mul(x, 0), 0),
  integer('x - x = 0', sub(x, x), 0),
  exact('max(x, x) = x', maximum(x, x), x),
  exact('min(x, x) = x', minimum(x, x), x),
];

export const comparisonRules: readonly Rule[] = [
  exact('x < x = false', lt(x, x), 0),
  exact('x > x = false', gt(x, x), 0),
  integer('x = x is true', eq(x, x), 1),
  integer('x != x is false', ne(x, x), 0),
  integer('x <= x is true', le(x, x), 1),
  integer('x >= x is true', ge(x, x), 1),
  exact('!(x = y) = x != y', logicalNot(eq(x, y)), ne(x, y)),
  exact('!(x != y) = x = y', logicalNot(ne(x, y)), eq(x, y)),
  exact('!!x = x', logicalNot(logicalNot(x)), x),
  exact('x && x = x', logicalAnd(x, x), x),
  exact('x && true = x', logicalAnd(x, 1), x),
  exact('x && false = false', logicalAnd(x, 0), 0),
  exact('x || x = x', logicalOr(x, x), x),
  exact('x || false = x', logicalOr(x, 0), x),
  exact('x || true = true', logicalOr(x, 1), 1),
];

export const choiceRules: readonly Rule[] = [
  exact('c ? x : x = x', where(c, x, x), x),
  exact('true ? x : y = x', where(1, x, y), x),
  exact('false ? x : y = y', where(0, x, y), y),
  exact('!c ? x : y = c ? y : x', where(logicalNot(c), x, y), where(c, y, x)),
  exact('c ? (c ? x : y) : z = c ? x : z', where(c, where(c, x, y), z), where(c, x, z)),
  exact('c ? x : (c ? y : z) = c ? x : z', where(c, x, where(c, y, z)), where(c, x, z)),
];

const bitRules: readonly Rule[] = [
  integer('x & x = x', bitwiseAnd(x, x), x),
  integer('x & 0 = 0', bitwiseAnd(x, 0), 0),
  integer('x | x = x', bitwiseOr(x, x), x),
  integer('x | 0 = x', bitwiseOr(x, 0), x),
  integer('x ^ 0 = x', bitwiseXor(x, 0), x),
  integer('x ^ x = 0', bitwiseXor(x, x), 0),
  integer('~~x = x', bitwiseNot(bitwiseNot(x)), x),
];

export const fastMathRules: readonly Rule[] = [
  fast('x + 0 = x', add(x, 0), x),
  fast('x * 0 = 0', mul(x, 0), 0),
  fast('x - x = 0', sub(x, x), 0),
];

/** What holds without leave. */
export const exactRules: readonly Rule[] = [...arithmeticRules, ...comparisonRules, ...choiceRules, ...bitRules];
