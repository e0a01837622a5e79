// Parallel loops of which something has an order.
import { describe, expect, test } from '@jest/globals';
import { axisIndex, int, printKernelIr, removeDeadLets, verifyKernel, visitStatements } from '@tsinductor/ir';
import type { Access, Kernel, KernelBuffer, Stmt, Value, ValueType } from '@tsinductor/ir';
import { interpretKernel } from './interpret-launch.ts';
import type { KernelMemory } from './kernel-run.ts';

const f32: ValueType = { dtype: 'f32', lanes: 1 };
const begin = axisIndex({ name: 'begin', extent: int(10) });
const access = (place: Access['at']): Access => ({ buffer: 'out', at: place, step: int(1), align: 4 });
const load = (place: Access['at']): Value => ({ kind: 'load', type: f32, access: access(place) });
const number = (value: number): Value => ({ kind: 'constant', value, type: f32 });
const apply = (op: 'add' | 'mul', ...args: readonly Value[]): Value => ({ kind: 'apply', op, args, type: f32 });
const buffer = (
  name: string,
  dtype: KernelBuffer['dtype'],
  role: KernelBuffer['role'] = 'readWrite',
): KernelBuffer => ({
  name,
  dtype,
  role,
  storage: { kind: 'buffer', buffer: 0 },
  size: int(8),
  align: 64,
});

/** Every unit writes its own element, and in its turn joins it to the digits in the last one. */
const body: readonly Stmt[] = [
  {
    kind: 'parallel',
    begin: 'begin',
    end: 'end',
    total: int(3),
    grain: int(1),
    body: [
      { kind: 'let', name: 'unused', value: load(int(0)) },
      { kind: 'store', access: access(begin), value: { kind: 'cast', type: f32, value: { kind: 'index', value: begin, type: { dtype: 'i64', lanes: 1 } } } }, // prettier-ignore
    ],
    ordered: {
      turn: 'turn',
      body: [
        {
          kind: 'store',
          access: access(int(7)),
          value: apply('add', apply('mul', load(int(7)), number(10)), load(begin)),
        },
      ],
    },
  },
];
const kernelOf = (turn: KernelBuffer, given = body): Kernel => ({
  name: 'sample',
  buffers: [buffer('out', 'f32'), turn],
  sizes: [],
  body: given,
  origins: [],
  notes: [],
});
const kernel = kernelOf(buffer('turn', 'i64'));

describe('what is ordered of a parallel loop', () => {
  test('comes after the bodies of its chunk and in the order of the units', () => {
    const out: KernelMemory = { dtype: 'f32', elements: [0, 0, 0, 0, 0, 0, 0, 4] };
    const turn: KernelMemory = { dtype: 'i64', elements: [0n] };
    interpretKernel(kernel, {
      memory: new Map([
        ['out', out],
        ['turn', turn],
      ]),
      sizes: new Map(),
      chunk: 1,
    });
    expect(out.elements).toEqual([0, 1, 2, 0, 0, 0, 0, 4012]);
    expect(turn.elements).toEqual([3n]);
  });

  test.each([
    ['is not written', undefined, /reads turn\[0\] before it is written/],
    ['is left from a loop before', 3n, /turn is not 0/],
  ])('cannot begin where its turn %s', (_name, left, message) => {
    const out: KernelMemory = { dtype: 'f32', elements: new Array<number>(8).fill(0) };
    const turn: KernelMemory = { dtype: 'i64', elements: [left] };
    expect(() => {
      interpretKernel(kernel, {
        memory: new Map([
          ['out', out],
          ['turn', turn],
        ]),
        sizes: new Map(),
      });
    }).toThrow(message);
  });

  test('is printed, and met by whoever goes through the statements', () => {
    expect(printKernelIr(kernel)).toContain('ordered by turn {');
    let stores = 0;
    visitStatements(kernel.body, ({ kind }) => {
      stores += kind === 'store' ? 1 : 0;
    });
    expect(stores).toBe(2);
    const [loop] = removeDeadLets(body);
    expect(loop).toMatchObject({ body: [{ kind: 'store' }], ordered: { turn: 'turn', body: [{ kind: 'store' }] } });
  });

  test('has a turn that can be written, and names of its own', () => {
    expect(() => {
      verifyKernel(kernel);
    }).not.toThrow();
    for (const turn of [buffer('turn', 'i64', 'read'), buffer('turn', 'f32'), buffer('other', 'i64')])
      expect(() => {
        verifyKernel(kernelOf(turn));
      }).toThrow(/turn turn is no buffer of i64 that is written/);
    const [loop] = body;
    const store: Stmt = { kind: 'store', access: access(int(0)), value: { kind: 'name', name: 'unused', type: f32 } };
    const reaching = [{ ...loop, ordered: { turn: 'turn', body: [store] } } as Stmt];
    expect(() => {
      verifyKernel(kernelOf(buffer('turn', 'i64'), reaching));
    }).toThrow(/unused/);
  });
});
