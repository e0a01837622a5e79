// Bounds hold at every point: random integer bodies are evaluated, and each value lies where the finder says. What they
// decide is decided rightly, and nothing is decided where an integer could wrap.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { PointwiseName, Value } from '@tsinductor/ops';
import { axisIndex, int, sizeSymbol } from '../arithmetic/polynomial.ts';
import { evaluateIndex } from '../arithmetic/evaluate.ts';
import { ScalarBody } from '../interpret/scalar-body.ts';
import { printIndex } from '../print/print-index.ts';
import type { Index } from '../index-expr.ts';
import type { Body, ScalarId } from '../scalar.ts';
import { BodyBuilder } from './body-builder.ts';
import { replayBody } from './replay-body.ts';
import { BoundsFinder, decidedBy, liesWithin } from './scalar-bounds.ts';
import type { BoundsReach } from './scalar-bounds.ts';

const size = sizeSymbol('s0', 2, 50);
const axes = [
  { name: 'i', extent: int(7) },
  { name: 'j', extent: size },
];

/** Small numbers in a fixed, irregular order. */
class Numbers {
  #state: number;

  constructor(seed: number) {
    this.#state = seed * 7919 + 17;
  }

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }
}

const binary: readonly PointwiseName[] = ['add', 'sub', 'mul', 'maximum', 'minimum', 'clampMin', 'clampMax', 'divFloor', 'remainder', 'bitwiseAnd']; // prettier-ignore
const narrow: readonly DType[] = ['i8', 'u8', 'i32', 'bool', 'i64'];
const loads: readonly DType[] = ['i64', 'i32', 'i8', 'u8', 'bool'];

/** A body of i64 arithmetic over loads, coordinates and constants: every node is a result. */
function randomBody(seed: number): Body {
  const numbers = new Numbers(seed);
  const body = new BodyBuilder();
  const wide = (id: ScalarId): ScalarId => body.cast(id, 'i64');
  const values: ScalarId[] = [
    ...axes.map((axis) => body.index(axisIndex(axis))),
    body.index(size),
    ...loads.map((dtype, buffer) => wide(body.load(buffer, dtype, int(0)))),
    ...[0, 1, 3, -2, 127].map((value) => body.constant(value, 'i64')),
  ];
  const any = (): ScalarId => at(values, numbers.below(values.length));
  for (let count = 0; count < 25; count += 1) {
    const kind = numbers.below(8);
    if (kind === 0) values.push(wide(body.cast(any(), at(narrow, numbers.below(narrow.length)))));
    else if (kind === 1) values.push(body.apply('where', [body.apply('lt', [any(), any()]), any(), any()]));
    else values.push(body.apply(at(binary, numbers.below(binary.length)), [any(), any()]));
  }
  return body.finish(values);
}

const extremes: Readonly<Partial<Record<DType, readonly Value[]>>> = {
  i64: [0n, -5n, 9n, 2n ** 63n - 1n, -(2n ** 63n)],
  i32: [0, 2 ** 31 - 1, -(2 ** 31)],
  i8: [-128, 127, 3],
  u8: [0, 255, 7],
  bool: [0, 1],
};

interface Sample {
  readonly values: readonly Value[];
  readonly place: (index: Index) => bigint;
}

/** What the body's results are at some points, for loads that are ordinary and extreme. */
function samplesOf(body: Body, seed: number): readonly Sample[] {
  const numbers = new Numbers(seed);
  const compiled = new ScalarBody(body);
  return Array.from({ length: 40 }, () => {
    const sizes = new Map([['s0', 2 + numbers.below(49)]]);
    const point = new Map([
      ['i', numbers.below(7)],
      ['j', numbers.below(sizes.get('s0') ?? 0)],
    ]);
    const loaded = loads.map((dtype) => at(extremes[dtype] ?? [], numbers.below(extremes[dtype]?.length ?? 1)));
    const load = (buffer: number): Value => at(loaded, buffer);
    const { results } = compiled.evaluate({ axes: point, sizes, sites: [], load });
    return { values: results, place: (index) => BigInt(evaluateIndex(index, { axes: point, sizes })) };
  });
}

/** The results that lie outside their bounds somewhere. */
function outside(body: Body, seed: number, reach: BoundsReach): readonly string[] {
  const finder = new BoundsFinder((id) => at(body.nodes, id), reach);
  return samplesOf(body, seed).flatMap(({ values, place }) =>
    body.results.flatMap((id, position) => {
      const value = BigInt(at(values, position));
      const { low, high } = finder.of(id);
      const holds = (low === undefined || place(low) <= value) && (high === undefined || value <= place(high));
      return holds ? [] : [`node ${String(id)} is ${String(value)}`];
    }),
  );
}

describe.each(['indices', 'values'] as const)('bounds of %s', (reach) => {
  test.each(Array.from({ length: 30 }, (_, seed) => seed))('hold at every point, seed %i', (seed) => {
    expect(outside(randomBody(seed), seed, reach)).toEqual([]);
  });

  test('are known of many values', () => {
    const body = randomBody(1);
    const finder = new BoundsFinder((id) => at(body.nodes, id), reach);
    const known = body.results.filter((id) => finder.of(id).low !== undefined);
    expect(known.length).toBeGreaterThan(reach === 'indices' ? 6 : 12);
  });
});

describe('arithmetic on coordinates', () => {
  const folded = (body: Body, reach: BoundsReach): Body => {
    const builder = new BodyBuilder({ bounds: reach });
    return builder.finish(replayBody(body, builder).results);
  };

  test.each(Array.from({ length: 30 }, (_, seed) => seed))(
    'has the same values as index expressions, seed %i',
    (seed) => {
      const body = randomBody(seed);
      const valuesOf = (one: Body): readonly (readonly Value[])[] => samplesOf(one, seed).map(({ values }) => values);
      for (const reach of ['indices', 'values'] as const) expect(valuesOf(folded(body, reach))).toEqual(valuesOf(body));
    },
  );

  test('becomes index expressions where nothing wraps', () => {
    const builder = new BodyBuilder({ bounds: 'indices' });
    const coordinate = builder.index(axisIndex(at(axes, 1)));
    const number = (value: number | bigint): ScalarId => builder.constant(value, 'i64');
    const result = (op: PointwiseName, value: number | bigint): string => {
      const node = builder.node(builder.apply(op, [coordinate, number(value)]));
      return node.kind === 'index' ? printIndex(node.value) : node.kind;
    };
    expect(result('divFloor', 8)).toBe('j / 8');
    expect(result('remainder', 8)).toBe('j % 8');
    expect(result('add', 3)).toBe('j + 3');
    expect(result('mul', 2n ** 60n)).toBe('apply');
    expect(result('divFloor', -8)).toBe('apply');
    const wide = builder.index(axisIndex({ name: 'k', extent: sizeSymbol('s1', 2) }));
    const kindOf = (op: PointwiseName, operand: ScalarId, value: number): string =>
      builder.node(builder.apply(op, [operand, number(value)])).kind;
    const quotient = builder.apply('divFloor', [wide, number(32)]);
    expect([kindOf('mul', quotient, 8), kindOf('remainder', wide, 8), kindOf('add', wide, 1)]).toEqual(
      Array(3).fill('index'),
    );
    expect([kindOf('mul', wide, 8), kindOf('mul', quotient, 64)]).toEqual(['apply', 'apply']);
    // What 32 bits do not hold on the way, though they hold what it comes to.
    const large = builder.apply('mul', [builder.index(axisIndex({ name: 'l', extent: int(10_000) })), number(999_983)]);
    expect([builder.node(large).kind, kindOf('divFloor', large, 1_000_003)]).toEqual(['apply', 'apply']);
    expect(builder.node(builder.apply('mul', [wide, wide])).kind).toBe('apply');
  });
});

describe('decisions', () => {
  const body = new BodyBuilder();
  const [i, j] = axes.map((axis) => body.index(axisIndex(axis))) as [ScalarId, ScalarId];
  const [five, seven, n] = [body.constant(5, 'i64'), body.constant(7, 'i64'), body.index(size)];
  const free = body.load(0, 'i64', int(0));
  const byte = body.cast(body.load(1, 'u8', int(0)), 'i64');
  const zero = body.constant(0, 'i64');
  const clamped = body.apply('minimum', [
    body.apply('maximum', [free, zero]),
    body.apply('sub', [n, body.constant(1, 'i64')]),
  ]);
  const wrapped = body.apply('add', [body.apply('maximum', [free, zero]), five]);
  const values = new BoundsFinder((id) => body.node(id), 'values');
  const indices = new BoundsFinder((id) => body.node(id), 'indices');

  test.each<[string, PointwiseName, readonly [ScalarId, ScalarId], boolean | undefined]>([
    ['i < 7', 'lt', [i, seven], true],
    ['i >= 7', 'ge', [i, seven], false],
    ['i < 5', 'lt', [i, five], undefined],
    ['j < s0', 'lt', [j, n], true],
    ['s0 <= j', 'le', [n, j], false],
    ['j = s0', 'eq', [j, n], false],
    ['j != s0', 'ne', [j, n], true],
    ['j > 5', 'gt', [j, five], undefined],
    ['a clamped value < s0', 'lt', [clamped, n], true],
    ['a byte < 5', 'lt', [byte, five], undefined],
    ['what may have wrapped >= 5', 'ge', [wrapped, five], undefined],
  ])('%s', (...[, op, args, answer]) => {
    expect(decidedBy(values, op, args)).toBe(answer);
  });

  test('of indices alone, loaded values are unknown', () => {
    expect(decidedBy(indices, 'lt', [clamped, n])).toBeUndefined();
    expect([values, indices].map((finder) => liesWithin(finder, clamped, size))).toEqual([true, false]);
    expect(liesWithin(values, byte, int(255))).toBe(false);
    expect(liesWithin(values, byte, int(256))).toBe(true);
  });
});
