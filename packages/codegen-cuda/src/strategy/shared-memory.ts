// The shared memory of the kernel being written: pieces of the one block that the launch provides, none of which overlap.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { KernelWriter } from '@tsinductor/codegen';
import { sharedLimit } from '../target.ts';

const alignment = 16;

const bytesFor = (dtype: DType, size: number): number =>
  Math.ceil((size * dtypeInfo[dtype].bytes) / alignment) * alignment;

export class SharedMemory {
  #bytes = 0;
  readonly #writer: KernelWriter;

  constructor(writer: KernelWriter) {
    this.#writer = writer;
  }

  /** Bytes that the launch must provide. */
  get bytes(): number {
    return this.#bytes;
  }

  fits(dtype: DType, size: number): boolean {
    return this.#bytes + bytesFor(dtype, size) <= sharedLimit;
  }

  /** Declares a piece in the present block of statements; its name. */
  declare(base: string, dtype: DType, size: number): string {
    const name = this.#writer.fresh(base);
    this.#writer.emit({ kind: 'scratch', name, dtype, size, shared: this.#bytes });
    this.#bytes += bytesFor(dtype, size);
    return name;
  }
}
