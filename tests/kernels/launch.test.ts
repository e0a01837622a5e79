// Launching kernels: what types allow, what arguments are refused, what is specialised, how tuning remembers.
import { afterAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reset, setConfig, tensor, zeros } from 'tsinductor';
import { cdiv, constexpr, f16, f32, i32, i64, kernel, ptr } from 'tsinductor/dsl';
import { refused } from '../../examples/kernels/src/what-does-not-compile.ts';

const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-kernels-'));
setConfig({ cacheDir });
afterAll(() => {
  reset();
  rmSync(cacheDir, { recursive: true, force: true });
});

const scale = kernel(
  'scale',
  { x: ptr(f32), out: ptr(), n: i32, factor: f32, BLOCK: constexpr },
  ({ x, out, n, factor, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    tl.store(out + offs, tl.load(x + offs, offs < n) * factor, offs < n);
  },
);

const codeOf = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
  return undefined;
};

test('a launch writes its tensors, views included', () => {
  const x = tensor([1, 2, 3, 4, 5], { dtype: 'f32' });
  const out = zeros([7]);
  scale.launch((meta) => [cdiv(5, meta.BLOCK)], { x, out: out.slice(0, 1, 6), n: 5, factor: 0.5, BLOCK: 4 });
  expect(out.toArray()).toEqual([0, 0.5, 1, 1.5, 2, 2.5, 0]);
});

test('the dtype of ptr() and the value 1 are specialised', () => {
  const x = tensor([1, 2], { dtype: 'f32' });
  const out = zeros([2], { dtype: 'f16' });
  scale.launch([1], { x, out, n: 2, factor: 3, BLOCK: 2 });
  expect(out.toArray()).toEqual([3, 6]);
  const { blockIr } = scale.inspect({ x, out, n: 1, factor: 3, BLOCK: 2 });
  expect(blockIr).toContain('out: ptr<f16>');
  expect(blockIr).not.toContain('= n ');
});

test('every executor, and what they run', () => {
  const [x, out] = [tensor([1, 2, 3], { dtype: 'f32' }), zeros([3])];
  const args = { x, out, n: 3, factor: 2, BLOCK: 4 };
  scale.launch([1], args, { backend: 'interpreter' });
  expect(out.toArray()).toEqual([2, 4, 6]);
  expect(scale.inspect(args, { backend: 'interpreter' })).toMatchObject({
    runsOn: 'the interpreter, as the launch asks',
    cpp: undefined,
    cuda: { kind: 'source', architecture: 'sm_80', threads: 128, sharedBytes: 0 },
  });
  scale.launch([1], { ...args, factor: 3 }, { backend: 'cuda-emulated', numWarps: 2 });
  expect(out.toArray()).toEqual([3, 6, 9]);
  expect(scale.inspect(args, { backend: 'cuda-emulated', numWarps: 2 })).toMatchObject({
    runsOn: 'emulated CUDA for sm_80, 64 threads a block',
    cuda: { notes: ['a block of 64 threads for each program instance'] },
  });
});

test('what the emulation finds is the error of the interpreter', () => {
  const args = { x: zeros([4]), out: zeros([4]), n: 2000000, factor: 2, BLOCK: 4 };
  expect(
    codeOf(() => {
      scale.launch([2000], args, { backend: 'cuda-emulated' });
    }),
  ).toBe('KERNEL_OUT_OF_BOUNDS');
});

const product = kernel(
  'product',
  { a: ptr(f16), b: ptr(f16), c: ptr(f32), K: i32, BK: constexpr },
  ({ a, b, c, K, BK }, tl) => {
    const rows = tl.expandDims(tl.arange(0, 32), 1);
    const columns = tl.expandDims(tl.arange(0, 32), 0);
    const depth = tl.arange(0, BK);
    let left = a + rows * K + tl.expandDims(depth, 0);
    let right = b + tl.expandDims(depth, 1) * 32 + columns;
    let sum = tl.zeros([32, 32], tl.f32);
    for (const k of tl.range(0, K, BK)) {
      sum = tl.dot(tl.load(left, tl.expandDims(depth, 0) < K - k, 0), tl.load(right), sum);
      left += BK;
      right += BK * 32;
    }
    tl.store(c + rows * 32 + columns, sum);
  },
);

test('what nvcc makes of a product', () => {
  const args = { a: zeros([32, 64], { dtype: 'f16' }), b: zeros([64, 32], { dtype: 'f16' }), c: zeros([32, 32]) };
  const { cuda } = product.inspect({ ...args, K: 64, BK: 16 });
  if (cuda.kind !== 'source') throw new RangeError(cuda.reason);
  expect(cuda.notes).toContain('products of f16 by matrix instructions');
  if (cuda.machine.kind === 'absent') {
    process.stderr.write(`nvcc ring skipped: ${cuda.machine.reason}\n`);
    return;
  }
  expect(cuda.machine.ptx).toContain('mma.sync.aligned.m16n8k16');
  expect(cuda.machine.ptx).toContain('cp.async');
  expect(cuda.machine.facts).toMatchObject({ architecture: 'sm_80', spillStoreBytes: 0, spillLoadBytes: 0 });
  expect(cuda.machine.facts.registers).toBeGreaterThan(0);
});

test('one tensor under two names', () => {
  const shift = kernel('shift', { x: ptr(f32), out: ptr(f32), n: i32 }, ({ x, out, n }, tl) => {
    const offs = tl.arange(0, 32);
    tl.store(out + offs + 1, tl.load(x + offs, offs < n), offs < n);
  });
  const x = tensor(
    Array.from({ length: 21 }, (_, i) => i),
    { dtype: 'f32' },
  );
  shift.launch([1], { x, out: x, n: 20 });
  expect(x.toArray()).toEqual([0, ...Array.from({ length: 20 }, (_, i) => i)]);
});

test('launch constants that differ only in the sign of zero make code of their own', () => {
  const fill = kernel('fill', { out: ptr(f32), VALUE: constexpr }, ({ out, VALUE }, tl) => {
    tl.store(out, VALUE);
  });
  const out = zeros([1]);
  const filled = (value: number): unknown => {
    fill.launch([1], { out, VALUE: value });
    return out.item();
  };
  expect([filled(0), filled(-0)].map((value) => Object.is(value, -0))).toEqual([false, true]);
});

describe('what is refused', () => {
  const [x, out] = [tensor([1], { dtype: 'f32' }), zeros([1])];
  const args = { x, out, n: 1, factor: 1, BLOCK: 1 };
  test.each(Object.entries(refused))('types: %s', (_, [run, code]) => {
    expect(codeOf(run)).toBe(code);
  });

  test.each<[string, () => unknown, string]>([
    [
      'a dtype',
      () => {
        scale.launch([1], { ...args, x: zeros([1], { dtype: 'i64' }) });
      },
      'KERNEL_LAUNCH_ARGUMENT',
    ],
    [
      'a number that i32 does not have',
      () => {
        scale.launch([1], { ...args, n: 2 ** 31 });
      },
      'KERNEL_LAUNCH_ARGUMENT',
    ],
    [
      'a fraction',
      () => {
        scale.launch([1], { ...args, n: 0.5 });
      },
      'KERNEL_LAUNCH_ARGUMENT',
    ],
    [
      'a grid of four',
      () => {
        scale.launch([1, 1, 1, 1], args);
      },
      'KERNEL_GRID',
    ],
    [
      'a negative grid',
      () => {
        scale.launch([-1], args);
      },
      'KERNEL_GRID',
    ],
    [
      'no warps',
      () => {
        scale.launch([1], args, { numWarps: 0 });
      },
      'KERNEL_LAUNCH_OPTION',
    ],
    [
      'three warps',
      () => {
        scale.launch([1], args, { numWarps: 3 });
      },
      'KERNEL_LAUNCH_OPTION',
    ],
    ['a name', () => kernel('two words', {}, () => undefined), 'KERNEL_SCHEMA'],
    ['a schema', () => kernel('k', { x: 'f8' as never }, () => undefined), 'KERNEL_SCHEMA'],
    ['a bound function', () => kernel('k', {}, (() => undefined).bind(null)), 'KERNEL_SOURCE'],
    ['no configurations', () => scale.autotune({ configs: [], key: [] }), 'KERNEL_AUTOTUNE'],
    ['a key', () => scale.autotune({ configs: [{ BLOCK: 2 }], key: ['m' as never] }), 'KERNEL_AUTOTUNE'],
  ])('%s', (_, run, code) => {
    expect(codeOf(run)).toBe(code);
  });

  test('an empty grid runs nothing', () => {
    const untouched = tensor([9], { dtype: 'f32' });
    scale.launch([0], { ...args, out: untouched });
    expect(untouched.toArray()).toEqual([9]);
  });
});

test('scalars keep every bit: i64 beyond 2^53, floats', () => {
  const store = kernel(
    'store',
    { out: ptr(i64), factors: ptr(f32), big: i64, factor: f32 },
    ({ out, factors, big, factor }, tl) => {
      tl.store(out, big);
      tl.store(factors, factor);
    },
  );
  const [out, factors] = [zeros([1], { dtype: 'i64' }), zeros([1])];
  store.launch([1], { out, factors, big: 2n ** 62n + 1n, factor: -0 });
  expect(out.item()).toBe(2n ** 62n + 1n);
  expect(Object.is(factors.item(), -0)).toBe(true);
});

test('tuning measures each configuration once, restores what was there, and remembers on disk', () => {
  const grow = kernel('grow', { x: ptr(f32), n: i32, BLOCK: constexpr }, ({ x, n, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    tl.store(x + offs, tl.load(x + offs, offs < n) + 1, offs < n);
  });
  const bench = { warmup: 1, rep: 2 };
  const x = zeros([100]);
  const grid = ({ BLOCK }: { readonly BLOCK: number }): readonly number[] => [cdiv(100, BLOCK)];
  const tuned = grow.autotune({ configs: [{ BLOCK: 16 }, { BLOCK: 64, numWarps: 2 }], key: ['n'], bench });
  tuned.launch(grid, { x, n: 100 });
  expect(x.toArray()).toEqual(new Array(100).fill(1));
  expect(tuned.best(grid, { x, n: 100 }).measured).toBe(2);
  const more = { configs: [{ BLOCK: 16 }, { BLOCK: 64, numWarps: 2 }, { BLOCK: 32 }], key: ['n'] as const, bench };
  const again = grow.autotune(more).best(grid, { x, n: 100 });
  expect(again.measured).toBe(1);
  expect(again.times).toHaveLength(3);
});

test('names that compilers or objects have are names like any other', () => {
  const odd = kernel(
    '__asm__',
    { linux: ptr(f32), constructor: ptr(f32), $: i32, é: i32, aB: constexpr, a_b: constexpr },
    ({ linux, constructor: toString, $, é, aB, a_b }, tl) => {
      const f32x16 = tl.arange(0, aB);
      const NULL = f32x16 < $;
      tl.store(toString + f32x16, tl.load(linux + f32x16, NULL) * a_b + é, NULL);
    },
  );
  for (const backend of ['cpp', 'cuda-emulated', 'interpreter'] as const) {
    const out = zeros([3]);
    odd.launch(
      [1],
      { linux: tensor([1, 2, 3], { dtype: 'f32' }), constructor: out, $: 3, é: 5, aB: 4, a_b: 2 },
      { backend },
    );
    expect(out.toArray()).toEqual([7, 9, 11]);
  }
});
