// The search for a CUDA toolkit, with small scripts in place of nvcc; what ptxas says; and one real compilation where
// there is a toolkit.
import { afterAll, describe, expect, test } from '@jest/globals';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { compileCuda, compileCudaSync } from './compile-cuda.ts';
import { findCudaToolkit, requireCudaToolkit } from './cuda-toolkit.ts';
import { parsePtxasFacts } from './ptxas-facts.ts';

const home = mkdtempSync(join(tmpdir(), 'tsinductor-toolkit-'));
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

/** A script in place of nvcc. */
function fake(directory: string, release: string): string {
  const nvcc = join(home, directory, 'bin', 'nvcc');
  mkdirSync(dirname(nvcc), { recursive: true });
  writeFileSync(nvcc, `#!/bin/sh\necho 'Cuda compilation tools, ${release}'\necho 'Build cuda_${directory}'\n`);
  chmodSync(nvcc, 0o755);
  return nvcc;
}

describe('the search', () => {
  const [named, cudaHome, cudaPath] = ['named', 'home', 'path'].map((name) => fake(name, 'release 13.0, V13.0.1'));
  const onPath = fake('bin-on-path', 'release 12.4, V12.4.1');
  const installed = join(home, 'usr-local');
  fake('usr-local/cuda-12.9', 'release 12.9, V12.9');
  fake('usr-local/cuda-12.10', 'release 12.10, V12.10');
  const everything = {
    configured: dirname(dirname(named ?? '')),
    cudaHome: join(home, 'home'),
    cudaPath: join(home, 'path'),
    path: `/nowhere:${dirname(onPath)}:/bin`,
    installed: [installed],
  };

  test.each([
    ['what is configured', everything, named, '13.0'],
    ['an nvcc that is configured', { ...everything, configured: cudaPath }, cudaPath, '13.0'],
    ['CUDA_HOME', { ...everything, configured: undefined }, cudaHome, '13.0'],
    ['CUDA_PATH', { ...everything, configured: '', cudaHome: undefined }, cudaPath, '13.0'],
    ['PATH', { path: everything.path, installed: [installed] }, onPath, '12.4'],
    [
      'the newest that is installed',
      { path: '/bin', installed: [installed] },
      join(installed, 'cuda-12.10/bin/nvcc'),
      '12.10',
    ],
  ])('%s comes first', (...[, options, nvcc, version]) => {
    expect(findCudaToolkit(options).toolkit).toMatchObject({ nvcc, version });
  });

  test('goes on where one does not work, and lists every place in the error', () => {
    const old = fake('old', 'release 11.8, V11.8');
    const broken = fake('broken', '');
    writeFileSync(broken, '#!/bin/sh\nexit 3\n');
    const report = findCudaToolkit({
      configured: join(home, 'absent'),
      cudaHome: dirname(dirname(old)),
      cudaPath: broken,
      path: '/bin',
      installed: [],
    });
    expect(report.searched.map(({ origin, outcome }) => [origin, outcome])).toEqual([
      ['the configuration', 'absent'],
      ['CUDA_HOME', 'unusable'],
      ['CUDA_PATH', 'unusable'],
      ['PATH', 'absent'],
    ]);
    const error = ((): unknown => {
      try {
        return requireCudaToolkit(report);
      } catch (thrown) {
        return thrown;
      }
    })() as { code: string; message: string };
    expect(error.code).toBe('CUDA_TOOLKIT_NOT_FOUND');
    expect(error.message).toContain(`${home}/absent/bin/nvcc (the configuration): there is no executable file`);
    expect(error.message).toContain('is CUDA 11, and 12 or newer is needed');
    expect(error.message).toContain('does not run: status 3');
    expect(error.message).toContain('/bin/nvcc (PATH)');
  });
});

test('what ptxas says of kernels', () => {
  const messages = [
    "ptxas info    : Compiling entry function 'first' for 'sm_80'",
    'ptxas info    : Function properties for first',
    '    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads',
    'ptxas info    : Used 25 registers, used 1 barriers, 128 bytes smem, 376 bytes cmem[0], 8 bytes cmem[2]',
    "ptxas info    : Compiling entry function 'second' for 'sm_80'",
    'ptxas info    : Used 9 registers, 360 bytes cmem[0]',
  ].join('\n');
  expect(parsePtxasFacts(messages)).toEqual([
    {
      kernel: 'first',
      architecture: 'sm_80',
      registers: 25,
      stackBytes: 8,
      spillStoreBytes: 4,
      spillLoadBytes: 12,
      sharedBytes: 128,
      constantBytes: 384,
      barriers: 1,
    },
    {
      kernel: 'second',
      architecture: 'sm_80',
      registers: 9,
      stackBytes: 0,
      spillStoreBytes: 0,
      spillLoadBytes: 0,
      sharedBytes: 0,
      constantBytes: 360,
      barriers: 0,
    },
  ]);
});

const { toolkit } = findCudaToolkit({ path: process.env['PATH'] ?? '' });
if (toolkit === undefined) process.stderr.write('nvcc tests skipped: no CUDA toolkit\n');
(toolkit === undefined ? describe.skip : describe)('nvcc', () => {
  const paths = { ptxPath: join(home, 'k.ptx'), cubinPath: join(home, 'k.cubin') };
  const kernel = 'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }\n';

  test('makes PTX, machine code and facts', async () => {
    if (toolkit === undefined) return;
    const { facts, warnings } = await compileCuda(toolkit, { source: kernel, architecture: 'sm_90a' }, paths);
    expect(warnings).toBe('');
    expect(facts).toMatchObject([{ kernel: 'twice', architecture: 'sm_90a', spillStoreBytes: 0 }]);
    expect(readFileSync(paths.ptxPath, 'utf8')).toContain('.target sm_90a');
    expect(readFileSync(paths.cubinPath).subarray(1, 4).toString()).toBe('ELF');
  });

  const unused = { source: kernel.replace('{ x', '{ int unused; x'), architecture: 'sm_80' };

  test('a warning is told with what was made', async () => {
    if (toolkit === undefined) return;
    const told = expect.stringMatching(/unused[^]*was declared but never referenced/);
    const made = { warnings: told, facts: [{ kernel: 'twice', architecture: 'sm_80' }] };
    expect(await compileCuda(toolkit, unused, paths)).toMatchObject(made);
    expect(compileCudaSync(toolkit, unused, paths)).toMatchObject(made);
  });

  test('a warning is an error, which keeps the source, for whoever asks for that', async () => {
    if (toolkit === undefined) return;
    const failure = (await compileCuda(toolkit, unused, { ...paths, warnings: 'errors' }).catch(
      (error: unknown) => error,
    )) as { code: string; message: string };
    expect(failure.code).toBe('CUDA_COMPILER_FAILED');
    expect(failure.message).toMatch(/unused.*was declared but never referenced/s);
    expect(readFileSync(`${paths.cubinPath}.failed.cu`, 'utf8')).toBe(unused.source);
  });
});
