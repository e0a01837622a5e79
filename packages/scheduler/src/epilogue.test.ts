// What runs with a matrix product as one kernel, and what does not, with the reason.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import type { GraphBuilder, ValueRef } from '@tsinductor/graph';
import { printSchedule } from '@tsinductor/ir';
import { input, scheduled, sketches } from './test-support/scheduled.ts';

const product = (b: GraphBuilder): ValueRef => b.call('matmul', [input(b, [8, 4]), input(b, [4, 6])]);

describe('computed with the product', () => {
  test('bias, gelu and a residual', () => {
    const plan = scheduled((b) => {
      const biased = b.call('add', [product(b), input(b, [6])]);
      return b.call('add', [b.call('gelu', [biased]), input(b, [8, 6])]);
    });
    expect(sketches(plan)).toEqual(['8 6(4r(bmm) add)']);
    expect(at(plan.groups, 0).locals).toHaveLength(1);
    expect(printSchedule(plan)).toMatch(/used where it is made/);
  });

  test('two results of it, and the product itself', () => {
    const plan = scheduled((b) => {
      const made = product(b);
      return [made, b.call('relu', [made]), b.call('exp', [made])];
    });
    expect(plan.groups).toHaveLength(1);
    expect(at(plan.groups, 0).locals).toEqual([]);
    expect(at(plan.groups, 0).writes).toHaveLength(3);
  });

  test('what reads the product through a transpose', () => {
    const plan = scheduled((b) => b.call('relu', [b.call('transpose', [product(b)], { dim0: 0, dim1: 1 })]));
    expect(plan.groups).toHaveLength(1);
  });

  test('what has its rows in parts, and columns as they are', () => {
    // [8, 6] as [4, 2, 6] of [2, 4, 6]: where a row goes is said by its quotient and remainder.
    const plan = scheduled((b) => {
      const parts = b.call('relu', [b.call('reshape', [product(b)], { shape: [2, 4, 6] })]);
      return b.call('contiguous', [b.call('permute', [parts], { dims: [1, 0, 2] })]);
    });
    expect(sketches(plan)).toEqual(['8 6(4r(bmm) copy)']);
  });

  test('the elements of each matrix of a batch', () => {
    const plan = scheduled((b) => b.call('relu', [b.call('matmul', [input(b, [3, 8, 4]), input(b, [3, 4, 6])])]));
    expect(sketches(plan)).toEqual(['3 8 6(4r(bmm) relu)']);
  });
});

describe('a kernel of its own', () => {
  test('a reduction of the product', () => {
    const plan = scheduled((b) => b.call('softmax', [product(b)], { dim: -1 }));
    expect(plan.groups).toHaveLength(2);
    expect(printSchedule(plan)).toMatch(/only what follows a matrix product element by element/);
  });

  test('what repeats the product along another axis', () => {
    const plan = scheduled((b) => b.call('add', [product(b), input(b, [5, 8, 6])]));
    expect(plan.groups).toHaveLength(2);
  });

  test('what has its columns in parts, or runs along its rows', () => {
    const turned = (b: GraphBuilder): ValueRef =>
      b.call('permute', [b.call('reshape', [product(b)], { shape: [2, 4, 6] })], { dims: [1, 2, 0] });
    expect(scheduled((b) => b.call('contiguous', [turned(b)])).groups).toHaveLength(2);
    const split = (b: GraphBuilder): ValueRef =>
      b.call('permute', [b.call('reshape', [product(b)], { shape: [8, 2, 3] })], { dims: [1, 0, 2] });
    expect(scheduled((b) => b.call('contiguous', [split(b)])).groups).toHaveLength(2);
  });

  test('what makes an operand', () => {
    const plan = scheduled((b) => b.call('matmul', [b.call('exp', [input(b, [8, 4])]), input(b, [4, 6])]));
    expect(plan.groups).toHaveLength(2);
  });

  test('a product of the product', () => {
    const plan = scheduled((b) => b.call('matmul', [product(b), input(b, [6, 8])]));
    expect(plan.groups).toHaveLength(2);
  });

  test('everything, where epilogues are off', () => {
    const plan = scheduled((b) => b.call('relu', [product(b)]), { epilogueFusion: false });
    expect(plan.groups).toHaveLength(2);
    expect(printSchedule(plan)).toMatch(/a matrix product is a kernel of its own/);
  });
});
