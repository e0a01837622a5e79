// Which code a launch gets: buffers in one memory count where one of them is written, and code belongs to a session.
import { afterAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { constexpr, ptr } from '@tsinductor/dsl';
import { tensor, zeros } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { hasCompiler } from '@tsinductor/testing/loops';
import { reset, setConfig } from '../default-compiler.ts';
import { kernel } from './kernel.ts';
import type { LaunchOptions } from './launch.ts';
import { KernelVariants } from './kernel-variants.ts';
import type { KernelVariant } from './kernel-variants.ts';

const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-variants-'));
setConfig({ cacheDir });
afterAll(() => {
  reset();
  rmSync(cacheDir, { recursive: true, force: true });
});

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

const add = kernel(
  'add',
  { x: ptr('f32'), y: ptr('f32'), out: ptr('f32'), n: 'i32', BLOCK: constexpr },
  ({ x, y, out, n, BLOCK }, tl) => {
    const offs = tl.arange(0, BLOCK);
    tl.store(out + offs, tl.load(x + offs, offs < n) + tl.load(y + offs, offs < n), offs < n);
  },
);
const variants = new KernelVariants(add.definition);
const variantOf = (args: Parameters<typeof add.launch>[1], options: LaunchOptions = {}): KernelVariant =>
  variants.of(add.bind(args, options), options, add.builder);
const ramp = (): Tensor => tensor(Float32Array.from({ length: 20 }, (_, i) => i));

ring('buffers in one memory', () => {
  test('which are only loaded are as good as two', () => {
    const [x, out] = [ramp(), zeros([20])];
    const args = { x, y: x, out, n: 20, BLOCK: 32 };
    const apart = variantOf({ ...args, y: ramp() });
    expect(variantOf(args).mayAlias).toBe(false);
    expect(variantOf(args).prepared).toBe(apart.prepared);
    expect(variantOf({ ...args, y: x.slice(0, 1, 20) }).mayAlias).toBe(false);
    for (const backend of ['cpp', 'cuda-emulated', 'interpreter'] as const) {
      add.launch([1], { ...args, y: x.slice(0, 1, 20), n: 19 }, { backend });
      expect((out.toArray() as number[]).slice(0, 3)).toEqual([1, 3, 5]);
      out.zero_();
    }
  });

  test('of which one is written count, also views that are apart: a kernel may go beyond them', () => {
    const x = ramp();
    const args = { x, y: ramp(), out: x, n: 20, BLOCK: 32 };
    expect(variantOf(args).mayAlias).toBe(true);
    const halves = { ...args, x: x.slice(0, 0, 10), out: x.slice(0, 10, 20), n: 10 };
    expect(variantOf(halves).mayAlias).toBe(true);
    expect(() => {
      add.launch([1], halves, { backend: 'cuda-emulated' });
    }).toThrow('it writes to memory that two of its buffers share');
    add.launch([1], halves);
    expect((x.toArray() as number[]).slice(10)).toEqual(Array.from({ length: 10 }, (_, i) => 2 * i));
  });
});

ring('code', () => {
  const args = { x: ramp(), y: ramp(), out: zeros([20]), n: 20, BLOCK: 32 };

  test('is found again, whatever is printed where', () => {
    const { prepared } = variantOf(args);
    expect(variantOf(args, { print: () => undefined }).prepared).toBe(prepared);
    expect(variantOf({ ...args, n: 17 }).prepared).toBe(prepared);
    expect(variantOf({ ...args, n: 16 }).prepared).not.toBe(prepared);
    expect(variantOf({ ...args, BLOCK: 64 }).prepared).not.toBe(prepared);
    expect(variantOf(args, { backend: 'interpreter' }).addresses).toEqual([]);
  });

  test('of an earlier session is not used: settings are those of now', () => {
    const runsOn = [1, 2].map((threads) => {
      setConfig({ cpp: { threads } });
      return variantOf(args).prepared.runsOn;
    });
    expect(runsOn).toEqual([expect.stringMatching(/, 1 thread,/), expect.stringMatching(/, 2 threads,/)]);
  });
});
