// The sizes and numbers that have changed between calls of a function: the next trace takes them as inputs. In: guards that failed.
// Out: whether an axis, or a number, is such an input.
import type { GuardFailure } from './guard.ts';

export class ChangingValues {
  readonly #axes = new Map<string, Set<number>>();
  /** Paths of plain numbers. */
  readonly #numbers = new Set<string>();

  note({ path, sizes, isNumber }: GuardFailure): void {
    if (isNumber === true) this.#numbers.add(path);
    const axes = this.#axes.get(path) ?? new Set<number>();
    for (const axis of sizes?.axes ?? []) axes.add(axis);
    this.#axes.set(path, axes);
  }

  hasAxis(path: string, axis: number): boolean {
    return this.#axes.get(path)?.has(axis) ?? false;
  }

  hasNumber(path: string): boolean {
    return this.#numbers.has(path);
  }

  clear(): void {
    this.#axes.clear();
    this.#numbers.clear();
  }
}
