// Operators that give their first input as it is, and say something of its gradient: in a graph that nobody differentiates they
// leave no node.
import { float } from '../composer.ts';
import { composite } from '../define.ts';
import type { Entry } from '../define.ts';
import { ofFirst, withoutGradient } from '../gradient/rule.ts';

const internal = { torch: [], forms: [] };

export const gradientMarkEntries: readonly Entry[] = [
  composite(
    'detach',
    {
      kind: 'view',
      signature: 'input: tensor',
      doc: 'The same elements, as a constant: no gradient flows through.',
      torch: ['Tensor.detach', 'detach'],
      gradient: withoutGradient,
    },
    (_c, a) => a.tensor('input'),
  ),
  composite(
    'overwritten',
    {
      signature: 'input: tensor, before: tensor',
      doc: 'What a write within noGrad leaves: the elements are new, gradients go where they went before.',
      ...internal,
      gradient: ofFirst((_c, _call, g) => [undefined, g]),
    },
    (_c, a) => a.tensor('input'),
  ),
  composite(
    'symmetricMatrix',
    {
      signature: 'input: tensor',
      doc: 'A symmetric matrix, of which one triangle is read.',
      ...internal,
      // A change of either triangle is one of both.
      gradient: ofFirst((c, _call, g) => [c.op('mul', c.op('add', g, c.transpose(g, -2, -1)), float(0.5))]),
    },
    (_c, a) => a.tensor('input'),
  ),
  composite(
    'logProbabilities',
    {
      signature: 'input: tensor',
      doc: 'Logarithms of probabilities that add up to 1 along the last axis.',
      ...internal,
      // The part along which they go on adding up to 1.
      gradient: ofFirst((c, { a }, g) => {
        const along = c.expand(c.reduce('sum', g, { dims: [c.rank(g) - 1], keepdim: true }), c.shape(g));
        return [c.op('sub', g, c.op('mul', c.op('exp', a.tensor('input')), along))];
      }),
    },
    (_c, a) => a.tensor('input'),
  ),
];
