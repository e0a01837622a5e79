// A CUDA toolkit and a driver for tests, under the subpath `emulated-cuda`: code that the toolkit makes runs on the host's
// emulation of CUDA when the driver launches it. In: a directory to build in. Out: the paths of nvcc and of the driver.
//
// Everything between `compile` and the driver's calls is the real thing; only the two ends are stood in for.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const native = (name: string): string => fileURLToPath(new URL(`../native/${name}`, import.meta.url));
const emulationHeader = fileURLToPath(new URL('../../runtime/native/cuda-emulation.h', import.meta.url));

/** A library in place of libcuda.so.1. */
export function emulatedDriver(directory: string): string {
  const library = join(directory, 'libcuda-emulated.so');
  const parameters = ['-O1', '-std=c++17', '-shared', '-fPIC', native('cuda-driver.cc'), '-o', library];
  const { status, stderr } = spawnSync('c++', parameters, { encoding: 'utf8' });
  if (status !== 0) throw new RangeError(`the emulated driver does not compile: ${stderr}`);
  return library;
}

/** A program in place of nvcc. */
export function emulatedNvcc(directory: string): string {
  const bin = join(directory, 'bin');
  mkdirSync(bin, { recursive: true });
  const nvcc = join(bin, 'nvcc');
  const command = [process.execPath, native('nvcc.mjs'), emulationHeader].map((text) => `'${text}'`).join(' ');
  writeFileSync(nvcc, `#!/bin/sh\nexec ${command} "$@"\n`);
  chmodSync(nvcc, 0o755);
  return nvcc;
}

/** What of an opened driver is needed to talk to the emulated one behind it. */
interface OpenedDriver {
  readonly bridge: {
    allocate(bytes: number): { readonly address: number; readonly buffer: ArrayBuffer; readonly bytes: number };
  };
  check(symbol: string, words: readonly number[]): void;
}

/** What a test asks of the emulated driver. */
export class DriverControl {
  readonly #driver: OpenedDriver;

  constructor(driver: OpenedDriver) {
    this.#driver = driver;
  }

  /** The calls since the last time, with what is told of them. */
  log(): string[] {
    return this.#text('stub_log').split('\n');
  }

  /** What the emulation found wrong with the launch that failed last. */
  fault(): string {
    return this.#text('stub_fault');
  }

  /** The next calls of that name give `status`. */
  failNext(call: string, status: number, times = 1): void {
    const name = this.#driver.bridge.allocate(64);
    new Uint8Array(name.buffer).set(Buffer.from(`${call}\0`));
    this.#driver.check('stub_fail', [name.address, status, times]);
  }

  setVersion(version: number): void {
    this.#driver.check('stub_version', [version]);
  }

  setDevices(count: number): void {
    this.#driver.check('stub_devices', [count]);
  }

  #text(symbol: string): string {
    const block = this.#driver.bridge.allocate(1 << 16);
    this.#driver.check(symbol, [block.address, block.bytes]);
    const bytes = Buffer.from(block.buffer);
    return bytes.toString('utf8', 0, bytes.indexOf(0)).trim();
  }
}
