// Copies of one thread that are under way, for the Kernel IR's interpreter. What is copied is taken at once; its place holds
// nothing until its group lands.
import type { Value as Scalar } from '@tsinductor/ops';
import type { KernelMemory } from './kernel-run.ts';

interface AsyncCopy {
  readonly memory: KernelMemory;
  readonly place: number;
  readonly elements: readonly Scalar[];
}

export class AsyncCopies {
  #pending: readonly (AsyncCopy & { readonly group: number })[] = [];
  #groups = 0;

  send({ memory, place, elements }: AsyncCopy): void {
    memory.elements.fill(undefined, place, place + elements.length);
    this.#pending = [...this.#pending, { memory, place, elements, group: this.#groups }];
  }

  commit(): void {
    this.#groups += 1;
  }

  /** All groups but the `pending` latest land. */
  wait(pending: number): void {
    const hasLanded = (group: number): boolean => group + pending < this.#groups;
    for (const { memory, place, elements, group } of this.#pending)
      if (hasLanded(group)) elements.forEach((value, lane) => (memory.elements[place + lane] = value));
    this.#pending = this.#pending.filter(({ group }) => !hasLanded(group));
  }
}
