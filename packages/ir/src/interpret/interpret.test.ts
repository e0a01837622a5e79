import { describe, expect, test } from '@jest/globals';
import { at, dtypeInfo } from '@tsinductor/base';
import fc from 'fast-check';
import type { DType } from '@tsinductor/base';
import { pointwise, reductions } from '@tsinductor/ops';
import type { PointwiseName, ReductionName } from '@tsinductor/ops';
import { floorDivide, modulo } from '../arithmetic/divide.ts';
import { minimum } from '../arithmetic/extremum.ts';
import { add, axisIndex, indirect, int, multiply, product, sizeSymbol, subtract } from '../arithmetic/polynomial.ts';
import { BodyBuilder } from '../body/body-builder.ts';
import type { Axis, Index } from '../index-expr.ts';
import type { BufferDecl, CheckSite, LoopNode, LoopProgram } from '../loop.ts';
import type { Body, ScalarId } from '../scalar.ts';
import type { Schedule } from '../schedule.ts';
import { allocateElements, clearElements } from './element-array.ts';
import type { ElementArray } from './element-array.ts';
import { interpretProgram, ProgramInterpreter } from './interpret-program.ts';
import { interpretSchedule } from './interpret-schedule.ts';

const axis = (name: string, extent: number | Index): Axis => ({
  name,
  extent: typeof extent === 'number' ? int(extent) : extent,
});
const flat = (axes: readonly Axis[]): Index =>
  axes.reduce<Index>((all, one) => add(multiply(all, one.extent), axisIndex(one)), int(0));

interface Spec {
  readonly dtypes: readonly DType[];
  readonly lengths: readonly (number | Index)[];
  /** The last buffers are outputs. */
  readonly outputs?: number;
  readonly nodes: readonly LoopNode[];
  readonly sizes?: readonly string[];
  readonly sites?: readonly CheckSite[];
}

function program({ dtypes, lengths, outputs = 1, nodes, sizes = [], sites = [] }: Spec): LoopProgram {
  const inputs = dtypes.length - outputs;
  const buffers = dtypes.map((dtype, id): BufferDecl => {
    const length = at(lengths, id);
    const size = typeof length === 'number' ? int(length) : length;
    return {
      id,
      name: `b${String(id)}`,
      dtype,
      shape: [size],
      strides: [int(1)],
      size,
      role: id < inputs ? 'input' : 'output',
    };
  });
  const ids = buffers.map(({ id }) => id);
  return { buffers, inputs: ids.slice(0, inputs), outputs: ids.slice(inputs), nodes, sizes, sites };
}

function run(spec: Spec, inputs: readonly ElementArray[], sizes: Readonly<Record<string, number>> = {}): ElementArray {
  const made = program(spec);
  const values = new Map(Object.entries(sizes));
  const lengthOf = (length: number | Index): number => (typeof length === 'number' ? length : evaluate(length, values));
  const outputs = made.outputs.map((id) => allocateElements(at(spec.dtypes, id), lengthOf(at(spec.lengths, id))));
  const memory = { buffers: new Map([...inputs, ...outputs].map((array, id) => [id, array])), sizes: values };
  interpretProgram(made, memory);
  const [vector] = outputs;
  if (vector === undefined) throw new RangeError('a program without outputs');
  const copy = vector.slice();
  clearElements(vector);
  interpretSchedule(oneGroupEach(made), memory);
  expectClose(vector, copy);
  return copy;
}

const evaluate = (index: Index, sizes: ReadonlyMap<string, number>): number =>
  index.kind === 'product'
    ? index.items.reduce((all, item) => all * evaluate(item, sizes), 1)
    : index.kind === 'int'
      ? index.value
      : (sizes.get((index as { name: string }).name) ?? 0);

function expectClose(a: ElementArray, b: ElementArray): void {
  expect(a.length).toBe(b.length);
  a.forEach((value, k) => {
    if (typeof value === 'bigint' || Number.isNaN(value)) expect(value).toEqual(b[k]);
    else expect(value).toBeCloseTo(Number(b[k]), 4);
  });
}

const oneGroupEach = (made: LoopProgram): Schedule => ({
  program: made,
  groups: made.nodes.map((node, id) => ({
    id,
    name: `group${String(id)}`,
    nodes: [node],
    nest: {
      kind: 'loops',
      loops: [
        ...node.axes.map((one) => ({ axis: one, role: 'parallel' as const })),
        ...(node.kind === 'reduce' || node.kind === 'scan' ? node.over : node.kind === 'contract' ? [node.k] : []).map(
          (one) => ({ axis: one, role: 'reduction' as const }),
        ),
      ],
      children: [{ kind: 'node', node: 0 }],
    },
    locals: [],
    reads: [],
    writes: node.outs,
  })),
  buffers: [],
  workspaceBytes: int(0),
  decisions: [],
});

const body = (build: (b: BodyBuilder) => ScalarId | readonly ScalarId[]): Body => {
  const builder = new BodyBuilder();
  const results = build(builder);
  return builder.finish(typeof results === 'number' ? [results] : results);
};
// eslint-disable-next-line max-params -- a test's shorthand
const map = (axes: readonly Axis[], write: Index, build: (b: BodyBuilder) => ScalarId, out = 1): LoopNode => ({ id: 0, kind: 'map', outs: [out], writes: [write], axes, origins: [], body: body(build) }); // prettier-ignore

const ramp = (length: number, by = 1): Float32Array => Float32Array.from({ length }, (_, k) => k * by);

describe('maps', () => {
  const i = axis('i', 3000);
  test('contiguous, in f32 arithmetic', () => {
    const spec: Spec = { dtypes: ['f32', 'f32'], lengths: [3000, 3000], nodes: [map([i], axisIndex(i), (b) => { const x = b.load(0, 'f32', axisIndex(i)); return b.apply('add', [b.apply('mul', [x, x]), b.constant(0.1, 'f32')]); })] }; // prettier-ignore
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
      // prettier-ignore
      const out = new Float32Array(s0 * s1);
      interpreter.run({ buffers: new Map([[0, ramp(s0 * s1)], [1, out]]), sizes: new Map([['s0', s0], ['s1', s1]]) }); // prettier-ignore
      expect(out[1]).toBe(s1 === 0 ? undefined : s0);
    }
  });

  test('a mask keeps reads inside', () => {
    const spec: Spec = {
      dtypes: ['f32', 'f32'],
      lengths: [4, 8],
      nodes: [map([axis('i', 8)], axisIndex(axis('i', 8)), (b) => {
        const place = subtract(axisIndex(axis('i', 8)), int(2));
        const inside = [b.apply('ge', [b.index(place), b.constant(0, 'i64')]), b.apply('lt', [b.index(place), b.constant(4, 'i64')])];
        return b.load(0, 'f32', place, { mask: b.apply('logicalAnd', inside), other: b.constant(-1, 'f32') });
      })], // prettier-ignore
    };
    expect([...run(spec, [ramp(4)])]).toEqual([-1, -1, 0, 1, 2, 3, -1, -1]);
  });

  test('a gather wraps negative indices and refuses others, saying where', () => {
    const sites: CheckSite[] = [{ op: 'gather', what: 'index', location: { file: 'model.ts', line: 3 } }];
    const i4 = axis('i', 4);
    const gathered = map([i4], axisIndex(i4), (b) => b.load(0, 'f32', indirect(b.check(b.load(1, 'i64', axisIndex(i4)), int(4), 0), int(4))), 2); // prettier-ignore
    const spec: Spec = { dtypes: ['f32', 'i64', 'f32'], lengths: [4, 4, 4], nodes: [gathered], sites };
    expect([...run(spec, [ramp(4), BigInt64Array.of(3n, -1n, 0n, -4n)])]).toEqual([3, 3, 0, 0]);
    const call = (): unknown => run(spec, [ramp(4), BigInt64Array.of(3n, -1n, 4n, 0n)]);
    expect(call).toThrow(expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE', message: expect.stringContaining('gather: index 4 is out of range for a size of 4, at model.ts:3') })); // prettier-ignore
  });

  test('i64 keeps all its bits', () => {
    const i2 = axis('i', 2);
    const spec: Spec = { dtypes: ['i64', 'i64'], lengths: [2, 2], nodes: [map([i2], axisIndex(i2), (b) => b.apply('add', [b.load(0, 'i64', axisIndex(i2)), b.index(axisIndex(i2))]))] }; // prettier-ignore
    expect([...run(spec, [BigInt64Array.of(2n ** 62n + 1n, 2n ** 63n - 1n)])]).toEqual([2n ** 62n + 1n, -(2n ** 63n)]);
  });

  test('half precision is read and written as bits', () => {
    const i2 = axis('i', 2);
    const node = map([i2], axisIndex(i2), (b) => b.cast(b.apply('mul', [b.cast(b.load(0, 'bf16', axisIndex(i2)), 'f32'), b.constant(1.5, 'f32')]), 'f16')); // prettier-ignore
    expect([
      ...run({ dtypes: ['bf16', 'f16'], lengths: [2, 2], nodes: [node] }, [Uint16Array.of(0x3f80, 0xc000)]),
    ]).toEqual([0x3e00, 0xc200]);
  });
});

const reduceBodies = (
  name: ReductionName,
  dtype: DType,
  load: (b: BodyBuilder) => ScalarId,
  position: Index,
  // eslint-disable-next-line max-params -- a test's shorthand
): Pick<Extract<LoopNode, { kind: 'reduce' }>, 'state' | 'init' | 'step' | 'merge' | 'finish'> => {
  const op = reductions[name];
  const state = op.state(dtype);
  const named = (b: BodyBuilder, letter: string, first = 0): Record<string, ScalarId> =>
    Object.fromEntries(state.map((one, slot) => [`${letter}${String(slot)}`, b.carried(first + slot, one)]));
  const terms = (b: BodyBuilder, list: ReturnType<typeof op.init>, bindings: Record<string, ScalarId>): ScalarId[] =>
    list.map((term, slot) => b.inlineTerm(term, bindings, at(state, slot)));
  return {
    state,
    init: body((b) => terms(b, op.init(dtype), {})),
    step: body((b) =>
      terms(b, op.step(dtype), { ...named(b, 's'), x: b.cast(load(b), op.accumulate(dtype)), i: b.index(position) }),
    ),
    merge: body((b) => terms(b, op.merge(dtype), { ...named(b, 'a'), ...named(b, 'b', state.length) })),
    finish: body((b) => b.inlineTerm(op.finish(dtype), named(b, 's'), dtypeInfo[op.result(dtype)].compute)),
  };
};

function reduction(
  name: ReductionName,
  dtype: DType,
  { kept, over, place }: { kept: readonly Axis[]; over: readonly Axis[]; place: Index },
): LoopNode {
  const bodies = reduceBodies(name, dtype, (b) => b.load(0, dtype, place), flat(over));
  return { id: 0, kind: 'reduce', outs: [1], writes: [flat(kept)], axes: kept, over, origins: [], ...bodies };
}

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
    interpretProgram(made, { buffers: new Map([[0, new Float32Array(100_000).fill(0.1)], [1, out]]), sizes: new Map() }); // prettier-ignore
    expect(Math.abs((out[0] ?? 0) - 10_000)).toBeLessThan(0.01);
  });
});

describe('scans', () => {
  test.each([
    [1, 3000],
    [40, 70],
    [2000, 3],
  ])('%i rows of %i', (n, m) => {
    // prettier-ignore
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

describe('scatters', () => {
  test.each([
    ['set', [5, 1, 0]],
    ['add', [7, 1, 0]],
    ['multiply', [0, 0, 0]],
    ['max', [4, 1, 0]],
  ] as const)('%s', (mode, wanted) => {
    const i = axis('i', 4);
    const node: LoopNode = {
      id: 0, kind: 'scatter', mode, outs: [2], axes: [i], origins: [], writes: [indirect(1, int(3))],
      body: body((b) => [b.apply('neg', [b.apply('neg', [b.load(0, 'f32', axisIndex(i))])]), b.check(b.load(1, 'i64', axisIndex(i)), int(3), 0)]),
    }; // prettier-ignore
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
      id: 0, kind: 'contract', outs: [2], axes: [batch, m, n], writes: [flat([batch, m, n])], origins: [], batch: [batch], m, n, k, accumulate,
      a: { buffer: 0, at: flat([batch, m, k]) }, b: { buffer: 1, at: flat([batch, n, k]) },
    }; // prettier-ignore
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
      const node = map([i], axisIndex(i), (b) => b.apply(name, operands.map((one, buffer) => b.load(buffer, one, axisIndex(i)))), operands.length); // prettier-ignore
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
