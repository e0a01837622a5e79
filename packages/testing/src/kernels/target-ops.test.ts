// Ops of machines in the Kernel IR: their text, their laws, and what they give.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import {
  axisIndex,
  constantValue,
  int,
  mapKernel,
  printKernelIr,
  statementIndexes,
  statementValues,
  valueIndexes,
  verifyKernel,
} from '@tsinductor/ir';
import type { Access, Index, Kernel, Stmt, Value, ValueType } from '@tsinductor/ir';
import { interpretKernel } from './interpret-launch.ts';

const f32x4: ValueType = { dtype: 'f32', lanes: 4 };
const access = (buffer: string, more: Partial<Access> = {}): Access => ({
  buffer,
  at: int(0),
  step: int(1),
  align: 4,
  ...more,
});
const x: Value = { kind: 'load', type: f32x4, access: access('x') };
const three: Value = { kind: 'constant', type: f32x4, value: 3 };

const kernelOf = (value: Value): Kernel => ({
  name: 'sample',
  buffers: (['x', 'out'] as const).map((name, position) => ({
    name,
    dtype: 'f32',
    role: name === 'x' ? 'read' : 'write',
    storage: { kind: 'buffer', buffer: position },
    size: int(16),
    align: 64,
  })),
  sizes: [],
  body: [
    {
      kind: 'for',
      name: 'i',
      from: int(0),
      to: int(16),
      step: 4,
      body: [{ kind: 'store', access: access('out', { at: axisIndex({ name: 'i', extent: int(16) }) }), value }],
    },
  ],
  origins: [],
  notes: [],
});

function madeOf(value: Value): readonly number[] {
  const elements = Array.from({ length: 16 }, (_, place) => place + 0.25);
  const out = new Array<number>(16).fill(0);
  const memory = new Map([
    ['x', { dtype: 'f32' as const, elements }],
    ['out', { dtype: 'f32' as const, elements: out }],
  ]);
  const kernel = kernelOf(value);
  verifyKernel(kernel);
  interpretKernel(kernel, { memory, sizes: new Map(), chunk: 1 });
  return out.slice(0, 4);
}

const quotient = (more: Partial<Value & { readonly kind: 'target' }> = {}): Value => ({
  kind: 'target',
  op: 'quotientByProducts',
  args: [x, three],
  numbers: [Math.fround(0.333333313465118408203125), 1.98682149251203e-8, -100],
  type: f32x4,
  ...more,
});
const lawOf = (value: Value) => (): void => {
  verifyKernel(kernelOf(value));
};

describe('ops of machines', () => {
  test('have their numbers in the text', () => {
    expect(printKernelIr(kernelOf(quotient()))).toContain(
      'quotientByProducts(load<f32x4> x[0], 3:f32x4, high 0.3333333134651184, low 1.98682149251203e-8, least -100)',
    );
  });

  test('give what the ops that they stand for give', () => {
    const root: Value = { kind: 'target', op: 'rootByProducts', args: [x], numbers: [], type: f32x4 };
    const twice: Value = { kind: 'target', op: 'twice', args: [x], numbers: [], type: f32x4 };
    expect(madeOf(twice)).toEqual([0.5, 2.5, 4.5, 6.5]);
    expect(madeOf(root)).toEqual([0.25, 1.25, 2.25, 3.25].map((element) => Math.fround(Math.sqrt(element))));
    expect(madeOf(quotient())).toEqual([0.25, 1.25, 2.25, 3.25].map((element) => Math.fround(element / 3)));
  });

  test('have laws', () => {
    expect(lawOf(quotient({ args: [x] }))).toThrow('other operands than it has');
    expect(lawOf(quotient({ numbers: [1] }))).toThrow('other numbers than it has');
    expect(lawOf(quotient({ args: [], numbers: [], type: { dtype: 'f32', lanes: 1 } }))).toThrow('there is no');
  });
});

describe('loads by instructions of a machine', () => {
  const load = (more: Partial<Access>, by: 'permute' | 'gather'): Value => ({
    kind: 'load',
    type: f32x4,
    access: access('x', more),
    by,
  });
  const offsets: Value = { kind: 'index', type: { dtype: 'i32', lanes: 4 }, value: int(2), lane: 'i' };

  test('load the same lanes, and say so', () => {
    expect(printKernelIr(kernelOf(load({ step: int(3) }, 'permute')))).toContain('load<f32x4> x[0, by 3] by permute');
    expect(madeOf(load({ step: int(3) }, 'permute'))).toEqual([0.25, 3.25, 6.25, 9.25]);
    expect(madeOf(load({ step: int(3), count: int(2) }, 'permute'))).toEqual([0.25, 3.25, 0, 0]);
    expect(madeOf(load({ offsets }, 'gather'))).toEqual([2.25, 2.25, 2.25, 2.25]);
  });

  test('have laws', () => {
    expect(lawOf(load({}, 'gather'))).toThrow('only lanes at offsets are gathered');
    expect(lawOf(load({ offsets }, 'permute'))).toThrow('only lanes at a known step');
  });
});

test('a kernel that nothing changes is the same one, and values inside of values change first', () => {
  const kernel = kernelOf(quotient());
  expect(mapKernel(kernel, { value: (value) => value, statement: (statement) => statement })).toBe(kernel);
  const seen: string[] = [];
  const changed = mapKernel(kernel, {
    value: (value) => {
      seen.push(value.kind);
      return value.kind === 'constant' ? { ...value, value: 5 } : value;
    },
    statement: (statement) => {
      seen.push(statement.kind);
      return statement;
    },
  });
  expect(seen).toEqual(['load', 'constant', 'target', 'store', 'for']);
  expect(printKernelIr(changed)).toContain('5:f32x4');
});

test('index expressions of statements and of values change, wherever they stand', () => {
  const place = { buffer: 'x', at: int(1), step: int(1), align: 4 };
  const loaded: Value = { kind: 'load', type: f32x4, access: { ...place, at: int(2), step: int(3), count: int(4) } };
  const corner = { buffer: 'x', at: int(20), step: int(21) };
  const statements: readonly Stmt[] = [
    { kind: 'store', access: { ...place, at: int(5), step: int(6), count: int(7) }, value: loaded },
    { kind: 'prefetch', buffer: 'x', at: int(8), intent: 'read' },
    { kind: 'for', name: 'i', from: int(9), to: int(10), step: int(11), body: [] },
    { kind: 'if', test: { kind: 'less', left: int(12), right: int(13) }, then: [] },
    { kind: 'parallel', begin: 'b', end: 'e', total: int(14), grain: int(15), body: [] },
    {
      kind: 'check',
      name: 'c',
      value: { kind: 'index', type: f32x4, value: int(16) },
      extent: int(17),
      count: int(18),
      site: 0,
      wraps: true,
    },
    { kind: 'transpose', dtype: 'f32', from: corner, to: corner, rows: int(22), columns: int(23), tile: 8 },
    { kind: 'copyAsync', dtype: 'f32', lanes: 4, from: corner, to: corner },
  ];
  for (const statement of statements) {
    const kernel = { ...kernelOf(loaded), body: [statement] };
    const changed = at(
      mapKernel(kernel, { index: (index) => (index.kind === 'int' ? int(index.value + 100) : index) }).body,
      0,
    );
    const indexesOf = (one: Stmt): readonly Index[] => [
      ...statementIndexes(one),
      ...statementValues(one).flatMap(valueIndexes),
    ];
    const [before, after] = [statement, changed].map((one) =>
      indexesOf(one).map((index) => Number(constantValue(index))),
    );
    expect(after).toEqual(before?.map((value) => value + 100));
  }
});
