// Inputs that a graph changes: when their new value may be written over the old one. `scheduled` has every schedule verified.
import { describe, expect, test } from '@jest/globals';
import type { ConfigPatch } from '@tsinductor/config';
import type { GraphBuilder, ValueRef } from '@tsinductor/graph';
import { printSchedule, verifySchedule } from '@tsinductor/ir';
import type { BufferPlan, Schedule } from '@tsinductor/ir';
import { input, scheduled } from './test-support/scheduled.ts';

/** A graph that ends with the new value of its first input, and what it gives beside it. */
const updating = (
  build: (b: GraphBuilder, x: ValueRef) => readonly [updated: ValueRef, ...results: ValueRef[]],
  patch: ConfigPatch = {},
): Schedule =>
  scheduled(
    (b) => {
      const [updated, ...results] = build(b, input(b, [64, 64]));
      b.mutate(0, results.length);
      return [...results, updated];
    },
    patch,
    { updates: true },
  );

const isInPlace = (plan: Schedule): boolean =>
  plan.buffers.some((buffer) => buffer.kind === 'output' && buffer.over !== undefined);

const step = (b: GraphBuilder, x: ValueRef): ValueRef => b.call('add', [x, input(b, [64, 64])]);
const product = (b: GraphBuilder, x: ValueRef): ValueRef => b.call('matmul', [x, input(b, [64, 8])]);

describe('a new value lies over the old one', () => {
  test('where each element is read where it is written', () => {
    const plan = updating((b, x) => [step(b, x)]);
    expect(isInPlace(plan)).toBe(true);
    expect(printSchedule(plan)).toMatch(/output 0, over input_0/);
    expect(plan.decisions).toContainEqual(
      expect.objectContaining({ kind: 'reused', of: 'input_0', reason: expect.stringMatching(/input is changed/) }),
    );
  });

  test.each<[string, Parameters<typeof updating>[0]]>([
    ['where the old one is not read at all', (b) => [b.call('exp', [input(b, [64, 64])])]],
    ['where it is read before', (b, x) => [b.call('add', [x, b.call('sum', [x])])]],
    ['where the new one is read afterwards', (b, x) => ((y) => [y, product(b, y)] as const)(step(b, x))],
  ])('%s', (_name, build) => {
    expect(isInPlace(updating(build))).toBe(true);
  });

  test.each<[string, Parameters<typeof updating>[0]]>([
    ['the old one is read behind it in the same loop', (b, x) => [step(b, x), b.call('exp', [x])]],
    ['other elements are read', (b, x) => [b.call('flip', [x], { dims: [0] })]],
    ['a product reads all of a row for each element', (b, x) => [b.call('matmul', [x, x])]],
    ['its rows are other places', (b, x) => [b.call('exp', [b.call('transpose', [x], { dim0: 0, dim1: 1 })])]],
    [
      'an index is checked afterwards',
      (b, x) => [b.call('add', [b.call('gather', [input(b, [64, 64]), input(b, [64, 64], 'i64')], { dim: 0 }), x])],
    ],
  ])('but not where %s', (_name, build) => {
    expect(isInPlace(updating(build))).toBe(false);
  });

  test('inplaceBuffers', () => {
    expect(isInPlace(updating((b, x) => [step(b, x)], { inplaceBuffers: false }))).toBe(false);
  });
});

test('the verifier refuses what may not be written over', () => {
  const forged = (plan: Schedule, over: number, changes: Partial<Schedule['program']> = {}): Schedule => ({
    ...plan,
    program: { ...plan.program, ...changes },
    buffers: plan.buffers.map((buffer): BufferPlan => (buffer.kind === 'output' ? { ...buffer, over } : buffer)),
  });
  const flipped = updating((b, x) => [b.call('flip', [x], { dims: [0] })]);
  const [first = -1] = flipped.program.inputs;
  expect(() => {
    verifySchedule(forged(flipped, first));
  }).toThrow(/read elsewhere than where the result is written/);
  const added = updating((b, x) => [step(b, x)]);
  expect(() => {
    verifySchedule(forged(added, first, { updates: [] }));
  }).toThrow(/an input that the program does not change/);
});
