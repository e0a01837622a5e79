// Which sizes and numbers of a function's calls change. In: the guards that failed. Out: axes that get symbolic sizes, and numbers
// that are not guarded by their values, when the function is traced next.
import type { GuardFailure } from './guard.ts';

export class ChangingInputs {
  readonly #axes = new Map<string, Set<number>>();
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
