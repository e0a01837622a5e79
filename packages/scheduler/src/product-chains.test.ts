// Two products and the loops over rows between them as one group: which are, and which are kernels of their own.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { contiguousMeta } from '@tsinductor/graph';
import type { GraphBuilder, ValueRef } from '@tsinductor/graph';
import { int, printIndex, printSchedule } from '@tsinductor/ir';
import type { Index, Schedule } from '@tsinductor/ir';
import type { Build } from './test-support/scheduled.ts';
import { input, scheduled, sketches } from './test-support/scheduled.ts';

const chained = (build: Build, patch: Parameters<typeof scheduled>[1] = {}): Schedule =>
  scheduled(build, { cpp: { attentionFusionBytes: 0 }, ...patch }, { chains: true });

interface Shape {
  readonly batch?: readonly number[];
  readonly rows?: number;
  readonly columns?: number;
}

function scores(b: GraphBuilder, { batch = [2, 3], rows = 20, columns = 24 }: Shape = {}): ValueRef {
  const keys = b.call('transpose', [input(b, [...batch, columns, 4])], { dim0: -2, dim1: -1 });
  return b.call('matmul', [input(b, [...batch, rows, 4]), keys]);
}

const values = (b: GraphBuilder, { batch = [2, 3], columns = 24 }: Shape = {}): ValueRef =>
  input(b, [...batch, columns, 5]);

const attention =
  (shape: Shape = {}) =>
  (b: GraphBuilder): ValueRef =>
    b.call('matmul', [b.call('softmax', [scores(b, shape)], { dim: -1 }), values(b, shape)]);

describe('one group', () => {
  test('attention, whose weights and scores are rows', () => {
    const plan = chained(attention());
    expect(sketches(plan)).toEqual(['6 20(24 4r(bmm) 24r(amax) 24r(exp sum) reciprocal 24(mul) 5 24r(bmm))']);
    const rows = at(plan.groups, 0).locals.filter(({ kind }) => kind === 'row');
    expect(rows).toHaveLength(3);
    expect(printSchedule(plan)).toMatch(
      /a row of the first product becomes a row of the second through the loops between them/,
    );
  });

  test('of rows of any length', () => {
    const plan = chained(attention({ columns: 90_000 }));
    expect(sketches(plan)).toEqual([
      '6 20(90000 4r(bmm) 90000r(amax) 90000r(exp sum) reciprocal 90000(mul) 5 90000r(bmm))',
    ]);
  });

  test('without a batch', () => {
    const plan = chained(attention({ batch: [] }));
    expect(sketches(plan)).toEqual(['20(24 4r(bmm) 24r(amax) 24r(exp sum) reciprocal 24(mul) 5 24r(bmm))']);
  });

  test('with what follows the second product at its elements', () => {
    const plan = chained((b) => b.call('relu', [b.call('add', [attention()(b), input(b, [5])])]));
    expect(sketches(plan)).toEqual(['6 20(24 4r(bmm) 24r(amax) 24r(exp sum) reciprocal 24(mul) 5 24r(bmm) 5(relu))']);
  });

  test('as many rows as columns and columns as the width: loops of one length stay apart', () => {
    const plan = chained((b) => {
      const [q, k, v] = [input(b, [16, 16]), input(b, [16, 16]), input(b, [16, 16])];
      const products = b.call('matmul', [q, b.call('transpose', [k], { dim0: 0, dim1: 1 })]);
      return b.call('matmul', [b.call('softmax', [products], { dim: -1 }), v]);
    });
    expect(sketches(plan)).toEqual(['16(16 16r(bmm) 16r(amax) 16r(exp sum) reciprocal 16(mul) 16 16r(bmm))']);
  });
});

describe('sizes that are symbols', () => {
  const ofAnySize =
    (between: (b: GraphBuilder, products: ValueRef) => ValueRef) =>
    (b: GraphBuilder): ValueRef => {
      const of = (...shape: readonly (Index | number)[]): ValueRef =>
        b.placeholder(
          `x${String(shape.length)}`,
          contiguousMeta(
            shape.map((size) => (typeof size === 'number' ? int(size) : size)),
            'f32',
          ),
        );
      const [heads, rows, columns] = ['s0', 's1', 's2'].map((name) => b.sizes.declare(name, 30)) as [
        Index,
        Index,
        Index,
      ];
      const keys = b.call('transpose', [of(heads, columns, 4)], { dim0: -2, dim1: -1 });
      const products = b.call('matmul', [of(heads, rows, 4), keys]);
      return b.call('matmul', [between(b, products), of(heads, columns, 5)]);
    };
  const build = ofAnySize((b, products) => b.call('softmax', [products], { dim: -1 }));

  test('are chained, however few they may be', () => {
    const plan = scheduled(build, {}, { chains: true });
    expect(sketches(plan)).toEqual(['s0 s1(s2 4r(bmm) s2r(amax) s2r(exp sum) reciprocal s2(mul) 5 s2r(bmm))']);
    expect(at(plan.groups, 0).locals.filter(({ kind }) => kind === 'row')).toHaveLength(3);
  });

  test('not where a target has kernels of known sizes alone', () => {
    const limits = { operandBytes: Infinity, anySize: false };
    expect(scheduled(build, {}, { chains: limits }).groups).toHaveLength(3);
  });

  test('not where there are but elements between the products: what is read again is not known', () => {
    const elements = ofAnySize((b, products) => b.call('relu', [products]));
    expect(chained(elements, { b2bGemmPass: true }).groups).toHaveLength(2);
  });
});

describe('products with elements between them', () => {
  const perceptron = (b: GraphBuilder): ValueRef => {
    const hidden = b.call('relu', [b.call('matmul', [input(b, [40, 8]), input(b, [8, 30])])]);
    return b.call('matmul', [hidden, input(b, [30, 6])]);
  };
  const twice = (b: GraphBuilder): ValueRef =>
    b.call('matmul', [b.call('matmul', [input(b, [40, 8]), input(b, [8, 30])]), input(b, [30, 6])]);

  test.each([
    [perceptron, '40(30 8r(bmm) 30(relu) 6 30r(bmm))'],
    [twice, '40(30 8r(bmm) 6 30r(bmm))'],
  ])('are one group where the setting says so', (build, sketch) => {
    expect(sketches(chained(build, { b2bGemmPass: true }))).toEqual([sketch]);
    expect(chained(build).groups).toHaveLength(2);
  });
});

describe('a target that keeps no rows', () => {
  const limits = { operandBytes: Infinity, anySize: true };
  const long = attention({ batch: [1], columns: 300_000 });

  test('is given those of any length, whatever the settings of processors say', () => {
    const { groups } = scheduled(long, { cpp: { attentionFusion: false } }, { chains: limits });
    expect(groups.map(({ locals }) => locals.filter(({ kind }) => kind === 'row').length)).toEqual([3]);
    expect(groups).toHaveLength(1);
  });

  test('may refuse them, with a reason', () => {
    const seen: string[] = [];
    const plan = scheduled(
      long,
      {},
      {
        chains: {
          ...limits,
          refuse: ({ nodes, outer, isStored }) => {
            seen.push(
              `${nodes.map(({ kind }) => kind).join(' ')} below ${outer.map(({ extent }) => printIndex(extent)).join(' ')}`,
            );
            seen.push(nodes.map(({ outs }) => String(outs.some(isStored))).join(' '));
            return 'it is too long';
          },
        },
      },
    );
    expect(seen).toEqual([
      'contract reduce map reduce map map contract below 20',
      'false false false false false false true',
    ]);
    expect(plan.groups).toHaveLength(3);
    expect(printSchedule(plan)).toMatch(/not fused bmm_.*: not one kernel: it is too long/);
  });
});

describe('kernels of their own', () => {
  const reasons: readonly (readonly [string, Build, number])[] = [
    ['for few rows', attention({ rows: 12 }), 3],
    [
      'where rows of the weights lie apart',
      (b) => {
        const turned = b.call('permute', [scores(b)], { dims: [0, 2, 1, 3] });
        const weights = b.call('softmax', [b.call('clone', [turned])], { dim: -1 });
        return b.call('matmul', [b.call('permute', [weights], { dims: [0, 2, 1, 3] }), values(b)]);
      },
      3,
    ],
    [
      'where the weights are a result',
      (b) => {
        const weights = b.call('softmax', [scores(b)], { dim: -1 });
        return [weights, b.call('matmul', [weights, values(b)])];
      },
      3,
    ],
    [
      'where the scores are a result',
      (b) => {
        const made = scores(b);
        return [made, b.call('matmul', [b.call('softmax', [made], { dim: -1 }), values(b)])];
      },
      3,
    ],
    [
      'where a product needs all rows of another',
      (b) => b.call('matmul', [b.call('softmax', [scores(b)], { dim: -2 }), values(b)]),
      3,
    ],
    [
      'where the second product has the weights on its right',
      (b) => b.call('matmul', [input(b, [3, 7, 20]), b.call('softmax', [scores(b, { batch: [3] })], { dim: -1 })]),
      3,
    ],
  ];

  test.each(reasons)('%s', (_, build, kernels) => {
    expect(chained(build).groups).toHaveLength(kernels);
  });

  test('for a target without such kernels, and where the setting says so', () => {
    expect(scheduled(attention()).groups).toHaveLength(3);
    expect(chained(attention(), { cpp: { attentionFusion: false, attentionFusionBytes: 0 } }).groups).toHaveLength(3);
    const bytes = 6 * 20 * 24 * 4;
    const least = (attentionFusionBytes: number): Schedule => chained(attention(), { cpp: { attentionFusionBytes } });
    expect([bytes, bytes + 1].map((count) => least(count).groups.length)).toEqual([1, 3]);
  });
});
