// The effects of the settings of CUDA. A script stands for nvcc, and writes down how it is called; where there is a real one it
// compiles as well.
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { openDevices, Session } from '@tsinductor/compiler';
import { resolveConfig } from '@tsinductor/config';
import type { ConfigPatch } from '@tsinductor/config';
import { DriverControl, emulatedDriver, emulatedNvcc } from '@tsinductor/testing/emulated-cuda';
import { compile, full, ones, reset, setConfig } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { f32, kernel, ptr } from 'tsinductor/dsl';
import { freshDirectory } from './effect.ts';
import type { Effect } from './effect.ts';

interface Compiled {
  /** The commands, in order. */
  readonly commands: readonly string[];
  readonly told: readonly string[];
  readonly warned: readonly string[];
}

/** Compiles a kernel by a compiler that only says what it would. */
function compiledUnder(cuda: ConfigPatch): Compiled {
  const directory = freshDirectory();
  const [log, nvcc] = [join(directory, 'log'), join(directory, 'nvcc')];
  writeFileSync(
    nvcc,
    [
      '#!/bin/sh',
      'if [ "$1" = --version ]; then echo "Cuda compilation tools, release 12.4"; echo "Build stub"; exit; fi',
      `echo "$*" >> ${log}`,
      'while [ "$1" != -o ]; do shift; done',
      'echo made > "$2"',
      `echo "ptxas info : Compiling entry function 'twice' for 'sm_80'"`,
      'echo "    0 bytes stack frame, 24 bytes spill stores, 8 bytes spill loads"',
      'echo "ptxas info : Used 40 registers, 128 bytes smem"',
    ].join('\n'),
  );
  chmodSync(nvcc, 0o755);
  const [told, warned]: [string[], string[]] = [[], []];
  const voice = {
    warn: (code: string) => warned.push(code),
    log: (topic: string, message: string) => told.push(`${topic}: ${message}`),
  };
  const program = { cacheDir: freshDirectory(), compileThreads: 1, cuda: { cudaCxx: nvcc, ...cuda } };
  using session = new Session(resolveConfig({ env: {}, program }), voice);
  const { builder } = session;
  const source = { source: 'extern "C" __global__ void twice(float *x);', architecture: 'sm_80' };
  builder.cudaNow({ name: 'twice', source, toolkit: builder.requireToolkit() });
  const commands = readFileSync(log, 'utf8').trim().split('\n');
  return { commands, told, warned: warned.filter((code) => code.startsWith('CUDA')) };
}

/** The options of the two commands that there always are, of which each must be there. */
const optionsOf = (cuda: ConfigPatch): readonly (readonly string[])[] =>
  compiledUnder(cuda).commands.map((command) => command.split(' '));

/** What is said where a tensor goes to a device that is not to be there. */
function refusalUnder(options: ConfigPatch): unknown {
  setConfig({ cacheDir: freshDirectory(), cuda: { driver: '/nowhere/libcuda.so' }, ...options });
  try {
    return full([1], 1).cuda();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
}

/** Runs on an emulated device under settings; gives the calls of the driver that wait, and those that launch. */
function callsUnder(triton: ConfigPatch): readonly string[] {
  const directory = emulated.directory === '' ? (emulated.directory = freshDirectory()) : emulated.directory;
  if (emulated.driver === '') {
    emulated.driver = emulatedDriver(directory);
    emulated.cudaCxx = emulatedNvcc(directory);
  }
  const { driver, cudaCxx } = emulated;
  setConfig({ cacheDir: join(directory, 'cache'), cuda: { driver, cudaCxx }, triton });
  const control = new DriverControl(openDevices().driver());
  const x = full([4, 8], 1).cuda();
  const fn = compile((a: Tensor) => [a.add(1).sum(1), a.exp().sum(0)]);
  fn(x);
  control.log();
  fn(x);
  const calls = control.log().map((line) => line.split(' ')[0] ?? '');
  return calls.filter((call) => call === 'cuStreamSynchronize' || call === 'cuLaunchKernel');
}

const emulated = { directory: '', driver: '', cudaCxx: '' };

const unset = (effect: Effect) => (): void => {
  try {
    void effect();
  } finally {
    setConfig({ cuda: {}, triton: {}, tritonDisableDeviceDetection: false });
    reset();
  }
};

export const cudaEffects = {
  'cuda.visibleDevices': unset(() => {
    const before = process.env['CUDA_VISIBLE_DEVICES'];
    expect(refusalUnder({ cuda: { driver: '/nowhere/libcuda.so', visibleDevices: '1,0' } })).toBe(
      'CUDA_DRIVER_NOT_FOUND',
    );
    expect(process.env['CUDA_VISIBLE_DEVICES']).toBe('1,0');
    if (before === undefined) delete process.env['CUDA_VISIBLE_DEVICES'];
    else process.env['CUDA_VISIBLE_DEVICES'] = before;
  }),
  tritonDisableDeviceDetection: unset(() => {
    expect(refusalUnder({})).toBe('CUDA_DRIVER_NOT_FOUND');
    expect(refusalUnder({ tritonDisableDeviceDetection: true })).toBe('CUDA_DETECTION_OFF');
  }),
  'cuda.dryRun': unset(() => {
    expect(refusalUnder({ cuda: { dryRun: true } })).toBe('CUDA_DETECTION_OFF');
    const double = kernel('double', { x: ptr(f32) }, ({ x }, tl) => {
      tl.store(x, tl.load(x) * 2);
    });
    const { cuda } = double.inspect({ x: ones([1]) });
    expect(cuda).toMatchObject({ kind: 'source', source: expect.stringContaining('__global__') });
    expect(cuda.kind === 'source' ? cuda.machine : undefined).toEqual({
      kind: 'absent',
      reason: 'there is no CUDA toolkit in nowhere, as cuda.dryRun says',
    });
  }),
  'triton.debugSyncGraph': unset(() => {
    const [plain, synced] = [callsUnder({}), callsUnder({ debugSyncGraph: true })];
    expect(plain).not.toContain('cuStreamSynchronize');
    expect(synced).toEqual(['cuStreamSynchronize', ...plain, 'cuStreamSynchronize']);
  }),
  'triton.debugSyncKernel': unset(() => {
    const [plain, synced] = [callsUnder({}), callsUnder({ debugSyncKernel: true })];
    expect(synced).toEqual(plain.flatMap((launch) => [launch, 'cuStreamSynchronize']));
    const control = new DriverControl(openDevices().driver());
    control.failNext('cuStreamSynchronize', 719);
    expect(() => compile((a: Tensor) => a.mul(3))(full([4], 1).cuda())).toThrow(
      expect.objectContaining({
        code: 'CUDA_KERNEL_FAULT',
        message: expect.stringMatching(/the kernel \w*mul\w* failed/),
      }),
    );
  }),
  'cuda.version': () => {
    expect(compiledUnder({}).warned).toEqual([]);
    expect(compiledUnder({ version: '12.4' }).warned).toEqual([]);
    expect(compiledUnder({ version: '13.0' }).warned).toEqual(['CUDA_VERSION']);
  },
  'cuda.hostCompiler': () => {
    expect(optionsOf({}).flat()).not.toContain('-ccbin');
    for (const options of optionsOf({ hostCompiler: '/usr/bin/c++' }))
      expect(options.slice(options.indexOf('-ccbin'))[1]).toBe('/usr/bin/c++');
  },
  'cuda.useFastMath': () => {
    const [exact = [], fast = []] = [optionsOf({}).at(0), optionsOf({ useFastMath: true }).at(0)];
    expect(exact).toEqual(expect.arrayContaining(['--prec-div=true', '--ftz=false', '--fmad=false']));
    expect(exact).not.toContain('--use_fast_math');
    expect(fast).toContain('--use_fast_math');
    expect(fast.filter((flag) => /prec|ftz|fmad/.test(flag))).toEqual([]);
  },
  'cuda.enableDebugInfo': () => {
    expect(optionsOf({}).flat()).not.toContain('-lineinfo');
    for (const options of optionsOf({ enableDebugInfo: true })) expect(options).toContain('-lineinfo');
  },
  'cuda.debugLevel': () => {
    const level = (debugLevel: string): readonly string[] => {
      const { commands, warned } = compiledUnder({ debugLevel });
      return [...commands.flatMap((text) => text.match(/ (-g|-G|-lineinfo|-maxrregcount=32)\b/g) ?? []), ...warned];
    };
    expect(level('0')).toEqual([]);
    expect(level('1')).toEqual([' -lineinfo', ' -lineinfo']);
    expect(level('2')).toEqual([' -g', ' -G', ' -g', ' -G', 'CUDA_DEBUG']);
    expect(level('-maxrregcount=32  -lineinfo')).toEqual(Array(2).fill([' -maxrregcount=32', ' -lineinfo']).flat());
  },
  'cuda.enableCudaLto': () => {
    expect(optionsOf({}).map(([kind]) => kind)).toEqual(['-ptx', '-cubin']);
    const linked = optionsOf({ enableCudaLto: true });
    expect(linked.map(([kind]) => kind)).toEqual(['-ptx', '-cubin', '-dc', '-dlink']);
    for (const options of linked.slice(2)) expect(options).toContain('-dlto');
    expect(linked[2]).toContain('--fmad=false');
  },
  'cuda.enablePtxasInfo': () => {
    expect(compiledUnder({}).told).toEqual([]);
    const { told, warned, commands } = compiledUnder({ enablePtxasInfo: true });
    expect(told).toEqual([
      'ptxas: twice for sm_80: 40 registers, 128 bytes of shared memory, 24 bytes spilled',
      expect.stringMatching(/^ptxas: PTX: \/.*ptx$/),
    ]);
    expect(warned).toEqual(['CUDA_SPILL']);
    expect(commands[0]).toMatch(/--source-in-ptx.* -lineinfo/);
  },
} satisfies Record<string, Effect>;
