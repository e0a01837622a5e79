// Checks on our own invariants: each throws an InternalError, so that a bug names itself where it happens.
import { InternalError } from './error.ts';

/** Throws an InternalError with `message` unless `condition` holds. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InternalError('INTERNAL_INVARIANT', message, { hint: 'this is a bug: please report it' });
}

/** The element at `index`, which must exist: what replaces the `!` operator. */
export function at<T>(items: ArrayLike<T>, index: number): T {
  const item = items[index];
  if (item === undefined && !(index >= 0 && index < items.length)) {
    throw new InternalError('INTERNAL_INDEX', `index ${String(index)} of ${String(items.length)} items`, {
      hint: 'this is a bug: please report it',
    });
  }
  return item as T;
}

/** The value of `key` in `map`, which must exist. */
export function get<K, V>(map: ReadonlyMap<K, V>, key: K): V {
  const value = map.get(key);
  if (value === undefined && !map.has(key)) {
    throw new InternalError('INTERNAL_KEY', `no entry for ${String(key)}`, { hint: 'this is a bug: please report it' });
  }
  return value as V;
}
