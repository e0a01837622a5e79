// CUDA source through the worker pool into the cache: built once, found after that, verified each time.
import { afterAll, describe, expect, test } from '@jest/globals';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveConfig, withConfig } from '@tsinductor/config';
import { findCudaToolkit } from '@tsinductor/runtime';
import { Artifacts } from './artifacts.ts';
import { CompileClient } from './compile-client.ts';

const { toolkit } = findCudaToolkit({ path: process.env['PATH'] ?? '' });
if (toolkit === undefined) process.stderr.write('nvcc ring skipped: no CUDA toolkit\n');
const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-cuda-cache-'));
afterAll(() => {
  rmSync(cacheDir, { recursive: true, force: true });
});

(toolkit === undefined ? describe.skip : describe)('CUDA in the cache', () => {
  test('is built once, and again if it is damaged', async () => {
    if (toolkit === undefined) return;
    const text = 'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }\n';
    const source = { source: text, architecture: 'sm_80' };
    const config = withConfig(resolveConfig({ env: {} }), { cacheDir });
    using artifacts = new Artifacts(config, () => undefined);
    using client = new CompileClient(1);
    const request = { name: 'twice', source, toolkit, seconds: 100 };
    const first = await artifacts.buildCuda(client, request);
    expect(first.facts).toMatchObject([{ kernel: 'twice', architecture: 'sm_80', spillStoreBytes: 0 }]);
    expect(readFileSync(first.ptx, 'utf8')).toContain('.entry twice');
    const made = statSync(first.cubin).mtimeMs;
    const second = await artifacts.buildCuda(client, request);
    expect(statSync(second.cubin).mtimeMs).toBe(made);
    writeFileSync(second.cubin, 'damaged');
    const third = await artifacts.buildCuda(client, request);
    expect(readFileSync(third.cubin).subarray(1, 4).toString()).toBe('ELF');
    await expect(
      artifacts.buildCuda(client, { ...request, source: { ...source, source: 'not CUDA' } }),
    ).rejects.toMatchObject({ name: 'ToolchainError', code: 'CUDA_COMPILER_FAILED' });
    expect(existsSync(third.cubin)).toBe(true);
  }, 180_000);

  test('is built where nvcc warns, and the warning is told', async () => {
    if (toolkit === undefined) return;
    const told: string[] = [];
    const config = withConfig(resolveConfig({ env: {} }), { cacheDir });
    using artifacts = new Artifacts(config, (_, message) => told.push(message));
    using client = new CompileClient(1);
    const text = 'extern "C" __global__ void warned(float *x) { int unused; x[threadIdx.x] *= 2; }\n';
    const request = { name: 'warned', source: { source: text, architecture: 'sm_80' }, toolkit, seconds: 100 };
    expect((await artifacts.buildCuda(client, request)).facts).toMatchObject([{ kernel: 'warned' }]);
    expect(told).toEqual([expect.stringMatching(/^nvcc warned of "warned":\n[^]*never referenced/)]);
  }, 180_000);
});
