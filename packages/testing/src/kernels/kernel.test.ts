// The Kernel IR by itself: its text, its laws, and what its interpreter sees.
import { describe, expect, test } from '@jest/globals';
import { axisIndex, int, printKernelIr, removeDeadLets, verifyKernel } from '@tsinductor/ir';
import type { Access, Index, Kernel, KernelBuffer, Stmt, Value, ValueType } from '@tsinductor/ir';
import { interpretKernel } from './interpret-launch.ts';
import type { KernelMemory } from './kernel-run.ts';

const f32x4: ValueType = { dtype: 'f32', lanes: 4 };
const f32: ValueType = { dtype: 'f32', lanes: 1 };
const index = (name: string): Index => axisIndex({ name, extent: int(1000) });
const access = (buffer: string, at: Index, more: Partial<Access> = {}): Access => ({
  buffer,
  at,
  step: int(1),
  align: 4,
  ...more,
});
const load = (buffer: string, at: Index, more: Partial<Access> = {}): Value => ({
  kind: 'load',
  type: f32x4,
  access: access(buffer, at, more),
});
const name = (text: string, type: ValueType = f32x4): Value => ({ kind: 'name', name: text, type });
const buffer = (text: string, role: KernelBuffer['role'], size: number): KernelBuffer => ({
  name: text,
  dtype: 'f32',
  role,
  storage: { kind: 'buffer', buffer: 0 },
  size: int(size),
  align: 64,
});

const kernelOf = (body: readonly Stmt[], size = 8): Kernel => ({
  name: 'sample',
  buffers: [buffer('x', 'read', size), buffer('out', 'readWrite', size)],
  sizes: [],
  body,
  origins: [],
  notes: [],
});

/** out := x + x, four lanes at a time, with a partial last vector. */
const doubling = (size: number): Kernel =>
  kernelOf(
    [
      {
        kind: 'parallel',
        begin: 'begin',
        end: 'end',
        total: int(Math.ceil(size / 4)),
        grain: int(1),
        body: [
          {
            kind: 'for',
            name: 'i',
            from: index('begin'),
            to: index('end'),
            step: 1,
            body: [
              { kind: 'let', name: 'x_1', value: load('x', times4('i'), { count: left('i', size) }) },
              {
                kind: 'store',
                access: access('out', times4('i'), { count: left('i', size) }),
                value: { kind: 'apply', op: 'add', args: [name('x_1'), name('x_1')], type: f32x4 },
              },
            ],
          },
        ],
      },
    ],
    size,
  );

const times4 = (axis: string): Index => ({ kind: 'product', items: [int(4), index(axis)] });
const left = (axis: string, size: number): Index => ({
  kind: 'sum',
  items: [{ kind: 'product', items: [int(-4), index(axis)] }, int(size)],
});

const memory = (values: readonly (number | undefined)[]): KernelMemory => ({ dtype: 'f32', elements: [...values] });

describe('kernel text', () => {
  test('says types, accesses and loops', () => {
    expect(printKernelIr(doubling(6))).toBe(
      [
        'kernel sample {',
        '  read x: f32[6]',
        '  readWrite out: f32[6]',
        '  parallel begin .. end of 2 grain 1 {',
        '    for i in begin .. end {',
        '      let x_1: f32x4 = load<f32x4> x[i * 4, first 6 - i * 4]',
        '      store out[i * 4, first 6 - i * 4] = add(x_1, x_1)',
        '    }',
        '  }',
        '}',
        '',
      ].join('\n'),
    );
  });
});

describe('the verifier', () => {
  const broken: readonly [string, readonly Stmt[]][] = [
    ['y is used before it is defined', [{ kind: 'store', access: access('out', int(0)), value: name('y') }]],
    ['x is only read', [{ kind: 'store', access: access('x', int(0)), value: load('x', int(0)) }]],
    ['there is no memory z', [{ kind: 'let', name: 'y', value: load('z', int(0)) }]],
    [
      'operands have other lanes than the result',
      [
        { kind: 'let', name: 'y', value: { kind: 'constant', value: 1, type: f32 } },
        { kind: 'let', name: 'z', value: { kind: 'apply', op: 'neg', args: [name('y', f32)], type: f32x4 } },
      ],
    ],
    ['y is not a variable', [{ kind: 'let', name: 'y', value: load('x', int(0)) }, { kind: 'set', name: 'y', value: load('x', int(0)) }]], // prettier-ignore
    ['y is defined twice', [{ kind: 'let', name: 'y', value: load('x', int(0)) }, { kind: 'let', name: 'y', value: load('x', int(0)) }]], // prettier-ignore
    [
      'a parallel loop stands inside another statement',
      [{ kind: 'for', name: 'i', from: int(0), to: int(2), step: 1, body: doubling(8).body }],
    ],
    [
      'only whole, contiguous vectors are stored so',
      [
        {
          kind: 'store',
          access: access('out', int(0), { count: int(2) }),
          value: load('x', int(0)),
          hint: 'non-temporal',
        },
      ],
    ],
  ];

  test.each(broken)('says: %s', (law, body) => {
    expect(() => {
      verifyKernel(kernelOf(body));
    }).toThrow(law);
  });

  test('accepts a kernel that keeps the laws', () => {
    verifyKernel(doubling(6));
    expect(printKernelIr(doubling(6))).toContain('parallel');
  });
});

describe('the interpreter', () => {
  test('runs chunks in any order, and touches no lane that is not there', () => {
    for (const chunk of [1, 2]) {
      const out = memory(new Array<undefined>(6).fill(undefined));
      const x = memory([1, 2, 3, 4, 5, 6]);
      expect(
        interpretKernel(doubling(6), {
          memory: new Map([
            ['x', x],
            ['out', out],
          ]),
          sizes: new Map(),
          chunk,
        }),
      ).toBe(0);
      expect(out.elements).toEqual([2, 4, 6, 8, 10, 12]);
    }
  });

  const run = (body: readonly Stmt[]): number =>
    interpretKernel(kernelOf(body), {
      memory: new Map([
        ['x', memory([1, 2, 3, 4, 5, 6, 7, 8])],
        ['out', memory([0])],
      ]),
      sizes: new Map(),
    });

  test('sees a read out of bounds', () => {
    expect(() => run([{ kind: 'let', name: 'y', value: load('x', int(5)) }])).toThrow('reads x[8] of 8');
  });

  test('sees a write out of bounds', () => {
    expect(() => run([{ kind: 'store', access: access('out', int(0)), value: load('x', int(0)) }])).toThrow(
      'writes out[1] of 1',
    );
  });

  test('sees a read of scratch that was never written', () => {
    const scratch: Stmt = { kind: 'scratch', name: 'row', dtype: 'f32', size: 4 };
    expect(() => run([scratch, { kind: 'let', name: 'y', value: load('row', int(0)) }])).toThrow(
      'before it is written',
    );
  });

  test('a failed check is the status; the index is then in range', () => {
    const i64: ValueType = { dtype: 'i64', lanes: 1 };
    const check = (value: string): Stmt => ({
      kind: 'check',
      name: 'c',
      value: { kind: 'constant', value: { bigint: value }, type: i64 },
      extent: int(8),
      site: 4,
      wraps: true,
    });
    expect(run([check('7')])).toBe(0);
    expect(run([check('-8')])).toBe(0);
    expect(run([check('8')])).toBe(5);
    expect(
      run([
        check('-9'),
        { kind: 'let', name: 'y', value: { kind: 'load', type: f32, access: access('x', index('c')) } },
      ]),
    ).toBe(5);
  });

  test('a transpose turns a part of a tile', () => {
    const out = memory(new Array<undefined>(6).fill(undefined));
    const turn: Stmt = {
      kind: 'transpose',
      dtype: 'f32',
      from: { buffer: 'x', at: int(0), step: int(3) },
      to: { buffer: 'out', at: int(0), step: int(2) },
      rows: int(2),
      columns: int(3),
      tile: 4,
    };
    const x = memory([1, 2, 3, 4, 5, 6]);
    interpretKernel(kernelOf([turn], 6), {
      memory: new Map([
        ['x', x],
        ['out', out],
      ]),
      sizes: new Map(),
    });
    expect(out.elements).toEqual([1, 4, 2, 5, 3, 6]);
  });
});

test('lets that nothing uses are dropped, also those that only they used', () => {
  const body: readonly Stmt[] = [
    { kind: 'let', name: 'a', value: load('x', int(0)) },
    { kind: 'let', name: 'b', value: { kind: 'apply', op: 'neg', args: [name('a')], type: f32x4 } },
    { kind: 'let', name: 'c', value: load('x', int(4)) },
    { kind: 'store', access: access('out', int(0)), value: name('c') },
  ];
  expect(removeDeadLets(body).map((statement) => ('name' in statement ? statement.name : statement.kind))).toEqual([
    'c',
    'store',
  ]);
  const kept = body.slice(2);
  expect(removeDeadLets(kept)).toBe(kept);
});

describe('printing', () => {
  const printing = (value: Value): Kernel =>
    kernelOf([
      {
        kind: 'for',
        name: 'i',
        from: int(0),
        to: int(2),
        step: 1,
        body: [{ kind: 'print', unit: index('i'), parts: ['x "', value, '" end'] }],
      },
    ]);
  const element: Value = { kind: 'load', type: f32, access: access('x', index('i')) };

  test('its text, and the lines that the interpreter tells', () => {
    const kernel = printing(element);
    verifyKernel(kernel);
    expect(printKernelIr(kernel)).toContain('print at i: "x \\"" load<f32> x[i] "\\" end"');
    const memory = new Map<string, KernelMemory>([
      ['x', { dtype: 'f32', elements: [0.1, -0].map(Math.fround) }],
      ['out', { dtype: 'f32', elements: [] }],
    ]);
    const told: [number, string][] = [];
    interpretKernel(kernel, { memory, sizes: new Map(), print: (unit, line) => told.push([unit, line]) });
    expect(told).toEqual([
      [0, 'x "0.100000001" end'],
      [1, 'x "-0" end'],
    ]);
  });

  test('a vector is no scalar', () => {
    expect(() => {
      verifyKernel(printing(load('x', index('i'))));
    }).toThrow('a printed value has one lane');
  });
});

describe('failing', () => {
  const fail: Stmt = {
    kind: 'fail',
    unit: index('i'),
    site: 4,
    reason: { message: 'odd', origin: { file: 'k.ts', line: 3 } },
  };
  const stored = (value: number): Stmt => ({
    kind: 'store',
    access: access('out', index('i')),
    value: { kind: 'constant', value, type: f32 },
  });
  /** Units store, of which one fails in between. */
  const failing = kernelOf([
    {
      kind: 'parallel',
      begin: 'begin',
      end: 'end',
      total: int(6),
      grain: int(1),
      body: [
        {
          kind: 'for',
          name: 'i',
          from: index('begin'),
          to: index('end'),
          step: 1,
          body: [
            stored(1),
            { kind: 'if', test: { kind: 'equal', left: index('i'), right: int(3) }, then: [fail] },
            stored(2),
          ],
        },
      ],
    },
  ]);

  test('its text, and that nothing of the unit runs after it', () => {
    verifyKernel(failing);
    expect(printKernelIr(failing)).toContain('fail at i site 4: "odd"');
    const out = new Array<number>(6).fill(0);
    const memory = new Map<string, KernelMemory>([
      ['x', { dtype: 'f32', elements: [] }],
      ['out', { dtype: 'f32', elements: out }],
    ]);
    expect(interpretKernel(failing, { memory, sizes: new Map(), chunk: 2 })).toBe(5);
    expect(out).toEqual([2, 2, 2, 1, 2, 2]);
  });

  test('there are units in a parallel loop or a launch', () => {
    expect(() => {
      verifyKernel(kernelOf([{ kind: 'for', name: 'i', from: int(0), to: int(2), step: 1, body: [fail] }]));
    }).toThrow('there are no units that could fail');
  });
});
