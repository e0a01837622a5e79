// The numbers and sizes that a trace left open, in a call whose guards hold. In: the slots and leaves of the guards. Out: their values by
// path and name; whether they are what they were in the call that fitted last, so that nothing about them need be found out again.
import type { Tensor } from '@tsinductor/tensor';
import type { Point } from './explain-number.ts';
import { firstSlot } from './guard.ts';
import type { TracedCall } from './trace-call.ts';

export class OpenValues {
  readonly #numbers: readonly { readonly path: string; readonly slot: number }[];
  readonly #sizes: readonly { readonly name: string; readonly leaf: number; readonly axis: number }[];
  /** Values of the call that fitted last: numbers, then sizes. */
  readonly #met: number[] = [];

  constructor({ guards, sizes, positions }: Pick<TracedCall, 'guards' | 'sizes' | 'positions'>) {
    this.#numbers = guards.nodes.flatMap(({ path, expect }, index) =>
      expect.kind === 'number' ? [{ path, slot: firstSlot + index }] : [],
    );
    this.#sizes = sizes.map(({ name, placeholder, axis }) => ({ name, leaf: positions.indexOf(placeholder), axis }));
  }

  isAsBefore(slots: readonly unknown[], leaves: readonly Tensor[]): boolean {
    const met = this.#met;
    if (met.length === 0) return false;
    let index = 0;
    for (const { slot } of this.#numbers) if (!Object.is(slots[slot], met[index++])) return false;
    for (const { leaf, axis } of this.#sizes) if (leaves[leaf]?.shape[axis] !== met[index++]) return false;
    return true;
  }

  remember(slots: readonly unknown[], leaves: readonly Tensor[]): void {
    let index = 0;
    for (const { slot } of this.#numbers) this.#met[index++] = Number(slots[slot]);
    for (const { leaf, axis } of this.#sizes) this.#met[index++] = leaves[leaf]?.shape[axis] ?? 0;
  }

  point(slots: readonly unknown[], leaves: readonly Tensor[]): Point {
    return {
      numbers: new Map(this.#numbers.map(({ path, slot }) => [path, Number(slots[slot])])),
      sizes: new Map(this.#sizes.map(({ name, leaf, axis }) => [name, leaves[leaf]?.shape[axis] ?? 0])),
    };
  }
}
