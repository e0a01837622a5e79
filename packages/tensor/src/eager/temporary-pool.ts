// Memory for temporaries of loop programs, which is used again and again: a program runs to its end before another begins, so all
// programs share it. In: how many elements of which dtype. Out: an array with any content.
import { dtypeInfo, elementConstructors } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { ElementArray, TemporaryMemory } from '@tsinductor/ir';

/** Bytes that are kept; what is given back beyond them is left to the collector. */
const mostKept = 1 << 26;

/** Below this many bytes new memory costs less than looking for some. */
const leastKept = 1 << 12;

export class TemporaryPool implements TemporaryMemory {
  /** Buffers that nobody uses, by their length, which is a power of two. */
  readonly #free = new Map<number, ArrayBuffer[]>();
  #bytes = 0;

  take(dtype: DType, size: number): ElementArray {
    const bytes = size * dtypeInfo[dtype].bytes;
    const make = elementConstructors[dtype];
    if (bytes < leastKept) return new make(size);
    const length = 2 ** Math.ceil(Math.log2(bytes));
    const known = this.#free.get(length)?.pop();
    if (known !== undefined) this.#bytes -= length;
    return new make(known ?? new ArrayBuffer(length), 0, size);
  }

  give({ buffer }: ElementArray): void {
    const length = buffer.byteLength;
    if (length < leastKept || this.#bytes + length > mostKept) return;
    const list = this.#free.get(length) ?? [];
    if (list.length === 0) this.#free.set(length, list);
    list.push(buffer as ArrayBuffer);
    this.#bytes += length;
  }
}
