// Accesses beside a buffer: each ends in the error that names line, program and index, whatever runs the kernel, and memory that
// is not the kernel's is as it was.
import { afterAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reset, setConfig, tensor, zeros } from 'tsinductor';
import { constexpr, f32, i32, kernel, ptr } from 'tsinductor/dsl';
import { launchError } from './launching.ts';

const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-bounds-'));
setConfig({ cacheDir });
afterAll(() => {
  reset();
  rmSync(cacheDir, { recursive: true, force: true });
});

const shift = kernel(
  'shift',
  { x: ptr(f32), out: ptr(f32), n: i32, from: i32, to: i32, BLOCK: constexpr },
  ({ x, out, n, from, to, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    const mask = offs < n;
    const values = tl.load(x + offs + from, mask);
    tl.store(out + offs + to, values, mask);
  },
);

const count = kernel('count', { out: ptr(i32), at: i32 }, ({ out, at }, tl) => {
  tl.atomicAdd(out + at, 1);
});

const backends = ['cpp', 'cuda-emulated', 'interpreter'] as const;

const chase = kernel('chase', { next: ptr(i32), out: ptr(i32), n: i32 }, ({ next, out, n }, tl) => {
  let place = tl.load(next);
  for (let turn = 0; turn < n; turn += 1) place = tl.load(next + place);
  tl.store(out, place);
});

const hidden = kernel('hidden', { x: ptr(i32), out: ptr(i32), n: i32 }, ({ x, out, n }, tl) => {
  let sum = tl.load(out);
  for (let turn = 0; turn < n; turn += 1) sum += tl.load(x + turn * turn, sum < 2);
  tl.store(out, sum);
});

describe.each(backends)('%s', (backend) => {
  // Whole pages, whole vectors, and ends that no alignment has.
  const sizes = [1, 5, 16, 100, 1023, 1024];
  const places = sizes.flatMap((size) =>
    [-1, -4, size, size + 3, -(2 ** 31), 2 ** 31 - 1].map((at) => [size, at] as const),
  );

  test.each(places)('of %i elements it reads and writes %i', (size, at) => {
    const args = { x: zeros([size]), out: zeros([size]), n: 1, BLOCK: 16 };
    const read = launchError(() => {
      shift.launch([1], { ...args, from: at, to: 0 }, { backend });
    });
    expect(read).toMatch(
      `KERNEL_OUT_OF_BOUNDS kernel shift, program (0, 0, 0): reads x[${String(at)}] of ${String(size)} elements`,
    );
    expect(read).toMatch('bounds.test.ts:24');
    const written = launchError(() => {
      shift.launch([1], { ...args, from: 0, to: at }, { backend });
    });
    expect(written).toMatch(
      `KERNEL_OUT_OF_BOUNDS kernel shift, program (0, 0, 0): writes out[${String(at)}] of ${String(size)} elements`,
    );
    expect(written).toMatch('bounds.test.ts:25');
  });

  test('a block that ends beyond a buffer', () => {
    const [x, out] = [tensor(new Float32Array(100).fill(1)), zeros([99])];
    const error = launchError(() => {
      shift.launch([7], { x, out, n: 100, from: 0, to: 0, BLOCK: 16 }, { backend });
    });
    expect(error).toMatch('KERNEL_OUT_OF_BOUNDS kernel shift, program (6, 0, 0): writes out[99] of 99 elements');
  });

  test.each([-1, 3, 7])('atomic updates of %i', (at) => {
    const out = zeros([3], { dtype: 'i32' });
    const error = launchError(() => {
      count.launch([1], { out, at }, { backend });
    });
    expect(error).toMatch(
      `KERNEL_OUT_OF_BOUNDS kernel count, program (0, 0, 0): writes out[${String(at)}] of 3 elements`,
    );
    expect(out.toArray()).toEqual([0, 0, 0]);
  });

  test('what a mask leaves out may lie anywhere', () => {
    const [x, out] = [tensor([1, 2, 3], { dtype: 'f32' }), zeros([3])];
    shift.launch([1], { x, out, n: 3, from: 0, to: 0, BLOCK: 1024 }, { backend });
    expect(out.toArray()).toEqual([1, 2, 3]);
  });

  // What one launch does then says nothing of the next.
  test('places and masks that follow from memory are checked at every launch', () => {
    const out = zeros([1], { dtype: 'i32' });
    const run = (next: readonly number[]): string =>
      launchError(() => {
        chase.launch([1], { next: tensor(next, { dtype: 'i32' }), out, n: 5 }, { backend });
      });
    expect([run([1, 2, 0]), run([1, 2, 0])]).toEqual(['none', 'none']);
    expect(run([1, 2, 3])).toMatch('KERNEL_OUT_OF_BOUNDS kernel chase, program (0, 0, 0): reads next[3] of 3 elements');
    const masked = (first: number): string =>
      launchError(() => {
        const args = { x: zeros([4], { dtype: 'i32' }), out: tensor([first], { dtype: 'i32' }), n: 3 };
        hidden.launch([1], args, { backend });
      });
    expect([masked(2), masked(2)]).toEqual(['none', 'none']);
    expect(masked(0)).toMatch('KERNEL_OUT_OF_BOUNDS kernel hidden, program (0, 0, 0): reads x[4] of 4 elements');
  });
});
