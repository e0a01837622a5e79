// Random expressions: what the constructors make has the value that naive arithmetic gives, at every point tried, and
// lies in its range.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Index } from '../index-expr.ts';
import { ceilDivide, floorDivide, modulo } from './divide.ts';
import { compileIndex, evaluateIndex } from './evaluate.ts';
import { maximum, minimum } from './extremum.ts';
import { add, axisIndex, int, multiply, product, sizeSymbol, subtract } from './polynomial.ts';
import { printIndex } from '../print/print-index.ts';
import { rangeOf } from './range.ts';
import { substitute } from './substitute.ts';

interface Point {
  readonly axes: ReadonlyMap<string, number>;
  readonly sizes: ReadonlyMap<string, number>;
}

/** An expression twice: canonical, and as plain arithmetic. */
interface Sample {
  readonly index: Index;
  readonly naive: (point: Point) => number;
  readonly text: string;
}

const sizes = ['s0', 's1'].map((name) => sizeSymbol(name, 1));
const [s0, s1] = sizes as [Index, Index];
const extents: ReadonlyMap<string, Index> = new Map([
  ['i', int(6)],
  ['j', int(4)],
  ['k', s0],
  ['l', s1],
  ['m', multiply(s0, int(3))],
]);

const leaf = fc.oneof(
  fc
    .integer({ min: -3, max: 12 })
    .map((value): Sample => ({ index: int(value), naive: () => value, text: `(${String(value)})` })),
  fc.constantFrom(...extents.keys()).map((name): Sample => ({
    index: axisIndex({ name, extent: extents.get(name) ?? int(1) }),
    naive: ({ axes }) => axes.get(name) ?? 0,
    text: name,
  })),
  fc.constantFrom(s0, s1).map((index): Sample => {
    const name = printIndex(index);
    return { index, naive: (point) => point.sizes.get(name) ?? 0, text: name };
  }),
);

const divisor = fc.oneof(
  fc
    .integer({ min: 1, max: 24 })
    .map((value): Sample => ({ index: int(value), naive: () => value, text: String(value) })),
  fc.array(fc.constantFrom(s0, s1, int(2), int(3), int(4)), { minLength: 1, maxLength: 3 }).map((factors): Sample => {
    const index = product(factors);
    return { index, naive: (point) => evaluateIndex(index, point), text: `(${printIndex(index)})` };
  }),
  fc.tuple(fc.constantFrom(s0, s1), fc.constantFrom(s0, s1, int(1), int(2))).map(([a, b]): Sample => {
    const index = add(a, b);
    return { index, naive: (point) => evaluateIndex(index, point), text: `(${printIndex(index)})` };
  }),
);

const mod = (a: number, b: number): number => a - b * Math.floor(a / b);
type Binary = readonly [string, (a: Index, b: Index) => Index, (a: number, b: number) => number];
const anything: readonly Binary[] = [
  ['+', add, (a, b) => a + b],
  ['+', add, (a, b) => a + b],
  ['-', subtract, (a, b) => a - b],
  ['*', multiply, (a, b) => a * b],
  ['min', minimum, Math.min],
  ['max', maximum, Math.max],
];
const dividing: readonly Binary[] = [
  ['/', floorDivide, (a, b) => Math.floor(a / b)],
  ['%', modulo, mod],
  ['ceil', ceilDivide, (a, b) => Math.ceil(a / b)],
];

const combine = ([name, build, run]: Binary, a: Sample, b: Sample): Sample => ({
  index: build(a.index, b.index),
  naive: (point) => run(a.naive(point), b.naive(point)),
  text: `(${a.text} ${name} ${b.text})`,
});

const expression = fc.letrec<{ tree: Sample }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5, depthSize: 'medium' },
    leaf,
    fc.tuple(fc.constantFrom(...anything), tie('tree'), tie('tree')).map(([op, a, b]) => combine(op, a, b)),
    fc.tuple(fc.constantFrom(...dividing), tie('tree'), divisor).map(([op, a, b]) => combine(op, a, b)),
  ),
})).tree;

/** Flattened coordinates, divided and taken apart again: what reshapes make. */
const reshape = fc
  .tuple(fc.shuffledSubarray([...extents.keys()], { minLength: 2 }), divisor, divisor)
  .map(([names, a, b]): Sample => {
    const axes = names.map((name) => ({ name, extent: extents.get(name) ?? int(1) }));
    const flat = axes.reduce<Index>((total, axis) => add(multiply(total, axis.extent), axisIndex(axis)), int(0));
    const naiveFlat = (point: Point): number =>
      axes.reduce((total, { name, extent }) => total * evaluateIndex(extent, point) + (point.axes.get(name) ?? 0), 0);
    return {
      index: add(modulo(floorDivide(flat, a.index), b.index), multiply(int(7), modulo(flat, a.index))),
      naive: (point) =>
        mod(Math.floor(naiveFlat(point) / a.naive(point)), b.naive(point)) + 7 * mod(naiveFlat(point), a.naive(point)),
      text: `reshape of ${names.join(',')} by ${a.text}, ${b.text}`,
    };
  });

const point = fc
  .record({
    s0: fc.integer({ min: 1, max: 5 }),
    s1: fc.integer({ min: 1, max: 5 }),
    at: fc.array(fc.nat(999), { minLength: 5, maxLength: 5 }),
  })
  .map(({ s0: a, s1: b, at }): Point => {
    const values = new Map([
      ['s0', a],
      ['s1', b],
    ]);
    const axes = [...extents].map(([name, extent], position): [string, number] => [
      name,
      (at[position] ?? 0) % evaluateIndex(extent, { sizes: values }),
    ]);
    return { axes: new Map(axes), sizes: values };
  });

const slots = [...extents.keys()];

describe.each([
  ['random expressions', expression],
  ['reshapes', reshape],
])('canonical %s', (_, samples) => {
  test('have the naive value, and lie in their range', () => {
    fc.assert(
      fc.property(samples, fc.array(point, { minLength: 6, maxLength: 6 }), (sample, points) => {
        const { min, max } = rangeOf(sample.index);
        for (const at of points) {
          const wanted = sample.naive(at) + 0;
          expect([sample.text, printIndex(sample.index), evaluateIndex(sample.index, at)]).toEqual([
            sample.text,
            printIndex(sample.index),
            wanted,
          ]);
          expect(min === null || min <= wanted).toBe(true);
          expect(max === null || max >= wanted).toBe(true);
          const compiled = compileIndex(sample.index, { axis: (name) => slots.indexOf(name), sizes: at.sizes });
          const values = slots.map((name) => at.axes.get(name) ?? 0);
          expect(compiled(values, []) + 0).toBe(wanted);
        }
      }),
      { numRuns: 600 },
    );
  });

  test('remainders of remainders of remainders are opened to the last', () => {
    const i = axisIndex({ name: 'i', extent: int(6) });
    expect(printIndex(modulo(modulo(modulo(i, int(4)), multiply(s1, int(2))), int(2)))).toBe('i % 2');
  });

  test('are fixed points of substitution', () => {
    fc.assert(
      fc.property(samples, ({ index }) => {
        const renamed = new Map([...extents].map(([name, extent]) => [name, axisIndex({ name: `${name}2`, extent })]));
        const back = new Map([...extents].map(([name, extent]) => [`${name}2`, axisIndex({ name, extent })]));
        expect(printIndex(substitute(substitute(index, renamed), back))).toBe(printIndex(index));
      }),
      { numRuns: 150 },
    );
  });
});
