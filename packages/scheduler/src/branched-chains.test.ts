// Chains of more than two products: the gradient of attention as one group, and when products stay kernels of their own.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import type { GraphBuilder, ValueRef } from '@tsinductor/graph';
import { allocateElements, evaluateIndex, interpretProgram, interpretSchedule } from '@tsinductor/ir';
import type { ProgramMemory, Schedule } from '@tsinductor/ir';
import type { Build } from './test-support/scheduled.ts';
import { input, scheduled, sketches } from './test-support/scheduled.ts';

const chained = (build: Build, patch: Parameters<typeof scheduled>[1] = {}): Schedule =>
  scheduled(build, { cpp: { attentionFusionBytes: 0 }, ...patch }, { chains: true });

interface Shape {
  readonly batch?: readonly number[];
  readonly rows?: number;
  readonly columns?: number;
}

interface Gradients {
  readonly weights: ValueRef;
  /** The gradient of the scores. */
  readonly scores: ValueRef;
  readonly query: ValueRef;
  readonly key: ValueRef;
  readonly value: ValueRef;
}

/** The gradients of attention as the rules of products and the softmax give them. */
function gradients(b: GraphBuilder, { batch = [2, 3], rows = 20, columns = 24 }: Shape = {}): Gradients {
  const turned = (x: ValueRef): ValueRef => b.call('transpose', [x], { dim0: -2, dim1: -1 });
  const of = (length: number, width: number): ValueRef => input(b, [...batch, length, width]);
  const [q, k, v, g] = [of(rows, 4), of(columns, 4), of(columns, 5), of(rows, 5)];
  const weights = b.call('softmax', [b.call('matmul', [q, turned(k)])], { dim: -1 });
  const change = b.call('matmul', [g, turned(v)]);
  const shared = b.call('sum', [b.call('mul', [change, weights])], { dim: -1, keepdim: true });
  const scores = b.call('mul', [weights, b.call('sub', [change, shared])]);
  return {
    weights,
    scores,
    query: b.call('matmul', [scores, k]),
    key: b.call('matmul', [turned(q), scores]),
    value: b.call('matmul', [turned(weights), g]),
  };
}

const all =
  (shape: Shape = {}): Build =>
  (b) => {
    const { query, key, value } = gradients(b, shape);
    return [query, key, value];
  };

const rows = '24 4r(bmm) 24 5r(bmm) 24r(amax) 24r(exp sum) reciprocal 24r(sum) 24(mul)';
/** Where somebody else reads the weights. */
const rowsAndWeights = rows.replace('24r(sum)', '24r(mul sum)');

describe('one group', () => {
  const forms: readonly (readonly [string, Build, readonly string[]])[] = [
    ['all gradients', all(), [`6 20r(${rowsAndWeights} 4 24r(bmm) 4 24(bmm) 24 5(bmm))`]],
    ['the gradient of queries', (b) => gradients(b).query, [`6 20(${rows} 4 24r(bmm))`]],
    ['the gradient of keys', (b) => gradients(b).key, [`6 20r(${rows} 4 24(bmm))`]],
    [
      'the gradient of values',
      (b) => gradients(b).value,
      ['6 20r(24 4r(bmm) 24r(amax) 24r(exp sum) reciprocal 24(mul) 24 5(bmm))'],
    ],
    [
      'what follows a sum over rows is a kernel of its own',
      (b) => b.call('relu', [gradients(b).value]),
      ['6 20r(24 4r(bmm) 24r(amax) 24r(exp sum) reciprocal 24(mul) 24 5(bmm))', '720(relu)'],
    ],
    [
      'what follows a product by rows is not',
      (b) => b.call('relu', [gradients(b).query]),
      [`6 20(${rows} 4 24r(bmm) 4(relu))`],
    ],
    [
      'weights that are a result are written on the way',
      (b) => {
        const { weights, query } = gradients(b);
        return [weights, query];
      },
      [`6 20(${rowsAndWeights} 4 24r(bmm))`],
    ],
  ];

  test.each(forms)('%s', (_, build, expected) => {
    expect(sketches(chained(build))).toEqual(expected);
  });

  test('rows are local, and results do not depend on the schedule', () => {
    const plan = chained(all());
    const locals = at(plan.groups, 0).locals.filter(({ kind }) => kind === 'row');
    expect(locals).toHaveLength(5);
    const [made, wanted] = [
      outputsOf(plan, (memory) => {
        interpretSchedule(plan, memory);
      }),
      outputsOf(plan, (memory) => {
        interpretProgram(plan.program, memory);
      }),
    ];
    expect(made.length).toBeGreaterThan(0);
    made.forEach((value, index) => {
      expect(value).toBeCloseTo(at(wanted, index), 5);
    });
  });
});

/** All elements of the outputs, of inputs that are waves. */
function outputsOf({ program }: Schedule, run: (memory: ProgramMemory) => void): readonly number[] {
  const buffers = new Map(
    program.buffers
      .filter(({ role }) => role !== 'temporary')
      .map(({ id, dtype, size }) => {
        const elements = allocateElements(dtype, evaluateIndex(size, {})) as Float32Array;
        elements.forEach((_, index) => (elements[index] = Math.sin(id + index)));
        return [id, elements] as const;
      }),
  );
  run({ buffers, sizes: new Map() });
  return program.outputs.flatMap((output) => [...(buffers.get(output) ?? [])]);
}

describe('kernels of their own', () => {
  const reasons: readonly (readonly [string, Build, RegExp])[] = [
    [
      'where the gradient of the scores is summed over the batch',
      (b) => {
        const { scores, query } = gradients(b);
        return [b.call('sum', [scores], { dim: 0 }), query];
      },
      /their outer loops differ/,
    ],
    ['where the batch has few points', all({ batch: [3] }), /the batch has fewer than 4 points/],
    ['where a row is longer than is kept', all({ batch: [4], columns: 9000 }), /too long to be kept/],
  ];

  test.each(reasons)('%s', (_, build, reason) => {
    const plan = chained(build);
    expect(plan.groups.length).toBeGreaterThan(2);
    const told = plan.decisions.filter(({ stage }) => stage === 'chain-products');
    expect(told.map((decision) => ('reason' in decision ? decision.reason : '')).join('\n')).toMatch(reason);
  });

  test('for few rows, and where the setting says so', () => {
    expect(chained(all({ rows: 12 })).groups.length).toBeGreaterThan(2);
    const off = { cpp: { attentionFusion: false, attentionFusionBytes: 0 } };
    expect(chained(all(), off).groups.length).toBeGreaterThan(2);
    const least = (attentionFusionBytes: number): number =>
      chained(all(), { cpp: { attentionFusionBytes } }).groups.length;
    const bytes = 6 * 20 * 24 * 4;
    expect([least(bytes) === 1, least(bytes + 1) === 1]).toEqual([true, false]);
  });
});
