// scope(() => ...): tensors that are made inside and not returned are disposed at its end. Works for async functions as
// well: what they make after an await still belongs to their scope.
import { AsyncLocalStorage } from 'node:async_hooks';
import { types } from 'node:util';
import { processState } from './process-state.ts';
import { isTensor } from './tensor.ts';
import type { Tensor } from './tensor.ts';

export class Scope {
  readonly #made = new Set<Tensor>();

  add(tensor: Tensor): void {
    this.#made.add(tensor);
  }

  /** Disposes what was made but not `result`, which goes to the scope around, if any. */
  close(result: unknown, outer: Scope | undefined): void {
    const kept = new Set<Tensor>();
    collectTensors(result, kept, new Set());
    for (const tensor of this.#made) {
      if (!kept.has(tensor)) tensor.dispose();
      else outer?.add(tensor);
    }
    this.#made.clear();
  }
}

/** Tensors in any nesting of arrays, maps, sets and objects. */
function collectTensors(value: unknown, found: Set<Tensor>, seen: Set<object>): void {
  if (isTensor(value)) {
    found.add(value);
    return;
  }
  if (typeof value !== 'object' || value === null || seen.has(value) || ArrayBuffer.isView(value)) return;
  seen.add(value);
  const parts = types.isMap(value) ? [...value].flat() : types.isSet(value) ? [...value] : Object.values(value);
  for (const part of parts) collectTensors(part, found, seen);
}

/** Runs `work` so that no scope disposes what it makes. */
export const outsideScopes = <T>(work: () => T): T =>
  processState.scopes === undefined ? work() : processState.scopes.exit(work);

/**
 * Runs `work`; at its end (for an async function, when it settles) every tensor made in it is disposed, but for those
 * in its result.
 *
 * @example const norm = scope(() => x.mul(x).sum().sqrt());   // the two intermediates are gone
 */
export function scope<T>(work: () => T): T {
  const scopes = (processState.scopes ??= new AsyncLocalStorage<Scope>());
  const outer = scopes.getStore();
  const inner = new Scope();
  const close = (result: unknown): void => {
    inner.close(result, outer);
  };
  let result: T;
  try {
    result = scopes.run(inner, work);
  } catch (error) {
    close(undefined);
    throw error;
  }
  if (!isThenable(result)) {
    close(result);
    return result;
  }
  const settled = result.then(
    (value) => (close(value), value),
    (error: unknown) => {
      close(undefined);
      throw error;
    },
  );
  return settled as T;
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
