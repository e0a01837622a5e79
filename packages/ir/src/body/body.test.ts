import { describe, expect, test } from '@jest/globals';
import { add, axisIndex, indirect, int, multiply, sizeSymbol, subtract } from '../arithmetic/polynomial.ts';
import type { Axis } from '../index-expr.ts';
import { printBody } from '../print/print-body.ts';
import type { Body } from '../scalar.ts';
import { BodyBuilder } from './body-builder.ts';
import { inlineLoad } from './inline-load.ts';
import { expandDecompositions, mapBody, removeDead, substituteAxes } from './replay-body.ts';
import { countOperations, loadsOf } from './traverse-body.ts';

const i: Axis = { name: 'i', extent: int(8) };
const j: Axis = { name: 'j', extent: int(4) };
const [x, y] = [0, 1];
const names = { buffer: (id: number): string => 'xyzw'[id] ?? '?' };
const text = (body: Body): string => printBody(body, names).trim();

describe('BodyBuilder', () => {
  test('numbers values: the same node twice is one node', () => {
    const body = new BodyBuilder();
    const a = body.load(x, 'f32', axisIndex(i));
    expect(body.load(x, 'f32', axisIndex(i))).toBe(a);
    expect(body.apply('add', [a, a])).toBe(body.apply('add', [a, a]));
    expect(body.load(y, 'f32', axisIndex(i))).not.toBe(a);
  });

  test('drops what results do not need', () => {
    const body = new BodyBuilder();
    body.load(y, 'f32', axisIndex(i));
    const a = body.load(x, 'f32', axisIndex(i));
    expect(body.finish([a])).toEqual({
      nodes: [{ kind: 'load', dtype: 'f32', buffer: x, at: axisIndex(i) }],
      results: [0],
    });
  });

  test('folds constants bit for bit', () => {
    const body = new BodyBuilder();
    const sum = body.apply('add', [body.constant(0.1, 'f32'), body.constant(0.2, 'f32')]);
    expect(body.constantOf(sum)).toBe(Math.fround(Math.fround(0.1) + Math.fround(0.2)));
    const wrapped = body.apply('add', [body.constant(2n ** 63n - 1n, 'i64'), body.constant(1, 'i64')]);
    expect(body.constantOf(wrapped)).toEqual({ bigint: String(-(2n ** 63n)) });
    expect(body.constantOf(body.apply('lt', [body.constant(NaN, 'f32'), body.constant(1, 'f32')]))).toBe(0);
    expect(body.constantOf(body.constant(-0, 'f32'))).toBe('-0');
    expect(body.constantOf(body.cast(body.constant(2.5, 'f32'), 'i64'))).toEqual({ bigint: '2' });
  });

  test.each([
    ['f16', 'f32', true],
    ['f32', 'f16', false],
    ['i8', 'f32', true],
    ['i32', 'f32', false],
    ['u8', 'i8', false],
    ['bool', 'i64', true],
  ] as const)('a cast from %s to %s and back vanishes: %s', (from, to, vanishes) => {
    const body = new BodyBuilder();
    const a = body.load(x, from, axisIndex(i));
    expect(body.cast(body.cast(a, to), from) === a).toBe(vanishes);
  });

  test('refuses operands of two dtypes', () => {
    const body = new BodyBuilder();
    const operands = [body.load(x, 'f32', axisIndex(i)), body.constant(1, 'f64')];
    expect(() => body.apply('add', operands)).toThrow('add(f32, f64): operands must have one dtype');
  });

  test('drops a check that ranges decide, and names the node else', () => {
    const body = new BodyBuilder();
    const known = body.index(axisIndex(i));
    const checked = { site: 0, wraps: false };
    expect(body.check(known, int(8), checked)).toBe(known);
    expect(body.check(known, int(7), checked)).not.toBe(known);
    expect(body.constantOf(body.check(body.constant(-1, 'i64'), int(8), { site: 0, wraps: true }))).toEqual({
      bigint: '7',
    });
  });

  test('a mask that is known decides', () => {
    const body = new BodyBuilder();
    const [on, off] = [body.constant(true, 'bool'), body.constant(false, 'bool')];
    expect(body.load(x, 'f32', axisIndex(i), { mask: on })).toBe(body.load(x, 'f32', axisIndex(i)));
    expect(body.constantOf(body.load(x, 'f32', axisIndex(i), { mask: off }))).toBe(0);
  });
});

const exponential = (): Body => {
  const body = new BodyBuilder();
  const a = body.load(x, 'f32', add(multiply(axisIndex(i), int(4)), axisIndex(j)));
  return body.finish([body.apply('exp', [body.apply('sub', [a, body.load(y, 'f32', axisIndex(i))])])]);
};

describe('bodies', () => {
  test('print as expressions', () => {
    expect(text(exponential())).toBe('give exp(x[i * 4 + j] - y[i])');
  });

  test('replace axes', () => {
    const flipped = substituteAxes(exponential(), new Map([['j', subtract(int(3), axisIndex(j))]]));
    expect(text(flipped)).toBe('give exp(x[i * 4 - j + 3] - y[i])');
    expect(substituteAxes(exponential(), new Map([['i', axisIndex(i)]]))).toEqual(exponential());
  });

  test('expand to primitives with shared parts shared', () => {
    const expanded = expandDecompositions(exponential());
    const ops = expanded.nodes.flatMap((node) => (node.kind === 'apply' ? [node.op] : []));
    expect(ops).not.toContain('exp');
    expect(ops.length).toBeGreaterThan(5);
    expect(new Set(expanded.nodes.map((node) => JSON.stringify(node))).size).toBe(expanded.nodes.length);
  });

  test('count operations and loads', () => {
    expect(countOperations(exponential())).toBeGreaterThan(5);
    expect(loadsOf(exponential()).map(({ buffer }) => buffer)).toEqual([x, y]);
  });

  test('lose dead nodes', () => {
    const body: Body = { ...exponential(), results: [0] };
    expect(text(removeDead(body))).toBe('give x[i * 4 + j]');
    expect(removeDead(exponential())).toEqual(exponential());
  });

  test('redirect states', () => {
    const body = new BodyBuilder();
    const sum = body.finish([body.apply('add', [body.carried(0, 'f32'), body.carried(1, 'f32')])]);
    const redirected = mapBody(sum, { carried: (slot, dtype, builder) => builder.carried(1 - slot, dtype) });
    expect(text(redirected)).toBe('give s1 + s0');
  });
});

describe('inlining a producer', () => {
  const square = (): Body => {
    const body = new BodyBuilder();
    const a = body.load(y, 'f32', axisIndex(j));
    return body.finish([body.apply('mul', [a, a])]);
  };
  const producer = {
    buffer: x,
    body: square(),
    result: 0,
    axes: [i, j],
    write: add(multiply(axisIndex(i), int(4)), axisIndex(j)),
  };

  test('substitutes the point that writes the element', () => {
    const body = new BodyBuilder();
    const consumer = body.finish([body.load(x, 'f32', add(multiply(axisIndex(i), int(4)), int(2)))]);
    const inlined = inlineLoad(consumer, producer);
    expect(inlined && text(inlined)).toBe('let t0 = y[2]\ngive t0 * t0');
  });

  test('through symbolic sizes', () => {
    const [rows, columns] = [sizeSymbol('s0', 1), sizeSymbol('s1', 1)];
    const [r, c] = [axisIndex({ name: 'r', extent: rows }), axisIndex({ name: 'c', extent: columns })];
    const p = new BodyBuilder();
    const written = {
      ...producer,
      body: p.finish([p.load(y, 'f32', c)]),
      axes: [
        { name: 'r', extent: rows },
        { name: 'c', extent: columns },
      ],
      write: add(multiply(r, columns), c),
    };
    const renamed = [axisIndex({ name: 'a', extent: rows }), axisIndex({ name: 'b', extent: columns })] as const;
    const body = new BodyBuilder();
    const consumer = body.finish([body.load(x, 'f32', add(multiply(renamed[0], columns), renamed[1]))]);
    const inlined = inlineLoad(consumer, written);
    expect(inlined && text(inlined)).toBe('give y[b]');
  });

  test('a masked load masks what the producer reads', () => {
    const body = new BodyBuilder();
    const place = subtract(axisIndex(i), int(1));
    const mask = body.apply('ge', [body.index(place), body.constant(0, 'i64')]);
    const consumer = body.finish([
      body.load(x, 'f32', multiply(place, int(4)), { mask, other: body.constant(5, 'f32') }),
    ]);
    const inlined = inlineLoad(consumer, producer);
    expect(inlined && text(inlined)).toBe(
      'let t0 = [i - 1] >= 0\nlet t1 = masked(t0, y[0])\ngive where(t0, t1 * t1, 5.0)',
    );
  });

  test('keeps loaded indices of the consumer', () => {
    const body = new BodyBuilder();
    const row = body.check(body.load(2, 'i64', axisIndex(j)), int(8), { site: 0, wraps: false });
    const consumer = body.finish([body.load(x, 'f32', add(multiply(indirect(row, int(8)), int(4)), axisIndex(j)))]);
    const inlined = inlineLoad(consumer, {
      ...producer,
      body: (() => {
        const b = new BodyBuilder();
        return b.finish([b.load(y, 'f32', axisIndex(i))]);
      })(),
    });
    expect(inlined && text(inlined)).toBe('give y[check(z[j], 8, #0)]');
  });

  test('is refused where the write cannot be inverted', () => {
    const body = new BodyBuilder();
    const consumer = body.finish([body.load(x, 'f32', axisIndex(i))]);
    expect(inlineLoad(consumer, { ...producer, write: multiply(axisIndex(i), int(8)) })).toBeUndefined();
  });
});
