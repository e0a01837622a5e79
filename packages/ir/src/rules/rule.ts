// Scalar rewrite rules as data: an equation, the domain in which it is claimed, and its two sides as terms. Laws: in its
// domain both sides have the same bits at every value (NaNs count as one); the right side is cheaper, or as cheap and
// smaller, which proves that rewriting ends; a wild of the right side occurs on the left. A test checks all of them.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { PointwiseName, Term } from '@tsinductor/ops';

/**
 * exact      at every dtype, on floats with NaN, infinities and -0 (so x + 0 = x is not exact: it loses -0)
 * integer    at integers, which wrap, and bool
 * fastMath   at floats, where neither NaN and infinities nor the sign of zero matter; only where the user asked for it
 */
export type RuleDomain = 'exact' | 'integer' | 'fastMath';

/** What must hold beyond the domain, of the dtype in which the left side's outermost op computes. */
export type RuleCondition = 'isSigned';

export interface Rule {
  /** The equation, as people write it. */
  readonly name: string;
  readonly domain: RuleDomain;
  readonly from: Term & { readonly kind: 'call' };
  readonly to: Term;
  readonly when?: RuleCondition;
}

/** Rules by the op they begin with. */
export type RuleSet = ReadonlyMap<PointwiseName, readonly Rule[]>;

export function ruleSet(rules: readonly Rule[]): RuleSet {
  const byOp = new Map<PointwiseName, Rule[]>();
  for (const rule of rules) byOp.set(rule.from.op, [...(byOp.get(rule.from.op) ?? []), rule]);
  return byOp;
}

/** Whether a rule holds where its outermost op computes in `dtype`. */
export function appliesAt(rule: Rule, dtype: DType): boolean {
  const isFloat = dtypeInfo[dtype].category === 'float';
  if (rule.domain === 'integer' && isFloat) return false;
  if (rule.domain === 'fastMath' && !isFloat) return false;
  return rule.when === undefined || dtypeInfo[dtype].signed;
}
