// Who touched which element since when: finds two threads of a block that touch an element of memory with no meeting in
// between, one of them writing, and two blocks of a launch that do so at all.
import { InternalError } from '@tsinductor/base';
import { warpThreads } from '@tsinductor/ir';
import type { AccessKind } from './kernel-run.ts';

/** The last access of a kind to an element: by whom, and after how many meetings. */
interface Touch {
  readonly block: number;
  readonly thread: number;
  readonly barriers: number;
  readonly warpBarriers: number;
}

interface Element {
  /** The latest write or atomic update. */
  written: (Touch & { readonly kind: AccessKind }) | undefined;
  /** Reads since then, by at most two threads: more tell no more. */
  reads: readonly Touch[];
}

interface Access {
  readonly name: string;
  readonly place: number;
  readonly kind: AccessKind;
}

export class AccessLog {
  readonly #kernel: string;
  readonly #elements = new Map<string, Element>();
  #block = 0;
  #barriers = 0;
  readonly #warpBarriers = new Map<number, number>();

  readonly #shared: ReadonlySet<string>;
  readonly #global: ReadonlySet<string>;

  constructor(kernel: string, names: { readonly shared: readonly string[]; readonly global: readonly string[] }) {
    this.#kernel = kernel;
    this.#shared = new Set(names.shared);
    this.#global = new Set(names.global);
  }

  /** Shared memory begins anew. */
  startBlock(block: number): void {
    this.#block = block;
    for (const key of this.#elements.keys())
      if (this.#shared.has(key.slice(0, key.indexOf('[')))) this.#elements.delete(key);
  }

  barrier(): void {
    this.#barriers += 1;
  }

  warpBarrier(thread: number): void {
    const warp = Math.floor(thread / warpThreads);
    this.#warpBarriers.set(warp, (this.#warpBarriers.get(warp) ?? 0) + 1);
  }

  /** Throws an InternalError where `access` conflicts with an earlier one. */
  note({ name, place, kind }: Access, thread: number): void {
    if (!this.#shared.has(name) && !this.#global.has(name)) return;
    const key = `${name}[${String(place)}]`;
    const warpBarriers = this.#warpBarriers.get(Math.floor(thread / warpThreads)) ?? 0;
    const touch: Touch = { block: this.#block, thread, barriers: this.#barriers, warpBarriers };
    const element = this.#elements.get(key) ?? { written: undefined, reads: [] };
    this.#elements.set(key, element);
    const { written } = element;
    if (written !== undefined && !(kind === 'atomic' && written.kind === 'atomic')) this.#compare(key, written, touch);
    if (kind === 'read') {
      if (element.reads.length < 2) element.reads = [...element.reads, touch];
      else element.reads = [touch, ...element.reads.slice(1)];
      return;
    }
    for (const read of element.reads) this.#compare(key, read, touch);
    element.written = { ...touch, kind };
    element.reads = [];
  }

  #compare(key: string, earlier: Touch, later: Touch): void {
    const who = (touch: Touch): string => `thread ${String(touch.thread)} of block ${String(touch.block)}`;
    const race = (why: string): never => {
      throw new InternalError(
        'KERNEL_INTERPRETER',
        `kernel ${this.#kernel}: ${who(earlier)} and ${who(later)} touch ${key} ${why}`,
      );
    };
    if (earlier.block !== later.block) race('in one launch');
    if (earlier.thread === later.thread || earlier.barriers !== later.barriers) return;
    const sameWarp = Math.floor(earlier.thread / warpThreads) === Math.floor(later.thread / warpThreads);
    if (!sameWarp || earlier.warpBarriers === later.warpBarriers) race('without a barrier in between');
  }
}
