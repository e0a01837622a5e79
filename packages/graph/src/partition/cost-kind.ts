// Of what kind a primitive is, which decides whether it is computed again without being asked for.
import { reductions } from '@tsinductor/ops';
import { primitives } from '../operator-table.ts';
import type { CallNode } from '../passes/rebuild.ts';

/**
 * view        takes no memory of its own
 * created     is made of nothing: constants, counts
 * pointwise   and casts, pads, concatenations: a value for each element
 * reduction   combines elements
 * heavy       products, sorts, scans, writes by index, random numbers
 * checked     may find at run time that its operands are wrong: there is one place where that happens, so it runs once
 */
export type CostKind = 'view' | 'created' | 'pointwise' | 'reduction' | 'heavy' | 'checked';

const views: readonly string[] = ['permute', 'expand', 'reshape', 'slice', 'diagonal', 'unfold', 'flip'];
const created: readonly string[] = ['full', 'iota'];
/** What multiplies the halves of words only random numbers do. */
const heavy: readonly string[] = ['bmm', 'sorted', 'ranked', 'scatter', 'indexPut', 'mulWords', 'asStrided'];

export function costKindOf({ target }: Pick<CallNode, 'target'>): CostKind {
  if (views.includes(target)) return 'view';
  if (created.includes(target)) return 'created';
  if (primitives.get(target)?.checks === true) return 'checked';
  if (heavy.includes(target) || target.startsWith('cum')) return 'heavy';
  if (isReduction(target)) return 'reduction';
  return 'pointwise';
}

const isReduction = (target: string): boolean => Object.hasOwn(reductions, target);
