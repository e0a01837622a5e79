// Linear forms: an index is the sum of its steps and its rest, or has no form.
import { describe, expect, test } from '@jest/globals';
import { printIndex } from '../print/print-index.ts';
import type { Axis, Index } from '../index-expr.ts';
import { floorDivide, modulo } from './divide.ts';
import { coefficientOf, denseSteps, linearForm } from './linear-form.ts';
import { add, axisIndex, indirect, int, multiply, sizeSymbol } from './polynomial.ts';

const i: Axis = { name: 'i', extent: int(6) };
const j: Axis = { name: 'j', extent: int(8) };
const s = sizeSymbol('s0', 1);
const [x, y] = [axisIndex(i), axisIndex(j)];

/** Steps and rest as text; undefined where there is no form. */
function formOf(index: Index, axes: readonly Axis[]): string | undefined {
  const form = linearForm(index, axes);
  const steps = [...(form?.steps.values() ?? [])].map(({ axis, stride }) => `${axis.name} by ${printIndex(stride)}`);
  return form && [...steps, printIndex(form.rest)].join(', ');
}

describe('linearForm', () => {
  test.each<[string, Index, readonly Axis[], string | undefined]>([
    ['a number', int(3), [i], '3'],
    ['an axis', x, [i], 'i by 1, 0'],
    ['steps and an offset', add(add(multiply(x, int(8)), y), int(5)), [i, j], 'i by 8, j by 1, 5'],
    ['other axes belong to the rest', add(multiply(x, int(8)), y), [j], 'j by 1, i * 8'],
    ['a symbolic stride', multiply(x, s), [i], 'i by s0, 0'],
    [
      'several terms of one axis',
      add(multiply(x, s), multiply(x, int(2))),
      [i],
      `i by ${printIndex(add(s, int(2)))}, 0`,
    ],
    [
      'a loaded index belongs to the rest',
      add(x, indirect(4, int(9))),
      [i],
      `i by 1, ${printIndex(indirect(4, int(9)))}`,
    ],
    ['a quotient', floorDivide(x, int(4)), [i], undefined],
    [
      'a quotient of another axis',
      add(x, floorDivide(y, int(4))),
      [i],
      `i by 1, ${printIndex(floorDivide(y, int(4)))}`,
    ],
    ['a multiple of a remainder', multiply(modulo(x, int(4)), int(3)), [i], undefined],
    ['a square', multiply(x, x), [i], undefined],
    ['a product of axes', multiply(x, y), [i, j], undefined],
    ['an axis of another extent', x, [{ name: 'i', extent: int(5) }], undefined],
  ])('%s', (...[, index, axes, expected]) => {
    expect(formOf(index, axes)).toBe(expected);
  });

  test('agrees with coefficientOf', () => {
    const index = add(add(multiply(x, multiply(s, int(3))), multiply(y, int(2))), s);
    const form = linearForm(index, [i, j]);
    for (const axis of [i, j]) expect(form?.steps.get(axis.name)?.stride).toEqual(coefficientOf(index, axis));
  });
});

describe('denseSteps', () => {
  const stepped = (...steps: readonly (readonly [Axis, number])[]): string | undefined =>
    denseSteps(steps.map(([axis, stride]) => ({ axis, stride: int(stride) })))
      ?.map(({ axis }) => axis.name)
      .join(' ');

  test('are ordered from the outermost in', () => {
    expect(stepped([i, 8], [j, 1])).toBe('i j');
    expect(stepped([i, 1], [j, 6])).toBe('j i');
    expect(stepped()).toBe('');
  });

  test('have no gaps and no overlaps', () => {
    expect(stepped([i, 9], [j, 1])).toBeUndefined();
    expect(stepped([i, 8], [j, 2])).toBeUndefined();
    expect(stepped([i, 1], [j, 1])).toBeUndefined();
  });
});
