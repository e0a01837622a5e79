// A library that is loaded by name and called through the bridge: a foreign-function interface for C functions of
// integers and pointers. In: numbers, addresses and texts. Out: the int that the function returns.
//
// The caller keeps alive what an address points to, and knows the function's parameters: nothing here can check them.
import type { Bridge, NativeBlock } from './bridge.ts';

/** An argument: an integer or an address. */
export type Word = number;

export interface ForeignLibrary {
  /** Calls a function; undefined where the library has none of that name. */
  call(symbol: string, words: readonly Word[]): number | undefined;
  /** The text at an address of the library's: its first 511 bytes. */
  textAt(address: number): string;
}

interface ForeignFailure {
  readonly reason: string;
}

interface ForeignOptions {
  readonly bridge: Bridge;
  /** The path of the verified addon, which has the entries that call. */
  readonly addon: string;
}

/** The most arguments that a call may have. */
const mostWords = 11;
const reasonBytes = 512;

export function openForeignLibrary({ bridge, addon }: ForeignOptions, name: string): ForeignLibrary | ForeignFailure {
  const result = bridge.allocate(8);
  const reason = bridge.allocate(reasonBytes);
  const text = textBlock(bridge, name);
  try {
    const table = Float64Array.of(text.address, result.address, reason.address);
    const open = bridge.bind(bridge.load(addon, 'tsinductor_foreign_open'), table, { buffers: 3, sizes: 0 });
    if (open() !== 0) return { reason: textOf(reason) };
    return new BridgedLibrary({ bridge, addon }, addressIn(result));
  } finally {
    for (const block of [result, reason, text]) bridge.free(block);
  }
}

class BridgedLibrary implements ForeignLibrary {
  readonly #options: ForeignOptions;
  readonly #handle: number;
  readonly #functions = new Map<string, number>();
  readonly #table = new Float64Array(1 + mostWords);
  readonly #call: () => number;

  constructor(options: ForeignOptions, handle: number) {
    this.#options = options;
    this.#handle = handle;
    const { bridge, addon } = options;
    const entry = bridge.load(addon, 'tsinductor_foreign_call');
    this.#call = bridge.bind(entry, this.#table, { buffers: 1, sizes: mostWords });
  }

  call(symbol: string, words: readonly Word[]): number | undefined {
    const address = this.#functions.get(symbol) ?? this.#find(symbol);
    if (address === 0) return undefined;
    this.#table.fill(0);
    this.#table[0] = address;
    this.#table.set(words, 1);
    return this.#call();
  }

  textAt(address: number): string {
    const { bridge, addon } = this.#options;
    const copy = bridge.allocate(reasonBytes);
    try {
      const table = Float64Array.of(address, copy.address);
      bridge.bind(bridge.load(addon, 'tsinductor_foreign_text'), table, { buffers: 2, sizes: 0 })();
      return textOf(copy);
    } finally {
      bridge.free(copy);
    }
  }

  /** The function's address, or 0. */
  #find(symbol: string): number {
    const { bridge, addon } = this.#options;
    const name = textBlock(bridge, symbol);
    const result = bridge.allocate(8);
    try {
      const table = Float64Array.of(this.#handle, name.address, result.address);
      const find = bridge.bind(bridge.load(addon, 'tsinductor_foreign_find'), table, { buffers: 3, sizes: 0 });
      const address = find() === 0 ? addressIn(result) : 0;
      this.#functions.set(symbol, address);
      return address;
    } finally {
      bridge.free(name);
      bridge.free(result);
    }
  }
}

/** The address that a block holds. */
export const addressIn = ({ buffer }: NativeBlock, slot: number = 0): number =>
  Number(new BigUint64Array(buffer, 0, slot + 1)[slot] ?? 0n);

/** A text as C reads it. */
export function textBlock(bridge: Bridge, text: string): NativeBlock {
  const bytes = Buffer.from(`${text}\0`, 'utf8');
  const block = bridge.allocate(bytes.length);
  new Uint8Array(block.buffer).set(bytes);
  return block;
}

/** The text that C wrote. */
export function textOf({ buffer }: NativeBlock): string {
  const bytes = Buffer.from(buffer);
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end);
}
