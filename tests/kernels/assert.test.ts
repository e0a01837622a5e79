// tl.deviceAssert and tl.assume: the interpreter and C++ report the same assertion of the same instance, emulated CUDA the same
// text; what an assertion guards is not touched; and what was printed before is told.
import { afterAll, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reset, setConfig, tensor, zeros } from 'tsinductor';
import { constexpr, f32, i32, kernel, ptr } from 'tsinductor/dsl';
import type { LaunchOptions } from 'tsinductor/dsl';

const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-assert-'));
setConfig({ cacheDir });
afterAll(() => {
  reset();
  rmSync(cacheDir, { recursive: true, force: true });
});

const backends = ['interpreter', 'cpp', 'cuda-emulated'] as const;

/** What each executor reports, the interpreter first. */
const reports = (launch: (options: LaunchOptions) => void): readonly { code: unknown; message: string }[] =>
  backends.map((backend) => {
    try {
      launch({ backend });
    } catch (error) {
      const { code, message } = error as { code?: unknown; message: string };
      return { code, message };
    }
    return { code: 'none', message: '' };
  });

const gather = kernel(
  'gather',
  { x: ptr(f32), index: ptr(i32), out: ptr(f32), n: i32, ROW: constexpr },
  ({ x, index, out, n, ROW }, tl) => {
    const row = tl.programId(1) * tl.numPrograms(0) + tl.programId(0);
    const columns = tl.arange(0, ROW);
    const places = tl.load(index + row * ROW + columns);
    tl.devicePrint('row ', row);
    tl.deviceAssert(places >= 0 && places < n, 'an index "%d" out of range', columns < ROW - 1);
    tl.store(out + row * ROW + columns, tl.load(x + places, columns < ROW - 1), columns < ROW - 1);
  },
);

const x = tensor([10, 20, 30], { dtype: 'f32' });
const indices = (wrong: Readonly<Record<number, number>>): ReturnType<typeof tensor> =>
  tensor(
    Array.from({ length: 6 * 4 }, (_, place) => wrong[place] ?? place % 3),
    { dtype: 'i32' },
  );
const launched = (index: ReturnType<typeof tensor>, options: LaunchOptions, lines: string[] = []): unknown[] => {
  const out = zeros([24]);
  gather.launch([3, 2], { x, index, out, n: 3, ROW: 4 }, { ...options, print: (line) => lines.push(line) });
  return out.toArray() as number[];
};

test('where it holds, all executors compute; what the mask leaves out may be anything', () => {
  const index = indices({ 3: -7, 23: 1 << 28 });
  const [interpreted, ...others] = backends.map((backend) => launched(index, { backend }));
  for (const other of others) expect(other).toEqual(interpreted);
  expect(interpreted?.slice(0, 4)).toEqual([10, 20, 30, 0]);
});

test('the first instance of the grid that fails is named, with line and message; wild addresses are not touched', () => {
  const index = indices({ 21: 1 << 28, 16: -(1 << 28), 17: 1 << 28 });
  const [interpreted, cpp, emulated] = reports((options) => launched(index, options));
  expect(interpreted).toEqual({
    code: 'KERNEL_ASSERT',
    message: expect.stringMatching(
      /^kernel gather, program \(1, 1, 0\): assertion failed: an index "%d" out of range, at .*assert\.test\.ts:40; correct/,
    ),
  });
  expect(cpp).toEqual(interpreted);
  expect(emulated).toEqual({
    code: 'KERNEL_ASSERT',
    message: expect.stringMatching(/assertion failed: an index "%d" out of range, at assert\.test\.ts:40 \(block 4, /),
  });
});

test('lines of the instances before it are told, and of its own up to there', () => {
  const index = indices({ 8: 99 });
  const told = backends.map((backend) => {
    const lines: string[] = [];
    expect(() => launched(index, { backend }, lines)).toThrow(expect.objectContaining({ code: 'KERNEL_ASSERT' }));
    return lines;
  });
  const expected = ['pid (0, 0, 0) idx () row 0', 'pid (1, 0, 0) idx () row 1', 'pid (2, 0, 0) idx () row 2'];
  for (const lines of told) expect(lines).toEqual(expected);
});

test('a launch that failed leaves nothing behind for the next', () => {
  for (const backend of backends) {
    expect(() => launched(indices({ 0: 99 }), { backend })).toThrow('assertion failed');
    expect(launched(indices({}), { backend })[0]).toBe(10);
  }
});

const several = kernel('several', { n: i32, m: i32 }, ({ n, m }, tl) => {
  for (const turn of tl.range(0, n)) {
    let left = turn;
    while (left > 0) {
      tl.deviceAssert(left < 3);
      left -= 1;
    }
    if (turn > m) tl.deviceAssert(turn !== 2, 'turn two');
  }
});

test('in loops and branches, which of several', () => {
  const messages = (n: number, m: number): readonly string[] =>
    reports((options) => {
      several.launch([1], { n, m }, options);
    }).map(({ message }) => message);
  expect(messages(3, 2)).toEqual(['', '', '']);
  for (const [n, m, text] of [
    [4, 2, 'assertion failed'],
    [3, 0, 'assertion failed: turn two'],
  ] as const) {
    const [interpreted, cpp, emulated] = messages(n, m);
    expect(interpreted).toContain(text);
    expect(cpp).toBe(interpreted);
    expect(emulated).toContain(text);
  }
});

const vowed = kernel('vowed', { out: ptr(f32), n: i32 }, ({ out, n }, tl) => {
  tl.assume(n > 4);
  tl.store(out, tl.cast(n, tl.f32));
});

test('an assumption is held against the values by the interpreter, and costs compiled code nothing', () => {
  const out = zeros([1]);
  const launch = (n: number, options: LaunchOptions): void => {
    vowed.launch([1], { out, n }, options);
  };
  for (const backend of backends) {
    launch(5, { backend });
    expect(out.item()).toBe(5);
  }
  expect(() => {
    launch(3, { backend: 'interpreter' });
  }).toThrow(expect.objectContaining({ code: 'KERNEL_HINT' }));
  const { cpp } = vowed.inspect({ out, n: 5 });
  expect(cpp).not.toMatch(/> 4|fail_unit/);
});
