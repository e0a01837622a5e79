// Gradients of the operators that change nothing else (operators/gradient-marks.ts).
import { float } from '../composer.ts';
import { ofFirst, withoutGradient } from './rule.ts';
import type { GradientRule } from './rule.ts';

/** A change of either triangle is one of both: the gradient is a symmetric matrix. */
const symmetricMatrix = ofFirst((c, _call, g) => [c.op('mul', c.op('add', g, c.transpose(g, -2, -1)), float(0.5))]);

/** The part of the gradient along which the probabilities go on adding up to 1. */
const logProbabilities = ofFirst((c, { a }, g) => {
  const dim = c.rank(g) - 1;
  const along = c.expand(c.reduce('sum', g, { dims: [dim], keepdim: true }), c.shape(g));
  return [c.op('sub', g, c.op('mul', c.op('exp', a.tensor('input')), along))];
});

export const markRules: Readonly<Record<string, GradientRule>> = {
  detach: withoutGradient,
  symmetricMatrix,
  logProbabilities,
};
