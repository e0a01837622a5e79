// Kernels with a launch: what their text says, which laws the verifier holds them to, and what the interpreter sees of
// threads that miss each other.
import { describe, expect, test } from '@jest/globals';
import { add, axisIndex, int, modulo, multiply, printKernelIr, verifyKernel } from '@tsinductor/ir';
import type { Index, Kernel, Stmt, Value } from '@tsinductor/ir';
import { interpretKernel } from './interpret-launch.ts';
import type { KernelMemory } from './kernel-run.ts';

const threads = 64;
const i32 = { dtype: 'i32', lanes: 1 } as const;
const thread = axisIndex({ name: 'thread', extent: int(threads) });
const block = axisIndex({ name: 'block', extent: int(2) });
const access = (buffer: string, at: Index) => ({ buffer, at, step: int(0), align: 4 });
const load = (buffer: string, at: Index): Value => ({ kind: 'load', type: i32, access: access(buffer, at) });
const store = (buffer: string, at: Index, value: Value): Stmt => ({ kind: 'store', access: access(buffer, at), value });
const number = (value: Index): Value => ({ kind: 'index', type: i32, value });
const barrier: Stmt = { kind: 'barrier', scope: 'block' };
const row: Stmt = { kind: 'scratch', name: 'row', dtype: 'i32', size: threads, shared: 0 };
const guarded = (body: readonly Stmt[]): Stmt => ({
  kind: 'if',
  test: { kind: 'less', left: thread, right: int(40) },
  then: body,
});

const kernelOf = (body: readonly Stmt[], launch: Partial<Kernel['launch']> = {}): Kernel => ({
  name: 'kernel',
  buffers: [
    { name: 'out', dtype: 'i32', role: 'readWrite', storage: { kind: 'buffer', buffer: 0 }, size: int(128), align: 64 },
  ],
  sizes: [],
  body,
  launch: {
    blocks: int(2),
    threads,
    sharedBytes: 4 * threads,
    names: { block: 'block', blocks: 'blocks', thread: 'thread' },
    ...launch,
  },
  origins: [],
  notes: [],
});

const place = add(thread, multiply(block, int(threads)));
const exchange = (between: readonly Stmt[]): readonly Stmt[] => [
  row,
  store('row', thread, number(thread)),
  ...between,
  store('out', place, load('row', modulo(add(thread, int(33)), int(threads)))),
];

function run(kernel: Kernel, order: 'ascending' | 'descending'): readonly unknown[] {
  verifyKernel(kernel);
  const out: KernelMemory = { dtype: 'i32', elements: new Array<number>(128).fill(0) };
  interpretKernel(kernel, {
    memory: new Map([['out', out]]),
    sizes: new Map(),
    order,
  });
  return out.elements;
}

test('a launch as text', () => {
  expect(printKernelIr(kernelOf(exchange([barrier])))).toMatchInlineSnapshot(`
   "kernel kernel {
     readWrite out: i32[128]
     launch block of blocks = 2, thread of 64, shared 256
     scratch row: i32[64] shared at 0
     store row[thread, by 0] = index<i32>(thread)
     barrier block
     store out[block * 64 + thread, by 0] = load<i32> row[(thread + 33) % 64, by 0]
   }
   "
  `);
});

describe.each(['ascending', 'descending'] as const)('threads in %s order', (order) => {
  test('see what others wrote before a barrier', () => {
    const expected = Array.from({ length: 128 }, (_, index) => ((index % threads) + 33) % threads);
    expect(run(kernelOf(exchange([barrier])), order)).toEqual(expected);
  });

  test('race without one', () => {
    expect(() => run(kernelOf(exchange([])), order)).toThrow(
      /touch row\[\d+\] without a barrier in between|before it is written/,
    );
  });

  test('of two blocks race for one element', () => {
    expect(() => run(kernelOf([store('out', thread, number(block))]), order)).toThrow(
      /thread \d+ of block \d and thread \d+ of block \d touch out\[\d+\] in one launch/,
    );
  });

  test('all update one element', () => {
    const update: Stmt = { kind: 'atomic', op: 'add', access: access('out', int(3)), value: number(int(2)) };
    expect(run(kernelOf([update]), order)[3]).toBe(2 * 128);
  });

  test('get the values of others in their warp', () => {
    const shuffle: Stmt = { kind: 'shuffle', name: 'other', value: number(thread), mode: 'down', distance: int(5) };
    const other: Value = { kind: 'name', name: 'other', type: i32 };
    const [first, last, second] = [0, 30, 40].map(
      (index) => run(kernelOf([shuffle, store('out', place, other)]), order)[index],
    );
    expect([first, last, second]).toEqual([5, 30, 45]);
  });

  test('must all arrive', () => {
    expect(() => run(kernelOf([guarded([barrier])]), order)).toThrow('thread 40 does not arrive where thread 0 waits');
    const shuffle: Stmt = { kind: 'shuffle', name: 'other', value: number(thread), mode: 'up', distance: int(1) };
    expect(() => run(kernelOf([guarded([shuffle])]), order)).toThrow(
      'thread 40 does not take part in what its warp does',
    );
  });
});

describe('the laws', () => {
  const { launch: _, ...plain } = kernelOf([barrier]);
  test.each<[string, Kernel]>([
    ['a barrier stands in a kernel without a launch', plain],
    ['48 threads are no whole warps', kernelOf([], { threads: 48 })],
    ['the launch has 16 bytes of shared memory', kernelOf([row], { sharedBytes: 16 })],
    ['shared memory is not aligned to 16 bytes', kernelOf([{ ...row, shared: 8 }])],
    [
      'the number of blocks depends on more than sizes',
      kernelOf([], { blocks: axisIndex({ name: 'i', extent: int(9) }) }),
    ],
  ])('%s', (law, kernel) => {
    expect(() => {
      verifyKernel(kernel);
    }).toThrow(law);
  });
});
