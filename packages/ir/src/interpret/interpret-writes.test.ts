// Scatters, contractions, and what else the interpreters do with several writes and programs.
import { describe, expect, test } from '@jest/globals';
import { at, dtypeInfo } from '@tsinductor/base';
import fc from 'fast-check';
import { pointwise } from '@tsinductor/ops';
import type { PointwiseName } from '@tsinductor/ops';
import { floorDivide, modulo } from '../arithmetic/divide.ts';
import { add, axisIndex, indirect, int, multiply, product } from '../arithmetic/polynomial.ts';
import type { Index } from '../index-expr.ts';
import type { LoopNode } from '../loop.ts';
import { allocateElements } from './element-array.ts';
import type { ElementArray } from './element-array.ts';
import { interpretProgram } from './interpret-program.ts';
import { interpretSchedule } from './interpret-schedule.ts';
import { axis, flat, program, run, oneGroupEach, body, map, ramp, reduction } from './test-support/run-loops.ts';
import type { Spec } from './test-support/run-loops.ts';

describe('scatters', () => {
  test.each([
    ['set', [5, 1, 0]],
    ['add', [7, 1, 0]],
    ['multiply', [0, 0, 0]],
    ['max', [4, 1, 0]],
  ] as const)('%s', (mode, wanted) => {
    const i = axis('i', 4);
    const node: LoopNode = {
      id: 0,
      kind: 'scatter',
      mode,
      outs: [2],
      axes: [i],
      origins: [],
      writes: [indirect(1, int(3))],
      body: body((b) => [
        b.apply('neg', [b.apply('neg', [b.load(0, 'f32', axisIndex(i))])]),
        b.check(b.load(1, 'i64', axisIndex(i)), int(3), { site: 0, wraps: true }),
      ]),
    };
    const index = node.body.results[1] ?? 0;
    const scattered: LoopNode = { ...node, writes: [indirect(index, int(3))] };
    const spec: Spec = {
      dtypes: ['f32', 'i64', 'f32'],
      lengths: [4, 4, 3],
      nodes: [scattered],
      sites: [{ op: 'scatter', what: 'index' }],
    };
    const values = Float32Array.of(3, 1, 4, mode === 'set' ? 5 : 0);
    expect([...run(spec, [values, BigInt64Array.of(0n, 1n, 0n, -3n)])]).toEqual(wanted);
  });
});

test('random accesses and reductions agree with the definition', () => {
  const extents = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 });
  const place = fc.array(fc.tuple(fc.integer({ min: -7, max: 7 }), fc.integer({ min: 1, max: 4 })), {
    minLength: 4,
    maxLength: 4,
  });
  fc.assert(
    // eslint-disable-next-line max-params -- a test's shorthand
    fc.property(extents, place, fc.nat(4), fc.nat(3), (lengths, steps, kept, shift) => {
      const axes = lengths.map((length, position) => axis('ijkl'[position] ?? '', length));
      const sum = axes.reduce<Index>((all, one, position) => {
        const [stride, divisor] = at(steps, position);
        return add(all, multiply(floorDivide(axisIndex(one), int(divisor)), int(stride)));
      }, int(shift));
      const [outer, over] = [axes.slice(0, kept), axes.slice(kept)];
      const read = modulo(sum, int(50));
      if (over.length === 0) {
        run(
          {
            dtypes: ['f32', 'f32'],
            lengths: [50, product(axes.map(({ extent }) => extent))],
            nodes: [map(axes, flat(axes), (b) => b.load(0, 'f32', read))],
          },
          [ramp(50)],
        );
        return;
      }
      const node = reduction('sum', 'f32', { kept: outer, over, place: read });
      run(
        {
          dtypes: ['f32', 'f32'],
          lengths: [50, outer.reduce((all, { extent }) => all * (extent.kind === 'int' ? extent.value : 0), 1)],
          nodes: [node],
        },
        [ramp(50)],
      );
    }),
    { numRuns: 150 },
  );
});

describe('contractions', () => {
  test.each(['f32', 'f16', 'i64', 'i32', 'u8'] as const)('%s, batched and transposed', (dtype) => {
    const [batch, m, n, k] = [axis('b', 2), axis('m', 5), axis('n', 7), axis('k', 6)];
    const accumulate = dtypeInfo[dtype].compute;
    const node: LoopNode = {
      id: 0,
      kind: 'contract',
      outs: [2],
      axes: [batch, m, n],
      writes: [flat([batch, m, n])],
      origins: [],
      batch: [batch],
      m,
      n,
      over: [k],
      accumulate,
      a: { buffer: 0, at: flat([batch, m, k]) },
      b: { buffer: 1, at: flat([batch, n, k]) },
    };
    const values = (length: number): ElementArray => {
      const array = allocateElements(dtype, length);
      for (let p = 0; p < length; p += 1)
        (array as Record<number, unknown>)[p] = dtype === 'i64' ? BigInt(p) ** 9n : dtype === 'f16' ? 0x3c00 + p : p;
      return array;
    };
    run({ dtypes: [dtype, dtype, dtype], lengths: [60, 84, 70], nodes: [node] }, [values(60), values(84)]);
  });
});

test('every op of the table: vectors compute what the evaluator says', () => {
  const i = axis('i', 300);
  const specials = [
    0,
    -0,
    1,
    -1,
    0.5,
    2,
    -2.5,
    3,
    100,
    1e-40,
    1e30,
    -1e30,
    Infinity,
    -Infinity,
    NaN,
    127,
    -128,
    255,
    65_536,
    -2_147_483_648,
  ];
  for (const name of Object.keys(pointwise) as PointwiseName[]) {
    const entry = pointwise[name];
    const dtypes = (['f32', 'f64', 'i32', 'i64', 'u8', 'bool'] as const).filter(
      (dtype) => entry.accepts?.includes(dtype) ?? true,
    );
    for (const dtype of dtypes) {
      if (entry.rule === 'promoteToFloat' && !dtype.startsWith('f')) continue;
      const operand = entry.rule === 'logical' ? 'bool' : dtype;
      const operands = Array.from({ length: entry.arity }, (_, position) =>
        entry.rule === 'select' && position === 0 ? 'bool' : operand,
      );
      const inputs = operands.map((one, position) => {
        const array = allocateElements(one, 300);
        for (let p = 0; p < 300; p += 1) {
          const value = specials[(p * (position * 3 + 1) + position) % specials.length] ?? 0;
          const whole = Number.isFinite(value) ? Math.trunc(value) : 7;
          (array as Record<number, unknown>)[p] =
            one === 'i64' ? BigInt(whole) : one === 'bool' ? Number(whole > 0) : one.startsWith('f') ? value : whole;
        }
        return array;
      });
      const node = map(
        [i],
        axisIndex(i),
        (b) =>
          b.apply(
            name,
            operands.map((one, buffer) => b.load(buffer, one, axisIndex(i))),
          ),
        operands.length,
      );
      const result = node.kind === 'map' ? at(node.body.nodes, at(node.body.results, 0)).dtype : dtype;
      const made = program({
        dtypes: [...operands, result],
        lengths: [...operands.map(() => 300), 300],
        nodes: [node],
      });
      const [fast, slow] = [allocateElements(result, 300), allocateElements(result, 300)];
      const memory = (out: ElementArray): { buffers: Map<number, ElementArray>; sizes: Map<string, number> } => ({
        buffers: new Map([...inputs, out].map((array, id) => [id, array])),
        sizes: new Map(),
      });
      interpretProgram(made, memory(fast));
      interpretSchedule(oneGroupEach(made), memory(slow));
      expect([name, dtype, [...fast]]).toEqual([name, dtype, [...slow]]);
    }
  }
});
