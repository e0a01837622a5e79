// Block IR by itself: what the verifier refuses, how programs print, and what the interpreter reports.
import { describe, expect, test } from '@jest/globals';
import type { BlockProgram, ForNode, Region, Tile, TileNode } from './block.ts';
import { interpretBlock } from './interpret-block.ts';
import { printBlockProgram } from './print-block.ts';
import { reductionOrder } from './tile-ops.ts';
import { verifyBlockProgram } from './verify-block.ts';

const origin = { file: 'k.ts', line: 7 };
const i32 = (id: number, shape: readonly number[] = []): Tile => ({ id, dtype: 'i32', shape });
const f32 = (id: number, shape: readonly number[] = []): Tile => ({ id, dtype: 'f32', shape });
const params: BlockProgram['params'] = [
  { name: 'x', kind: 'buffer', dtype: 'f32', divisor: 16 },
  { name: 'n', kind: 'scalar', dtype: 'i32', divisor: 1 },
];
const program = (nodes: readonly TileNode[], yields: Region['yields'] = []): BlockProgram => ({
  name: 'k',
  params,
  body: { nodes, yields },
  constants: { BLOCK: '4' },
  origin,
});
const arange = (tile: Tile): TileNode => ({
  kind: 'op',
  op: 'arange',
  attrs: { start: 0, end: 4 },
  args: [],
  results: [tile],
  origin,
});
const load = (tile: Tile, from: number): TileNode => ({
  kind: 'op',
  op: 'load',
  attrs: { param: 0 },
  args: [from],
  results: [tile],
  origin,
});
const store = (at: number, value: number): TileNode => ({
  kind: 'op',
  op: 'store',
  attrs: { param: 0 },
  args: [at, value],
  results: [],
  origin,
});
const apply = (op: 'add' | 'mul', args: readonly number[], tile: Tile): TileNode => ({
  kind: 'op',
  op: 'apply',
  attrs: { op },
  args,
  results: [tile],
  origin,
});
const lawOf = (broken: BlockProgram): string => {
  try {
    verifyBlockProgram(broken);
  } catch (error) {
    return (error as Error).message.replace(/; this is a bug.*/, '');
  }
  return 'no law is broken';
};

const doubling = program([arange(i32(0, [4])), load(f32(1, [4]), 0), apply('add', [1, 1], f32(2, [4])), store(0, 2)]);

test('a program as text', () => {
  verifyBlockProgram(doubling);
  expect(printBlockProgram(doubling)).toBe(`kernel k(x: ptr<f32> % 16, n: i32, BLOCK = 4) {
  %0: i32[4] = arange(0, 4)  # 7
  %1: f32[4] = load x[%0]  # 7
  %2: f32[4] = add(%1, %1)  # 7
  store x[%0, %2]  # 7
}
`);
});

test.each<[string, BlockProgram, string]>([
  ['a use before the definition', program([load(f32(1, [4]), 0)]), '%0 is used where it is not defined'],
  ['an id twice', program([arange(i32(0, [4])), arange(i32(0, [4]))]), '%0: defined twice'],
  ['a wrong shape', program([arange(i32(0, [8]))]), 'gives i32[8], not i32[4]'],
  [
    'float offsets',
    program([arange(i32(0, [4])), load(f32(1, [4]), 0), load(f32(2, [4]), 1)]),
    'offsets are i32 or i64',
  ],
  [
    'two dtypes',
    program([arange(i32(0, [4])), load(f32(1, [4]), 0), apply('mul', [0, 1], f32(2, [4]))]),
    'operand 1 is f32, not i32',
  ],
  ['a stored scalar', program([arange(i32(0, [4])), load(f32(1, [4]), 0), store(0, 0)]), 'operand 1 is i32, not f32'],
  ['a program that yields', program([arange(i32(0, [4]))], [0]), 'a program yields nothing'],
])('the verifier refuses %s', (_, broken, law) => {
  expect(lawOf(broken)).toContain(law);
});

test('what a loop carries keeps its type', () => {
  const constant = (tile: Tile, value: number): TileNode => ({
    kind: 'op',
    op: 'constant',
    attrs: { value, dtype: 'i32', shape: [] },
    args: [],
    results: [tile],
    origin,
  });
  const loop = (next: number): ForNode => ({
    kind: 'for',
    from: 0,
    to: 1,
    step: 1,
    induction: i32(2),
    initial: [0],
    carried: [i32(3)],
    results: [i32(5)],
    origin,
    body: { nodes: [arange(i32(4, [4])), apply('add', [3, 2], i32(6))], yields: [next] },
  });
  const whole = (next: number): BlockProgram => program([constant(i32(0), 0), constant(i32(1), 1), loop(next)]);
  expect(lawOf(whole(6))).toBe('no law is broken');
  expect(lawOf(whole(4))).toContain('yields i32[4], not i32');
});

test('the order of a reduction: 64 partial results, then halves', () => {
  expect(reductionOrder(4)).toEqual({
    partials: 4,
    folds: [
      [0, 2],
      [1, 3],
      [0, 1],
    ],
  });
  expect(reductionOrder(4096).partials).toBe(64);
  expect(reductionOrder(1)).toEqual({ partials: 1, folds: [] });
});

describe('the interpreter', () => {
  const run = (elements: Float32Array, grid: readonly [number, number, number], defined?: Uint8Array): unknown => {
    try {
      interpretBlock(doubling, { grid, args: [{ elements, ...(defined === undefined ? {} : { defined }) }, 0] });
    } catch (error) {
      return [(error as { code?: unknown }).code, (error as Error).message];
    }
    return [...elements];
  };
  test('computes', () => {
    expect(run(Float32Array.of(1, 2, 3, 4), [1, 1, 1])).toEqual([2, 4, 6, 8]);
  });
  test('reports what nothing has written, what is out of bounds, and races, with line and program', () => {
    expect(run(new Float32Array(4), [1, 1, 1], Uint8Array.of(1, 1, 0, 1))).toEqual([
      'KERNEL_UNINITIALISED',
      'kernel k, program (0, 0, 0): reads x[2], which nothing has written, at k.ts:7; write the element first, or mask it',
    ]);
    expect(run(new Float32Array(3), [1, 1, 1])).toEqual([
      'KERNEL_OUT_OF_BOUNDS',
      'kernel k, program (0, 0, 0): reads x[3] of 3 elements, at k.ts:7; mask the elements that are not there',
    ]);
    expect(run(new Float32Array(4), [2, 1, 1])).toEqual([
      'KERNEL_RACE',
      'kernel k, program (1, 0, 0): reads x[0], which program (0, 0, 0) writes in the same launch, at k.ts:7; let one program own an element, or use atomics for all of its accesses',
    ]);
  });
  test('shows every step', () => {
    const seen: string[] = [];
    interpretBlock(doubling, {
      grid: [1, 1, 1],
      args: [{ elements: Float32Array.of(1, 2, 3, 4) }, 0],
      observe: ({ node, results }) => seen.push(`${node.kind === 'op' ? node.op : node.kind} ${results.join(';')}`),
    });
    expect(seen).toEqual(['arange 0,1,2,3', 'load 1,2,3,4', 'apply 2,4,6,8', 'store ']);
  });
});
