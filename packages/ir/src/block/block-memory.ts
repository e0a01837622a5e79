// The buffers of a launch as the Block IR interpreter sees them: every access is checked against the buffer's bounds, against
// what was never written, and against what other program instances did to the same element.
//
// Law of races: an element that one instance writes is not touched by another, unless both do so atomically.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Value } from '@tsinductor/ops';
import { bitEncoders, readElement, writeElement } from '../interpret/element-array.ts';
import type { ElementArray } from '../interpret/element-array.ts';
import type { BlockParam } from './block.ts';
import { outOfBounds, programRace, uninitialisedRead } from './block-errors.ts';
import type { FaultSite } from './block-errors.ts';

/** A buffer argument. `defined` has a 1 for each element that may be read; without it all may. Writes set it. */
interface BlockBuffer {
  readonly elements: ElementArray;
  readonly defined?: Uint8Array;
}

/** What a kernel is run with, in the order of its parameters. */
export type BlockArgument = BlockBuffer | Value;

export const isBuffer = (argument: BlockArgument): argument is BlockBuffer => typeof argument === 'object';

/** Who touched each element in this launch, as 1 + the instance's number; 0: nobody. */
interface Shadow {
  readonly writer: Int32Array;
  readonly reader: Int32Array;
  readonly updater: Int32Array;
}

const several = -1;

export class BlockMemory {
  readonly name: string;
  readonly #dtype: DType;
  readonly #buffer: BlockBuffer;
  readonly #shadow: Shadow;
  readonly #programName: (instance: number) => string;

  constructor({ name, dtype }: BlockParam, buffer: BlockBuffer, programName: (instance: number) => string) {
    const size = buffer.elements.length;
    this.name = name;
    this.#dtype = dtype;
    this.#buffer = buffer;
    this.#programName = programName;
    this.#shadow = { writer: new Int32Array(size), reader: new Int32Array(size), updater: new Int32Array(size) };
  }

  /** One element, read by instance number `instance`. */
  read(offset: number, instance: number, site: FaultSite): Value {
    this.#bounds({ offset, site }, 'reads');
    const { writer, reader, updater } = this.#shadow;
    const me = instance + 1;
    this.#exclusive({ offset, site }, [writer, updater], { me, verb: 'reads' });
    const before = at(reader, offset);
    if (before !== me) reader[offset] = before === 0 ? me : several;
    return this.#value(offset, site);
  }

  write(offset: number, value: Value, { instance, site }: { instance: number; site: FaultSite }): void {
    this.#bounds({ offset, site }, 'writes');
    const { writer, reader, updater } = this.#shadow;
    const me = instance + 1;
    this.#exclusive({ offset, site }, [writer, reader, updater], { me, verb: 'writes' });
    writer[offset] = me;
    this.#set(offset, value);
  }

  /** Replaces an element atomically by what `change` makes of it; returns what was there. */
  update(
    offset: number,
    change: (old: Value) => Value,
    { instance, site }: { instance: number; site: FaultSite },
  ): Value {
    this.#bounds({ offset, site }, 'writes');
    const { writer, reader, updater } = this.#shadow;
    const me = instance + 1;
    this.#exclusive({ offset, site }, [writer, reader], { me, verb: 'updates' });
    const before = at(updater, offset);
    if (before !== me) updater[offset] = before === 0 ? me : several;
    const old = this.#value(offset, site);
    this.#set(offset, change(old));
    return old;
  }

  #bounds({ offset, site }: { offset: number; site: FaultSite }, verb: 'reads' | 'writes'): void {
    const { length } = this.#buffer.elements;
    if (offset < 0 || offset >= length) throw outOfBounds({ site, buffer: this.name, offset }, length, verb);
  }

  #exclusive(
    { offset, site }: { offset: number; site: FaultSite },
    claims: readonly Int32Array[],
    { me, verb }: { me: number; verb: 'reads' | 'writes' | 'updates' },
  ): void {
    for (const claim of claims) {
      const other = at(claim, offset);
      if (other === 0 || other === me) continue;
      const did = claim === this.#shadow.writer ? 'writes' : claim === this.#shadow.reader ? 'reads' : 'updates';
      const who = other === several ? 'others' : this.#programName(other - 1);
      throw programRace({ site, buffer: this.name, offset }, `${who} ${did}`, verb);
    }
  }

  #value(offset: number, site: FaultSite): Value {
    const { elements, defined } = this.#buffer;
    if (defined?.[offset] === 0) throw uninitialisedRead({ site, buffer: this.name, offset });
    return readElement(elements, this.#dtype, offset) ?? 0;
  }

  #set(offset: number, value: Value): void {
    const { elements, defined } = this.#buffer;
    writeElement(elements, offset, bitEncoders[this.#dtype]?.(Number(value)) ?? value);
    if (defined !== undefined) defined[offset] = 1;
  }
}
