// Chains of more than two products: the gradient of attention as one group, and when products stay kernels of their own.
import { describe, expect, test } from '@jest/globals';
import type { GraphBuilder, ValueRef } from '@tsinductor/graph';
import type { Schedule } from '@tsinductor/ir';
import type { Build } from './test-support/scheduled.ts';
import { input, scheduled, sketches } from './test-support/scheduled.ts';

const chained = (build: Build, patch: Parameters<typeof scheduled>[1] = {}): Schedule =>
  scheduled(build, { cpp: { attentionFusionBytes: 0 }, ...patch }, { chains: true });

interface Shape {
  readonly batch?: readonly number[];
  readonly rows?: number;
  readonly columns?: number;
}

/** The gradients of queries, keys and values as the rules of products and the softmax give them. */
function gradients(b: GraphBuilder, { batch = [2, 3], rows = 20, columns = 24 }: Shape = {}): readonly ValueRef[] {
  const turned = (x: ValueRef): ValueRef => b.call('transpose', [x], { dim0: -2, dim1: -1 });
  const of = (length: number, width: number): ValueRef => input(b, [...batch, length, width]);
  const [q, k, v, g] = [of(rows, 4), of(columns, 4), of(columns, 5), of(rows, 5)];
  const weights = b.call('softmax', [b.call('matmul', [q, turned(k)])], { dim: -1 });
  const change = b.call('matmul', [g, turned(v)]);
  const shared = b.call('sum', [b.call('mul', [change, weights])], { dim: -1, keepdim: true });
  const scores = b.call('mul', [weights, b.call('sub', [change, shared])]);
  return [b.call('matmul', [scores, k]), b.call('matmul', [turned(q), scores]), b.call('matmul', [turned(weights), g])];
}

const all: Build = (b) => gradients(b);

describe('one group', () => {
  test('the gradients of attention', () => {
    expect(sketches(chained(all))).toEqual([
      '6 20r(24 4r(bmm) 24 5r(bmm) 24r(amax) 24r(exp sum) reciprocal 24r(mul sum) 24(mul) 4 24r(bmm) 4 24(bmm) 24 5(bmm))',
    ]);
  });
});
