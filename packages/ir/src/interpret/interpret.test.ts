// Maps, reductions and scans through both interpreters.
import { describe, expect, test } from '@jest/globals';
import { reductions } from '@tsinductor/ops';
import { floorDivide, modulo } from '../arithmetic/divide.ts';
import { minimum } from '../arithmetic/extremum.ts';
import { add, axisIndex, indirect, int, multiply, product, sizeSymbol, subtract } from '../arithmetic/polynomial.ts';
import type { Index } from '../index-expr.ts';
import type { CheckSite, LoopNode } from '../loop.ts';
import { interpretProgram, ProgramInterpreter } from './interpret-program.ts';
import { axis, flat, program, run, map, ramp, reduction, reduceBodies } from './test-support/run-loops.ts';
import type { Spec } from './test-support/run-loops.ts';

describe('maps', () => {
  const i = axis('i', 3000);
  test('contiguous, in f32 arithmetic', () => {
    const spec: Spec = {
      dtypes: ['f32', 'f32'],
      lengths: [3000, 3000],
      nodes: [
        map([i], axisIndex(i), (b) => {
          const x = b.load(0, 'f32', axisIndex(i));
          return b.apply('add', [b.apply('mul', [x, x]), b.constant(0.1, 'f32')]);
        }),
      ],
    };
    expect(run(spec, [ramp(3000, 0.3)])[7]).toBe(
      Math.fround(Math.fround(Math.fround(7 * 0.3) * Math.fround(7 * 0.3)) + Math.fround(0.1)),
    );
  });

  test.each([
    ['transposed', (r: Index, c: Index) => add(multiply(c, int(40)), r)],
    ['flipped', (r: Index, c: Index) => add(multiply(r, int(30)), subtract(int(29), c))],
    ['broadcast', (_: Index, c: Index) => c],
    ['one element', () => int(5)],
    [
      'reshaped',
      (r: Index, c: Index) =>
        add(
          multiply(modulo(add(multiply(r, int(30)), c), int(7)), int(3)),
          floorDivide(add(multiply(r, int(30)), c), int(7)),
        ),
    ],
    ['clamped', (r: Index, c: Index) => minimum(add(r, c), int(50))],
  ])('%s', (_, place) => {
    const [r, c] = [axis('r', 40), axis('c', 30)];
    const at2 = place(axisIndex(r), axisIndex(c));
    const spec: Spec = {
      dtypes: ['f32', 'f32'],
      lengths: [1200, 1200],
      nodes: [map([r, c], flat([r, c]), (b) => b.load(0, 'f32', at2))],
    };
    run(spec, [ramp(1200)]);
  });

  test('symbolic sizes, compiled again for others', () => {
    const [n, m] = [sizeSymbol('s0', 1), sizeSymbol('s1', 1)];
    const [r, c] = [axis('r', n), axis('c', m)];
    const transposed = add(multiply(axisIndex(c), n), axisIndex(r));
    const spec: Spec = {
      dtypes: ['f32', 'f32'],
      lengths: [product([n, m]), product([n, m])],
      sizes: ['s0', 's1'],
      nodes: [map([r, c], flat([r, c]), (b) => b.load(0, 'f32', transposed))],
    };
    expect([...run(spec, [ramp(6)], { s0: 2, s1: 3 })]).toEqual([0, 2, 4, 1, 3, 5]);
    const interpreter = new ProgramInterpreter(program(spec));
    for (const [s0, s1] of [
      [2, 3],
      [3, 2],
      [3, 0],
    ] as const) {
      const out = new Float32Array(s0 * s1);
      interpreter.run({
        buffers: new Map([
          [0, ramp(s0 * s1)],
          [1, out],
        ]),
        sizes: new Map([
          ['s0', s0],
          ['s1', s1],
        ]),
      });
      expect(out[1]).toBe(s1 === 0 ? undefined : s0);
    }
  });

  test('a mask keeps reads inside', () => {
    const spec: Spec = {
      dtypes: ['f32', 'f32'],
      lengths: [4, 8],
      nodes: [
        map([axis('i', 8)], axisIndex(axis('i', 8)), (b) => {
          const place = subtract(axisIndex(axis('i', 8)), int(2));
          const inside = [
            b.apply('ge', [b.index(place), b.constant(0, 'i64')]),
            b.apply('lt', [b.index(place), b.constant(4, 'i64')]),
          ];
          return b.load(0, 'f32', place, { mask: b.apply('logicalAnd', inside), other: b.constant(-1, 'f32') });
        }),
      ],
    };
    expect([...run(spec, [ramp(4)])]).toEqual([-1, -1, 0, 1, 2, 3, -1, -1]);
  });

  test('a gather wraps negative indices and refuses others, saying where', () => {
    const sites: CheckSite[] = [{ op: 'gather', what: 'index', location: { file: 'model.ts', line: 3 } }];
    const i4 = axis('i', 4);
    const gathered = map(
      [i4],
      axisIndex(i4),
      (b) =>
        b.load(0, 'f32', indirect(b.check(b.load(1, 'i64', axisIndex(i4)), int(4), { site: 0, wraps: true }), int(4))),
      2,
    );
    const spec: Spec = { dtypes: ['f32', 'i64', 'f32'], lengths: [4, 4, 4], nodes: [gathered], sites };
    expect([...run(spec, [ramp(4), BigInt64Array.of(3n, -1n, 0n, -4n)])]).toEqual([3, 3, 0, 0]);
    const call = (): unknown => run(spec, [ramp(4), BigInt64Array.of(3n, -1n, 4n, 0n)]);
    expect(call).toThrow(
      expect.objectContaining({
        code: 'INDEX_OUT_OF_RANGE',
        message: expect.stringContaining('gather: index 4 is out of range for a size of 4, at model.ts:3'),
      }),
    );
  });

  test('i64 keeps all its bits', () => {
    const i2 = axis('i', 2);
    const spec: Spec = {
      dtypes: ['i64', 'i64'],
      lengths: [2, 2],
      nodes: [
        map([i2], axisIndex(i2), (b) => b.apply('add', [b.load(0, 'i64', axisIndex(i2)), b.index(axisIndex(i2))])),
      ],
    };
    expect([...run(spec, [BigInt64Array.of(2n ** 62n + 1n, 2n ** 63n - 1n)])]).toEqual([2n ** 62n + 1n, -(2n ** 63n)]);
  });

  test('half precision is read and written as bits', () => {
    const i2 = axis('i', 2);
    const node = map([i2], axisIndex(i2), (b) =>
      b.cast(b.apply('mul', [b.cast(b.load(0, 'bf16', axisIndex(i2)), 'f32'), b.constant(1.5, 'f32')]), 'f16'),
    );
    expect([
      ...run({ dtypes: ['bf16', 'f16'], lengths: [2, 2], nodes: [node] }, [Uint16Array.of(0x3f80, 0xc000)]),
    ]).toEqual([0x3e00, 0xc200]);
  });
});

describe('reductions', () => {
  test.each([
    [1, 5000],
    [3, 1000],
    [700, 10],
    [2000, 3],
    [5, 1],
    [4, 0],
  ])('rows of %i x %i', (n, m) => {
    const [r, c] = [axis('r', n), axis('c', m)];
    const input = Float32Array.from({ length: n * m }, (_, k) => ((k * 7919) % 101) - 50);
    for (const name of ['sum', 'argmax'] as const) {
      if (m === 0 && name === 'argmax') continue;
      const dtype = reductions[name].result('f32');
      const node = reduction(name, 'f32', { kept: [r], over: [c], place: flat([r, c]) });
      const result = run({ dtypes: ['f32', dtype], lengths: [n * m, n], nodes: [node] }, [input]);
      const row = [...input.subarray((n - 1) * m)];
      const wanted = name === 'sum' ? row.reduce((a, b) => a + b, 0) : BigInt(row.indexOf(Math.max(...row)));
      expect(result[n - 1]).toBe(wanted);
    }
  });

  test('columns, and over two axes', () => {
    const [r, c, d] = [axis('r', 30), axis('c', 20), axis('d', 50)];
    const place = add(multiply(axisIndex(c), int(1500)), add(multiply(axisIndex(r), int(50)), axisIndex(d)));
    const node = reduction('sum', 'f32', { kept: [r], over: [c, d], place });
    run({ dtypes: ['f32', 'f32'], lengths: [30_000, 30], nodes: [node] }, [ramp(30_000, 1 / 1024)]);
  });

  test('a sum in lanes is more exact than one in order', () => {
    const c = axis('c', 100_000);
    const node = reduction('sum', 'f32', { kept: [], over: [c], place: axisIndex(c) });
    const made = program({ dtypes: ['f32', 'f32'], lengths: [100_000, 1], nodes: [node] });
    const out = new Float32Array(1);
    interpretProgram(made, {
      buffers: new Map([
        [0, new Float32Array(100_000).fill(0.1)],
        [1, out],
      ]),
      sizes: new Map(),
    });
    expect(Math.abs((out[0] ?? 0) - 10_000)).toBeLessThan(0.01);
  });
});

describe('scans', () => {
  test.each([
    [1, 3000],
    [40, 70],
    [2000, 3],
  ])('%i rows of %i', (n, m) => {
    const [r, c] = [axis('r', n), axis('c', m)];
    const bodies = reduceBodies('sum', 'f32', (b) => b.load(0, 'f32', flat([r, c])), axisIndex(c));
    const node: LoopNode = {
      id: 0,
      kind: 'scan',
      outs: [1],
      writes: [flat([r, c])],
      axes: [r],
      over: [c],
      origins: [],
      ...bodies,
    };
    const result = run({ dtypes: ['f32', 'f32'], lengths: [n * m, n * m], nodes: [node] }, [
      new Float32Array(n * m).fill(0.5),
    ]);
    expect(result[n * m - 1]).toBe(m / 2);
    expect(result[0]).toBe(0.5);
  });
});
