// Calls of the driver on behalf of one device: its context is the thread's current one whenever a call needs it. In: a
// driver and a device's handle. Out: the driver's calls, with the same errors.
//
// The driver remembers which context is current; a program with one device sets it once.
import type { CudaDriver } from './cuda-driver.ts';
import type { Word } from './foreign-library.ts';

export class CudaContext implements Disposable {
  readonly #driver: CudaDriver;
  readonly #device: number;
  readonly #handle: number;

  constructor(driver: CudaDriver, device: number) {
    this.#driver = driver;
    this.#device = device;
    this.#handle = driver.result('cuDevicePrimaryCtxRetain', (out) => [out, device]);
    driver.makeCurrent(this.#handle);
  }

  get bridge(): CudaDriver['bridge'] {
    return this.#driver.bridge;
  }

  check(symbol: string, words: readonly Word[]): void {
    this.#driver.makeCurrent(this.#handle);
    this.#driver.check(symbol, words);
  }

  result(symbol: string, words: (out: Word) => readonly Word[]): number {
    this.#driver.makeCurrent(this.#handle);
    return this.#driver.result(symbol, words);
  }

  named(symbol: string, name: string, words: (out: Word, name: Word) => readonly Word[]): number {
    this.#driver.makeCurrent(this.#handle);
    return this.#driver.named(symbol, name, words);
  }

  [Symbol.dispose](): void {
    this.#driver.makeCurrent(0);
    this.#driver.check('cuDevicePrimaryCtxRelease_v2', [this.#device]);
  }
}
