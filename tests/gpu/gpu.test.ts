// The scripts of the device ring: what they say without a GPU, that they pass on the emulated one, and that the archive for
// a machine with a GPU is small and starts. They run what `npm run build` made.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileCuda, findCudaToolkit } from '@tsinductor/runtime';
import { limitKernels } from '../../benchmarks/src/cuda-limit-kernels.ts';
import { emulatedDriver, emulatedNvcc } from '@tsinductor/testing/emulated-cuda';
import { hasCompiler } from '@tsinductor/testing/loops';

const root = join(import.meta.dirname, '../..');
const directory = mkdtempSync(join(tmpdir(), 'tsinductor-gpu-'));
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

const PATH = '/usr/local/bin:/usr/bin:/bin';

function run(script: string, args: readonly string[], environment: Readonly<Record<string, string>>) {
  const env = { PATH, HOME: directory, TORCHINDUCTOR_CACHE_DIR: join(directory, 'cache'), ...environment };
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, script), ...args], {
    env,
    encoding: 'utf8',
  });
  return { status, text: `${stdout}${stderr}` };
}

const withoutDriver = { TSINDUCTOR_CUDA_DRIVER: 'libcuda-that-is-not-there.so' };

describe('without a GPU', () => {
  test.each([
    ['tests/gpu/run.mjs', [], 'test:gpu was not run: CUDA_DRIVER_NOT_FOUND: '],
    ['benchmarks/dist/main.js', ['--device', 'cuda'], 'nothing was measured: CUDA_'],
  ])('%s says why it does nothing, with a status of its own', (script, args, expected) => {
    const { status, text } = run(script, args, withoutDriver);
    expect(text).toContain(expected);
    expect(status).toBe(3);
  });
});

(hasCompiler() ? describe : describe.skip)('on the emulated device', () => {
  let emulated: Readonly<Record<string, string>> = {};
  beforeAll(() => {
    emulated = { CUDACXX: emulatedNvcc(directory), TSINDUCTOR_CUDA_DRIVER: emulatedDriver(directory) };
  });

  test('every strategy gives the bits of the emulation', () => {
    const { status, text } = run('tests/gpu/run.mjs', ['--golden', '/nowhere'], emulated);
    expect(text).toMatch(/^kernels: \d+ as in the emulation, 0 not/m);
    expect(text).toContain('hand-written kernels: 5 as in the emulation, 0 not');
    expect(text).toContain('the golden cases were not run: /nowhere is not there');
    expect(status).toBe(0);
  }, 240_000);

  test('doctor tells of driver, devices and toolkit', () => {
    const { text } = run('packages/tsinductor/lib/cli/tsinductor.js', ['doctor'], emulated);
    expect(text).toContain('CUDA driver: for CUDA 13.0, 2 devices');
    expect(text).toContain('cuda:1: stub, sm_90, 132 multiprocessors, 80.0 GiB');
    expect(text).toContain(`CUDA toolkit: ${emulated['CUDACXX'] ?? ''}: 13.0`);
  });
});

const { toolkit } = findCudaToolkit({ path: PATH });
if (toolkit === undefined) process.stderr.write('the kernels of device limits were not compiled: no CUDA toolkit\n');
(toolkit === undefined ? test.skip : test).each(['sm_80', 'sm_90a'])(
  'nvcc compiles the kernels of device limits for %s',
  async (architecture) => {
    if (toolkit === undefined) return;
    const paths = { ptxPath: join(directory, 'limits.ptx'), cubinPath: join(directory, 'limits.cubin') };
    const source = { source: limitKernels, architecture };
    const { facts } = await compileCuda(toolkit, source, { ...paths, warnings: 'errors' });
    expect(facts.map(({ kernel }) => kernel)).toEqual(
      expect.arrayContaining(['copy_0', 'copy_6', 'multiply_add', 'rate_erf']),
    );
    expect(facts.every(({ spillStoreBytes }) => spillStoreBytes === 0)).toBe(true);
  },
);

test('the archive for a machine with a GPU is under 60 MB and starts without a PATH', () => {
  const out = join(directory, 'packed.tar.gz');
  // The script itself unpacks what it made elsewhere and runs doctor there.
  expect(run('tools/pack-gpu.mjs', ['--out', out], {})).toMatchObject({ status: 0 });
  expect(statSync(out).size).toBeLessThan(60_000_000);
}, 240_000);
