// The driver's side of CUDA against a stub library: the sequence of calls, reuse of memory, and every failure as a coded
// error. Needs a C++ compiler, and no GPU.
import { afterAll, describe, expect, test } from '@jest/globals';
import { DriverControl, emulatedDriver } from '@tsinductor/testing/emulated-cuda';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBridge } from './bridge.ts';
import { buildBridge } from './build-bridge.ts';
import { CudaDevice } from './cuda-device.ts';
import { CudaDriver } from './cuda-driver.ts';
import { deviceSizeClass } from './cuda-memory.ts';
import { findToolchain } from './toolchain.ts';

const directory = mkdtempSync(join(tmpdir(), 'tsinductor-cuda-'));
const { toolchain } = findToolchain({ path: process.env['PATH'] ?? '' });
const ring = toolchain === undefined ? describe.skip : describe;
if (toolchain === undefined) process.stderr.write('cuda driver tests skipped: no C++ compiler\n');

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

function setUp() {
  if (toolchain === undefined) throw new RangeError('no compiler');
  const options = { toolchain, directory };
  const bridge = openBridge(options);
  const addon = buildBridge(options);
  const library = emulatedDriver(directory);
  const open = (): CudaDriver => CudaDriver.open({ bridge, addon, library });
  const control = new DriverControl(open());
  return { bridge, addon, control, open };
}

const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
  return 'nothing was thrown';
};

ring('the CUDA driver', () => {
  const { bridge, addon, control, open } = toolchain === undefined ? ({} as ReturnType<typeof setUp>) : setUp();

  test('copies, loads, launches and waits in this order', () => {
    control.log();
    {
      using device = CudaDevice.open(open());
      expect(device.facts).toEqual({
        name: 'stub',
        architecture: 'sm_90',
        multiprocessors: 132,
        memoryBytes: 80 * 2 ** 30,
        sharedBytes: 232448,
      });
      control.log();
      const host = bridge.allocate(64);
      new Float32Array(host.buffer).fill(2.5);
      const block = device.memory.acquire(64);
      device.copyToDevice(host, block, 64);
      const module = device.loadModule(Buffer.from('.version 8.0'));
      const start = device.recordEvent();
      module.launch('add', { blocks: 3, threads: 128, sharedBytes: 0 }, [42, 7]);
      module.launch('add', { blocks: 2, threads: 64, sharedBytes: 64 * 1024 }, [-1, 2 ** 40]);
      module.launch('add', { blocks: 0, threads: 64, sharedBytes: 0 }, []);
      expect(start.millisecondsUntil(device.recordEvent())).toBe(1.5);
      new Float32Array(host.buffer).fill(0);
      device.copyToHost(block, host, 64);
      expect(new Float32Array(host.buffer)[15]).toBe(2.5);
      device.memory.release(block);
    }
    expect(control.log()).toEqual([
      'cuMemAlloc_v2 512',
      'cuMemcpyHtoDAsync_v2',
      'cuModuleLoadData',
      'cuEventCreate',
      'cuEventRecord',
      'cuModuleGetFunction add',
      'cuLaunchKernel 3 x 128 shared 0: 42 7',
      'cuFuncSetAttribute 8 65536',
      'cuLaunchKernel 2 x 64 shared 65536: -1 1099511627776',
      'cuEventCreate',
      'cuEventRecord',
      'cuEventSynchronize',
      'cuEventElapsedTime',
      'cuMemcpyDtoHAsync_v2',
      'cuStreamSynchronize',
      'cuMemFree_v2',
      'cuModuleUnload',
      'cuStreamDestroy_v2',
      'cuCtxSetCurrent',
      'cuDevicePrimaryCtxRelease_v2',
    ]);
  });

  test('memory that is given back is used again, and trimmed before giving up', () => {
    using device = CudaDevice.open(open());
    const first = device.memory.acquire(1000);
    device.memory.release(first);
    expect(device.memory.acquire(900).address).toBe(first.address);
    device.memory.release(first);
    control.log();
    control.failNext('cuMemAlloc_v2', 2);
    const large = device.memory.acquire(5000);
    expect(control.log()).toEqual(['cuMemAlloc_v2 5120', 'cuMemFree_v2', 'cuMemAlloc_v2 5120']);
    expect(device.memory.stats()).toEqual({ inUse: 5120, cached: 0, peak: 5120, driverAllocations: 2 });
    control.failNext('cuMemAlloc_v2', 2);
    expect(codeOf(() => device.memory.acquire(10))).toBe('CUDA_OUT_OF_MEMORY');
    device.memory.release(large);
  });

  test('memory is taken up to a share of the device', () => {
    const mostBytes = 64 * 1024;
    using whole = CudaDevice.open(open());
    const memoryFraction = mostBytes / whole.facts.memoryBytes;
    using device = CudaDevice.open(open(), 0, { memoryFraction, preallocate: false });
    const first = device.memory.acquire(40 * 1024);
    expect(codeOf(() => device.memory.acquire(25 * 1024))).toBe('CUDA_OUT_OF_MEMORY');
    expect(() => device.memory.acquire(25 * 1024)).toThrow(
      /25600 bytes were asked for.*may take 65536 \(cuda.memoryFraction\)/,
    );
    // What is cached makes room.
    device.memory.release(first);
    control.log();
    device.memory.acquire(50 * 1024);
    expect(control.log()).toEqual(['cuMemFree_v2', 'cuMemAlloc_v2 51200']);
  });

  test('a share is taken at once, and parts of it are handed out', () => {
    using whole = CudaDevice.open(open());
    const memoryFraction = (64 * 1024) / whole.facts.memoryBytes;
    control.log();
    using device = CudaDevice.open(open(), 0, { memoryFraction, preallocate: true });
    expect(control.log().filter((line) => line.startsWith('cuMemAlloc'))).toEqual(['cuMemAlloc_v2 65536']);
    const [first, second] = [device.memory.acquire(40 * 1024), device.memory.acquire(20 * 1024)];
    expect(second.address).toBe(first.address + 40 * 1024);
    expect(codeOf(() => device.memory.acquire(10 * 1024))).toBe('CUDA_OUT_OF_MEMORY');
    device.memory.release(second);
    expect(device.memory.acquire(10 * 1024)).toEqual({ address: second.address, bytes: 20 * 1024 });
    device.memory.trim();
    expect(control.log().join('')).toBe('');
    control.failNext('cuMemAlloc_v2', 2);
    expect(codeOf(() => CudaDevice.open(open(), 0, { memoryFraction, preallocate: true }))).toBe('CUDA_OUT_OF_MEMORY');
  });

  test.each([
    ['cuInit', 100, 'CUDA_NO_DEVICE'],
    ['cuDeviceGet', 101, 'CUDA_DRIVER_FAILED'],
    ['cuStreamCreate', 2, 'CUDA_OUT_OF_MEMORY'],
    ['cuModuleLoadData', 209, 'CUDA_DRIVER_FAILED'],
    ['cuModuleGetFunction', 500, 'CUDA_DRIVER_FAILED'],
    ['cuLaunchKernel', 701, 'CUDA_DRIVER_FAILED'],
    ['cuStreamSynchronize', 700, 'CUDA_ILLEGAL_ADDRESS'],
    ['cuStreamSynchronize', 716, 'CUDA_ILLEGAL_ADDRESS'],
    ['cuMemcpyDtoHAsync_v2', 700, 'CUDA_ILLEGAL_ADDRESS'],
  ])('%s failing with %d is %s', (call, status, code) => {
    control.failNext(call, status);
    const work = (): void => {
      const device = CudaDevice.open(open());
      const module = device.loadModule(Buffer.from(''));
      module.launch('add', { blocks: 1, threads: 32, sharedBytes: 0 }, [1, 2]);
      const host = bridge.allocate(64);
      device.copyToHost(device.memory.acquire(64), host, 64);
    };
    expect(codeOf(work)).toBe(code);
  });

  test('a failure names the call and the driver’s name for it', () => {
    using device = CudaDevice.open(open());
    control.failNext('cuStreamSynchronize', 719);
    expect(() => {
      device.synchronize();
    }).toThrow('cuStreamSynchronize of the CUDA driver failed: CUDA_ERROR_LAUNCH_FAILED (719)');
  });

  test('an old driver, and one that is not there', () => {
    control.setVersion(11080);
    expect(open).toThrow('the CUDA driver is for CUDA 11.8, and 12.0 or newer is needed');
    control.setVersion(13000);
    const missing = (): CudaDriver => CudaDriver.open({ bridge, addon, library: 'libcuda-that-is-not-there.so.1' });
    expect(codeOf(missing)).toBe('CUDA_DRIVER_NOT_FOUND');
    expect(missing).toThrow(/libcuda-that-is-not-there.so.1 cannot be loaded: .*No such file/);
  });
});

test('size classes waste at most an eighth of large blocks', () => {
  expect([0, 1, 512, 513, 2 ** 20].map(deviceSizeClass)).toEqual([512, 512, 512, 1024, 2 ** 20]);
  for (let bytes = 2 ** 20; bytes < 2 ** 28; bytes = Math.ceil(bytes * 1.37)) {
    const size = deviceSizeClass(bytes);
    expect(size).toBeGreaterThanOrEqual(bytes);
    expect(size / bytes).toBeLessThanOrEqual(1.125);
  }
});
