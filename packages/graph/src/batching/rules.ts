// The batching rules, by name: of all primitives that take tensors, and of the operators that say something of a gradient. Other
// composites are batched as what they decompose into.
import { markNames } from '../gradient/rules.ts';
import { primitives } from '../operator-table.ts';
import { axisBatching, batchingFamilies } from './axis-rules.ts';
import { indexBatching } from './index-rules.ts';
import { scans } from '@tsinductor/ops';
import type { BatchingRule } from './rule.ts';

const ofKind = (kind: 'pointwise' | 'reduction'): readonly (readonly [string, BatchingRule])[] =>
  [...primitives.values()]
    .filter((operator) => operator.kind === kind)
    .map(({ name }) => [name, batchingFamilies[kind]] as const);

export const batchingRules: ReadonlyMap<string, BatchingRule> = new Map([
  ...ofKind('pointwise'),
  ...ofKind('reduction'),
  ...Object.keys(scans).map((name) => [name, batchingFamilies.scan] as const),
  ...[...markNames].map((name) => [name, batchingFamilies.mark] as const),
  ...Object.entries({ ...axisBatching, ...indexBatching }),
]);
