// Additions of zero that go, and those that stay because somebody reads the sign.
import { describe, expect, test } from '@jest/globals';
import { pointwise } from '@tsinductor/ops';
import type { PointwiseName } from '@tsinductor/ops';
import fc from 'fast-check';
import { axisIndex } from '../arithmetic/polynomial.ts';
import type { BodyBuilder } from '../body/body-builder.ts';
import { axis, map, run } from '../interpret/test-support/run-loops.ts';
import type { LoopNode } from '../loop.ts';
import type { ScalarId } from '../scalar.ts';
import { withoutUnreadZeros } from './unread-zeros.ts';

const values = [0, -0, 1, -1, -0.5, 3e38, 1e-45, Infinity, -Infinity, NaN];
const i = axis('i', values.length ** 2);
type Build = (b: BodyBuilder, x: ScalarId, y: ScalarId) => ScalarId;

/** A map of two rows of f32. */
const mapOf = (build: Build): LoopNode =>
  map([i], axisIndex(i), (b) => build(b, b.load(0, 'f32', axisIndex(i)), b.load(1, 'f32', axisIndex(i))));

/** The bits of what a node makes of every pair of values; NaNs count as one. */
function bitsOf(node: LoopNode): readonly number[] {
  const inputs = [values.flatMap((x) => values.map(() => x)), values.flatMap(() => values)];
  const lengths = [1, 2, 3].map(() => values.length ** 2);
  const out = run(
    { dtypes: ['f32', 'f32', 'f32'], lengths, nodes: [node] },
    inputs.map((row) => Float32Array.from(row)),
  );
  return [...new Uint32Array(Float32Array.from(out as Float32Array, (x) => (Number.isNaN(x) ? NaN : x)).buffer)];
}

const additions = (node: LoopNode): number =>
  node.kind === 'map' ? node.body.nodes.filter((each) => each.kind === 'apply' && each.op === 'add').length : NaN;

const zero = (b: BodyBuilder): ScalarId => b.constant(0, 'f32');
const sum = (b: BodyBuilder, x: ScalarId, y: ScalarId): ScalarId => b.apply('add', [b.apply('add', [zero(b), x]), y]);
const of =
  (op: PointwiseName, value: number): Build =>
  (b, x, y) =>
    b.apply(op, [sum(b, x, y), b.constant(value, 'f32')]);

const gone: readonly [string, Build][] = [
  ['before another number is added', of('add', 0.5)],
  ['before another number is subtracted', of('sub', 0.5)],
  ['before another 0 is added', of('add', 0)],
  [
    'beside integers and a constant',
    (b, x, y) => {
      const whole = b.apply('add', [b.cast(y, 'i64'), b.constant(2, 'i64')]);
      return b.apply('atan2', [
        b.apply('abs', [sum(b, x, y)]),
        b.cast(b.apply('mul', [whole, b.constant(3, 'i64')]), 'f32'),
      ]);
    },
  ],
  ['before a comparison', (b, x, y) => b.cast(b.apply('lt', [sum(b, x, y), x]), 'f32')],
  ['below an absolute value', (b, x, y) => b.apply('abs', [sum(b, x, y)])],
  ['below products and quotients of what is compared', (b, x, y) => {
    const mean = b.apply('div', [sum(b, x, y), b.constant(2, 'f32')]);
    return b.apply('where', [b.apply('gt', [b.apply('mul', [mean, y]), x]), x, y]);
  }], // prettier-ignore
];
const kept: readonly [string, Build][] = [
  ['in a result', sum],
  ['in a result by way of a product', of('mul', 2)],
  ['below a sum with -0', of('add', -0)],
  ['below a sum with what may be 0', (b, x, y) => b.apply('add', [sum(b, x, y), x])],
  ['below a divisor', (b, x, y) => b.apply('add', [b.apply('div', [x, sum(b, x, y)]), b.constant(1, 'f32')])],
  ['below an op that tells zeros apart', (b, x, y) => b.apply('copysign', [x, sum(b, x, y)])],
  ['where one user of two reads it', (b, x, y) => {
    const both = sum(b, x, y);
    return b.apply('where', [b.apply('lt', [both, x]), both, y]);
  }], // prettier-ignore
];

describe('0 + x', () => {
  test.each(gone)('is x %s', (_name, build) => {
    const node = mapOf(build);
    const without = withoutUnreadZeros(node);
    expect(additions(without)).toBe(additions(node) - 1);
    expect(bitsOf(without)).toEqual(bitsOf(node));
  });

  test.each(kept)('stays %s', (_name, build) => {
    const node = mapOf(build);
    expect(withoutUnreadZeros(node)).toBe(node);
  });

  test('is 0 + x still, to the bit, in whatever expression it stands', () => {
    const ops = ['add', 'sub', 'mul', 'div', 'abs', 'neg', 'sqrt', 'copysign', 'maximum', 'reciprocal'] as const;
    const steps = fc.array(fc.tuple(fc.constantFrom(...ops), fc.nat(99), fc.nat(99)), { minLength: 1, maxLength: 8 });
    let changed = 0;
    fc.assert(
      fc.property(steps, (drawn) => {
        const node = mapOf((b, x, y) => {
          const made: ScalarId[] = [x, y, zero(b), b.constant(-0, 'f32'), b.constant(0.5, 'f32'), sum(b, x, y)];
          for (const [op, first, second] of drawn) {
            const args = [first, second].map((draw) => made[draw % made.length] ?? x);
            made.push(b.apply(op, args.slice(0, pointwise[op].arity)));
          }
          return b.apply('add', [made.at(-1) ?? x, b.constant(0.5, 'f32')]);
        });
        const without = withoutUnreadZeros(node);
        if (without !== node) changed += 1;
        expect(bitsOf(without)).toEqual(bitsOf(node));
      }),
      { numRuns: 200, seed: 1 },
    );
    expect(changed).toBeGreaterThan(20);
  });
});
