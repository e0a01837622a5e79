// Operators that give their input as it is, and say something of its gradient: in a graph that nobody differentiates they
// leave no node. Their rules are in gradient/mark-rules.ts.
import { composite } from '../define.ts';
import type { Entry } from '../define.ts';

const internal = { torch: [], forms: [] };

export const gradientMarkEntries: readonly Entry[] = [
  composite(
    'detach',
    {
      kind: 'view',
      signature: 'input: tensor',
      doc: 'The same elements, as a constant: no gradient flows through.',
      torch: ['Tensor.detach', 'detach'],
    },
    (_c, a) => a.tensor('input'),
  ),
  composite(
    'symmetricMatrix',
    { signature: 'input: tensor', doc: 'A symmetric matrix, of which one triangle is read.', ...internal },
    (_c, a) => a.tensor('input'),
  ),
  composite(
    'logProbabilities',
    {
      signature: 'input: tensor',
      doc: 'Logarithms of probabilities that add up to 1 along the last axis.',
      ...internal,
    },
    (_c, a) => a.tensor('input'),
  ),
];
