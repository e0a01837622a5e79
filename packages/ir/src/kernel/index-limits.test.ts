// What 32-bit index arithmetic comes to: limits as they read, and that at sizes which they allow nothing on the way to an index,
// computed in the order in which it is printed, passes 32 bits.
import { describe, expect, test } from '@jest/globals';
import { parseIndex } from '@tsinductor/testing';
import fc from 'fast-check';
import { evaluateIndex } from '../arithmetic/evaluate.ts';
import { floorDivide, modulo } from '../arithmetic/divide.ts';
import { maximum, minimum } from '../arithmetic/extremum.ts';
import { add, axisIndex, int, multiply, sizeSymbol, subtract } from '../arithmetic/polynomial.ts';
import { isSubtracted } from '../arithmetic/query.ts';
import type { Index } from '../index-expr.ts';
import { printIndex } from '../print/print-index.ts';
import { indexLimits, largestIndex } from './index-limits.ts';
import type { Kernel, Stmt, Value } from './kernel.ts';

const kernelOf = (body: readonly Stmt[], more: Partial<Kernel> = {}): Kernel => ({
  name: 'sample',
  buffers: [],
  sizes: ['s0', 's1'],
  body,
  origins: [],
  notes: [],
  ...more,
});

const position = (value: Index, dtype: 'i32' | 'i64' = 'i32'): Stmt => {
  const index: Value = { kind: 'index', value, lane: 'j', type: { dtype, lanes: 8 } };
  return { kind: 'let', name: 'position', value: index };
};

const limitsOf = (index: Index): readonly Index[] => indexLimits(kernelOf([position(index)]));

const extents = { i: 's0', j: 's1', k: 100 } as const;

describe('limits', () => {
  test.each([
    ['i * s1 + j', ['s0 * s1']],
    ['j', ['s1 - 1']],
    ['i * 100 + k', ['s0 * 100']],
    ['k * 7', []],
    // The rows backwards: what is added comes first, and then what is subtracted.
    ['(s0 - 1 - i) * s1 + j', ['s0 * s1 + s1 - 1']],
    ['(i * s1 + j) / 16', ['s0 * s1']],
    ['min(i, j)', ['s0 - 1', 's1 - 1']],
  ] as const)('of %s', (text, limits) => {
    expect(limitsOf(parseIndex(text, extents)).map((limit) => printIndex(limit))).toEqual(limits);
  });

  test('are those of 32-bit positions, and of all arithmetic where the kernel says so', () => {
    const index = parseIndex('i * s1 + j', extents);
    const loop: Stmt = { kind: 'for', name: 'n', from: int(0), to: sizeSymbol('s0', 2), step: 256, body: [] };
    expect(indexLimits(kernelOf([position(index, 'i64'), loop]))).toEqual([]);
    const narrow = indexLimits(kernelOf([position(index, 'i64'), loop], { indexDType: 'i32' }));
    expect(narrow.map((limit) => printIndex(limit))).toEqual(['s0 * s1', 's0 + 256']);
  });

  test('are those of buffers, whatever indices are', () => {
    const sized = (size: Index): Kernel['buffers'][number] => {
      const storage = { kind: 'buffer', buffer: 0 } as const;
      return { name: 'x', dtype: 'i8', role: 'read', storage, size, align: 1 };
    };
    const buffers = [parseIndex('s0 * s1 * 3', {}), int(2 ** 31 - 1), int(2 ** 31)].map(sized);
    expect(indexLimits(kernelOf([], { buffers })).map((limit) => printIndex(limit))).toEqual([
      's0 * s1 * 3',
      '2147483648',
    ]);
  });

  test('know what the names of a launch are below', () => {
    const names = { block: 'block', blocks: 'blocks', thread: 'thread' };
    const launch = { blocks: int(4096), threads: 256, sharedBytes: 0, names };
    const wide = (name: string): Index => axisIndex({ name, extent: int(2 ** 31) });
    const index = add(multiply(wide('block'), int(256)), wide('thread'));
    expect(indexLimits(kernelOf([position(index)], { launch }))).toEqual([]);
    expect(limitsOf(index)).not.toEqual([]);
  });
});

const s0 = sizeSymbol('s0', 0);
const s1 = sizeSymbol('s1', 0);
const axes = [
  ['i', s0],
  ['j', s1],
  ['k', int(1000)],
] as const;

const leaf = fc.oneof(
  fc.integer({ min: -3000, max: 3000 }).map(int),
  fc.constantFrom(s0, s1, ...axes.map(([name, extent]) => axisIndex({ name, extent }))),
);
const expression = fc.letrec<{ tree: Index }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3, depthSize: 'medium' },
    leaf,
    fc
      .tuple(fc.constantFrom(add, subtract, multiply, minimum, maximum), tie('tree'), tie('tree'))
      .map(([op, a, b]) => op(a, b)),
    fc
      .tuple(fc.constantFrom(floorDivide, modulo), tie('tree'), fc.constantFrom(int(7), add(s1, int(1))))
      .map(([op, a, b]) => op(a, b)),
  ),
})).tree;

interface Point {
  readonly axes: ReadonlyMap<string, number>;
  readonly sizes: ReadonlyMap<string, number>;
}

/** What is passed on the way to an index at a point, the index last. */
function passed(index: Index, point: Point): readonly number[] {
  const value = evaluateIndex(index, point);
  switch (index.kind) {
    case 'sum': {
      const ordered = [...index.items.filter((item) => !isSubtracted(item)), ...index.items.filter(isSubtracted)];
      let total = 0;
      return ordered.flatMap((item) => [...passed(item, point), (total += evaluateIndex(item, point))]);
    }
    case 'product': {
      const [first] = index.items;
      const ordered = first?.kind === 'int' ? [...index.items.slice(1), first] : index.items;
      let total = 1;
      return ordered.flatMap((item) => [...passed(item, point), (total *= evaluateIndex(item, point))]);
    }
    case 'min':
    case 'max':
      return [...index.items.flatMap((item) => passed(item, point)), value];
    case 'floorDiv':
    case 'mod':
      return [...passed(index.dividend, point), ...passed(index.divisor, point), value];
    case 'int':
    case 'size':
    case 'axis':
    case 'indirect':
      return [value];
  }
}

test('nothing on the way to an index passes 32 bits at sizes that its limits allow', () => {
  let allowed = 0;
  let close = 0;
  const large = fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 70_000 }));
  const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(expression, fc.tuple(large, large), fc.tuple(share, share, share), (index, [a, b], shares) => {
      const sizes = new Map([
        ['s0', a],
        ['s1', b],
      ]);
      const at = axes.map(([name, extent], place): [string, number] => [
        name,
        Math.floor((shares[place] ?? 0) * evaluateIndex(extent, { sizes })),
      ]);
      const limits = limitsOf(index).map((limit) => evaluateIndex(limit, { sizes }));
      if (limits.some((limit) => limit > largestIndex)) return;
      const most = Math.max(...passed(index, { axes: new Map(at), sizes }).map(Math.abs));
      allowed += 1;
      if (most > largestIndex / 100) close += 1;
      expect(most).toBeLessThanOrEqual(largestIndex);
    }),
    { numRuns: 3000, seed: 1 },
  );
  expect(allowed).toBeGreaterThan(1000);
  expect(close).toBeGreaterThan(20);
});
