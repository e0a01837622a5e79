// The shared memory of the kernel being written: pieces of the one block that the launch provides, none of which overlap.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { KernelWriter } from '@tsinductor/codegen';
import { sharedLimit } from '../target.ts';

const alignment = 16;

const bytesFor = (dtype: DType, size: number): number =>
  Math.ceil((size * dtypeInfo[dtype].bytes) / alignment) * alignment;

export class SharedMemory {
  #top = 0;
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
    return this.#top + bytesFor(dtype, size) <= sharedLimit;
  }

  /** Declares a piece in the present block of statements; its name. */
  declare(base: string, dtype: DType, size: number): string {
    const name = this.#writer.fresh(base);
    this.#writer.emit({ kind: 'scratch', name, dtype, size, shared: this.#top });
    this.#top += bytesFor(dtype, size);
    this.#bytes = Math.max(this.#bytes, this.#top);
    return name;
  }

  /** Whether the next piece lies where no other has been. */
  get isFresh(): boolean {
    return this.#top === this.#bytes;
  }

  /** What `work` declares is free again after it: its places go to later pieces. */
  frame<T>(work: () => T): T {
    const top = this.#top;
    const result = work();
    this.#top = top;
    return result;
  }
}
