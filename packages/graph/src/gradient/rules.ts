// The gradient rules, by name: of all primitives, and of the operators that say something of a gradient. Other composites are
// differentiated as what they decompose into.
import { isFloat } from '@tsinductor/base';
import { pointwise } from '@tsinductor/ops';
import { operators } from '../operator-table.ts';
import { indexRules } from './index-rules.ts';
import { pointwiseRule } from './pointwise-rule.ts';
import { reductionRules } from './reduction-rules.ts';
import { ofFirst } from './rule.ts';
import type { GradientRule } from './rule.ts';
import { viewRules } from './view-rules.ts';

const cast = ofFirst((c, { a }, g) => {
  const x = a.tensor('input');
  return isFloat(c.dtype(x)) ? [c.cast(g, c.dtype(x))] : [];
});

/** Composites with a rule of their own: they stand in graphs that are differentiated. */
const marks = [...operators.values()].flatMap(({ name, gradient }) =>
  gradient === undefined ? [] : [[name, gradient] as const],
);

export const markNames: ReadonlySet<string> = new Set(marks.map(([name]) => name));

export const gradientRules: ReadonlyMap<string, GradientRule> = new Map<string, GradientRule>([
  ...Object.values(pointwise).map((op) => [op.name, pointwiseRule(op)] as const),
  ...marks,
  ...Object.entries({ ...viewRules, ...reductionRules, ...indexRules, cast }),
]);
