// Attention of a compiled function on a CUDA device, without a GPU: one launch, and what eager mode computes.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { manualSeed, nn, randn } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { hasCompiler } from '@tsinductor/testing/loops';
import { DriverControl, emulatedDriver, emulatedNvcc } from '@tsinductor/testing/emulated-cuda';
import { compile } from '../compile.ts';
import { openDevices, reset, setConfig } from '../default-compiler.ts';

if (!hasCompiler()) process.stderr.write('emulated CUDA device skipped: no C++ compiler\n');
const ring = hasCompiler() ? describe : describe.skip;
const directory = mkdtempSync(join(tmpdir(), 'tsinductor-attention-'));
let stub: DriverControl;

afterAll(() => {
  reset();
  rmSync(directory, { recursive: true, force: true });
});

type Given = [query: Tensor, key: Tensor, value: Tensor];
const attention = (...[q, k, v]: Given): Tensor => nn.functional.scaledDotProductAttention(q, k, v, { isCausal: true });

ring('attention on a CUDA device', () => {
  beforeAll(() => {
    const cuda = { cudaCxx: emulatedNvcc(directory), driver: emulatedDriver(directory) };
    setConfig({ cacheDir: join(directory, 'cache'), cuda });
    stub = new DriverControl(openDevices().driver());
  });

  test.each(['bf16', 'f32'] as const)('is one launch without workspace: %s', (dtype) => {
    manualSeed(4);
    const inputs = [0, 1, 2].map(() => randn([2, 70, 16]).to(dtype)) as Given;
    const wanted = attention(...inputs);
    const fn = compile(attention, { fullgraph: true });
    const given = inputs.map((x) => x.cuda()) as Given;
    stub.log();
    const made = fn(...given);
    expect(stub.log().filter((line) => line.startsWith('cuLaunchKernel'))).toHaveLength(1);
    const far = made.cpu().to('f32').sub(wanted.to('f32')).abs().max().item();
    expect(far).toBeLessThan(dtype === 'f32' ? 1e-5 : 2 ** -6);
    const told = fn.explain().toString();
    expect(told).toContain('attention, tiles of 64 rows by 64 keys: larger ones would leave parts of a device idle');
    expect(told).toMatch(/workspace: 0 bytes/);
  });
});
