import { describe, expect, test } from '@jest/globals';
import { add, int, multiply, printIndex } from '@tsinductor/ir';
import { SizeEnvironment } from './index.ts';

const guardsOf = (sizes: SizeEnvironment): readonly string[] =>
  sizes.guards().map(({ relation, left, right }) => `${printIndex(left)} ${relation} ${printIndex(right)}`);

describe('SizeEnvironment', () => {
  test('known sizes and equal expressions need no guard', () => {
    const sizes = new SizeEnvironment();
    const s0 = sizes.declare('s0', 5);
    expect(sizes.same(int(3), int(3))).toBe(true);
    expect(sizes.same(int(3), int(4))).toBe(false);
    expect(sizes.same(add(s0, s0), multiply(int(2), s0))).toBe(true);
    expect(guardsOf(sizes)).toEqual([]);
  });

  test('a symbol is neither 0 nor 1, by its range', () => {
    const sizes = new SizeEnvironment();
    const s0 = sizes.declare('s0', 5);
    expect([sizes.isZero(s0), sizes.isOne(s0)]).toEqual([false, false]);
    expect(guardsOf(sizes)).toEqual([]);
  });

  test('what products share decides nothing: what is left of them may need no guard', () => {
    const sizes = new SizeEnvironment();
    const [s0, s1, s2] = [sizes.declare('s0', 5), sizes.declare('s1', 3), sizes.declare('s2', 3)];
    const all = multiply(multiply(s0, s1), s2);
    expect([sizes.same(s1, all), sizes.same(all, multiply(s0, s1)), sizes.same(s1, int(0))]).toEqual([
      false,
      false,
      false,
    ]);
    expect([sizes.atMost(s1, all), sizes.atMost(all, s1), sizes.atMost(multiply(s1, int(3)), s1)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(guardsOf(sizes)).toEqual([]);
    expect([sizes.same(multiply(s0, s1), multiply(s0, s2)), sizes.atMost(multiply(s0, s0), all)]).toEqual([true, true]);
    expect(guardsOf(sizes)).toEqual(['s0 * s1 == s0 * s2', 's0 * s0 <= s0 * s1 * s2']);
  });

  test('nor does what is apart by a number', () => {
    const sizes = new SizeEnvironment();
    const s0 = sizes.declare('s0', 5);
    const before = add(s0, int(-1));
    expect([sizes.atMost(before, s0), sizes.atMost(s0, before), sizes.same(before, s0)]).toEqual([true, false, false]);
    expect(guardsOf(sizes)).toEqual([]);
  });

  test('what hints decide is recorded once, and can be checked on other sizes', () => {
    const sizes = new SizeEnvironment();
    const [s0, s1] = [sizes.declare('s0', 5), sizes.declare('s1', 5)];
    expect([sizes.same(s0, s1), sizes.same(s0, s1)]).toEqual([true, true]);
    expect(sizes.same(s0, int(7))).toBe(false);
    expect(sizes.toNumber(s1)).toBe(5);
    expect(guardsOf(sizes)).toEqual(['s0 == s1', 's0 != 7', 's0 == 5']);
    const actual = new Map([
      ['s0', 6],
      ['s1', 6],
    ]);
    expect(sizes.guards().map((guard) => SizeEnvironment.holds(guard, actual))).toEqual([true, true, false]);
  });

  test('sizes that a guard makes equal are one, and what that decides is not asked again', () => {
    const sizes = new SizeEnvironment();
    const [s0, s1, s2] = [sizes.declare('s0', 6), sizes.declare('s1', 6), sizes.declare('s2', 6)];
    expect(sizes.same(s2, s1)).toBe(true);
    expect(printIndex(sizes.resolve(multiply(s2, int(2))))).toBe('s1 * 2');
    expect(sizes.same(s1, s0)).toBe(true);
    expect([s0, s1, s2].map((size) => printIndex(sizes.resolve(size)))).toEqual(['s0', 's0', 's0']);
    expect([sizes.same(s2, s0), sizes.same(add(s1, s2), multiply(int(2), s0)), sizes.atMost(s2, s1)]).toEqual([
      true,
      true,
      true,
    ]);
    expect(guardsOf(sizes)).toEqual(['s2 == s1', 's1 == s0']);
  });

  test('a size that is fixed is a number for all that are equal to it, even before', () => {
    const sizes = new SizeEnvironment();
    const [s0, s1] = [sizes.declare('s0', 6), sizes.declare('s1', 6)];
    sizes.same(s0, s1);
    expect([sizes.toNumber(s1), sizes.toNumber(s0)]).toEqual([6, 6]);
    expect(sizes.same(multiply(s0, int(2)), int(12))).toBe(true);
    expect(sizes.broadcast(s0, int(7))).toBeUndefined();
    expect(sizes.broadcast(s1, s0)).toEqual(int(6));
    expect(guardsOf(sizes)).toEqual(['s0 == s1', 's0 == 6']);
  });

  test('broadcasting keeps the size that is known best', () => {
    const sizes = new SizeEnvironment();
    const s0 = sizes.declare('s0', 4);
    expect(sizes.broadcast(s0, int(1))).toEqual(s0);
    expect(sizes.broadcast(s0, int(4))).toEqual(int(4));
    expect(sizes.broadcast(s0, int(3))).toBeUndefined();
  });
});
