// What a schedule says that its kernels cost, against numbers counted by hand, and how scheduling itself grows.
import { expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { contiguousMeta, scalar } from '@tsinductor/graph';
import type { ValueRef } from '@tsinductor/graph';
import { printIndex } from '@tsinductor/ir';
import type { GroupStatistics, Schedule } from '@tsinductor/ir';
import { input, known, scheduled } from './test-support/scheduled.ts';
import type { Build } from './test-support/scheduled.ts';

const costs = (plan: Schedule): readonly (readonly number[])[] =>
  (plan.statistics?.groups ?? []).map(({ readBytes, writtenBytes, leastBytes, flops }: GroupStatistics) =>
    [readBytes, writtenBytes, leastBytes, flops].map(known),
  );

test('a map reads its inputs once and writes its result once', () => {
  expect(costs(scheduled((b) => b.call('add', [input(b, [64]), input(b, [64])])))).toEqual([[512, 256, 768, 64]]);
});

test('a broadcast row is read once', () => {
  const plan = scheduled((b) => b.call('mul', [input(b, [32, 16]), input(b, [16])]));
  expect(costs(plan)).toEqual([[32 * 16 * 4 + 16 * 4, 32 * 16 * 4, 2 * 32 * 16 * 4 + 64, 32 * 16]]);
});

test('a product takes two operations for each pair', () => {
  const plan = scheduled((b) => b.call('matmul', [input(b, [8, 4]), input(b, [4, 16])]));
  expect(costs(plan)).toEqual([[(8 * 4 + 4 * 16) * 4, 8 * 16 * 4, (32 + 64 + 128) * 4, 2 * 8 * 4 * 16]]);
});

test('rows that stay in the cache are read from memory once, longer ones in every pass', () => {
  const traffic = (columns: number): number => {
    const plan = scheduled((b) => b.call('softmax', [input(b, [8, columns])], { dim: -1 }));
    const [read = 0, , least = 0] = at(costs(plan), 0);
    return read / (least / 2);
  };
  expect(traffic(1024)).toBe(1);
  expect(traffic(1024 * 1024)).toBeGreaterThan(2);
});

test('symbolic sizes stay symbols', () => {
  const plan = scheduled((b) => {
    const size = b.sizes.declare('s0', 8);
    return b.call('exp', [b.placeholder('x', contiguousMeta([size], 'f32'))]);
  });
  expect(printIndex(at(plan.statistics?.groups ?? [], 0).leastBytes)).toBe('s0 * 8');
});

/** Blocks of a gate, a norm of rows, and in every fourth a product. */
const network =
  (blocks: number): Build =>
  (b) => {
    let x: ValueRef = input(b, [16, 16]);
    const [weight, bias] = [input(b, [16, 16]), input(b, [16])];
    for (let block = 0; block < blocks; block += 1) {
      const gated = b.call('mul', [b.call('tanh', [b.call('add', [x, bias])]), x]);
      const hidden = block % 4 === 0 ? b.call('matmul', [gated, weight]) : b.call('exp', [gated]);
      const residual = b.call('add', [hidden, x]);
      const centred = b.call('sub', [residual, b.call('mean', [residual], { dim: [1], keepdim: true })]);
      x = b.call('mul', [centred, scalar(0.5)]);
    }
    return x;
  };

test('the pairs of clusters that are tried grow with the graph, not with its square', () => {
  const pairs = (blocks: number): number => scheduled(network(blocks)).statistics?.pairs ?? 0;
  const few = pairs(20);
  expect(few).toBeGreaterThan(20);
  expect(pairs(160)).toBeLessThan(8 * 1.5 * few);
});
