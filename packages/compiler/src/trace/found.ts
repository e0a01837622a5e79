// What an observed call leads to: values, with the paths at which they were found, and where guards of them are written.
import { isTensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { types } from 'node:util';
import { isPlainObject } from './guard.ts';
import type { Expectation } from './guard.ts';
import { findDescriptor } from './readers.ts';
import type { Reader } from './readers.ts';

/** A value that guards lead to. */
export interface Place {
  readonly slot: number;
  readonly path: string;
  readonly depth: number;
}

/** A value, and how it is found in what it belongs to. */
export interface Found {
  readonly key: PropertyKey | Reader;
  readonly path: string;
  readonly value: unknown;
}

/** Where guards are written. */
export interface GuardWriter {
  guard(parent: Place, found: Found, expect: Expectation): Place;
  /** A tensor that the function sees itself. */
  tensor(parent: Place, found: Found, tensor: Tensor): Place;
  metTensor(tensor: Tensor): boolean;
  count(): number;
}

/** Objects whose state is in properties: not those with internal slots (maps, dates, typed arrays), which proxies break. */
export function isObservable(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || isTensor(value) || isPlainObject(value)) return false;
  return (
    !(types.isMap(value) || types.isSet(value) || types.isDate(value) || types.isRegExp(value)) && !isOpaque(value)
  );
}

/** What `this` may be without being read: the function was called as a method of it by chance. */
export const isUnobservable = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !isTensor(value) &&
  !Array.isArray(value) &&
  !isPlainObject(value) &&
  !isObservable(value);

const isOpaque = (value: object): boolean =>
  ArrayBuffer.isView(value) ||
  types.isAnyArrayBuffer(value) ||
  types.isPromise(value) ||
  types.isProxy(value) ||
  types.isBoxedPrimitive(value) ||
  types.isWeakMap(value) ||
  types.isWeakSet(value) ||
  types.isMapIterator(value) ||
  types.isSetIterator(value) ||
  types.isGeneratorObject(value) ||
  Object.prototype.toString.call(value) === '[object WeakRef]';

export const isPlainValue = (value: unknown): boolean => typeof value !== 'object' || value === null;

export function memberPath(path: string, key: PropertyKey): string {
  if (typeof key === 'symbol') return `${path}[${String(key)}]`;
  const name = String(key);
  return /^#?[A-Za-z_$][\w$]*$/.test(name)
    ? `${path}.${name}`
    : `${path}[${/^\d+$/.test(name) ? name : JSON.stringify(name)}]`;
}

/** What is at a path of a call, without calling anything: nothing where a property is computed. */
export function valueAt(
  call: { readonly this: unknown; readonly arguments: readonly unknown[] },
  path: string,
): unknown {
  let value: unknown = call;
  for (const [, name, index, text] of path.matchAll(/(?:^|\.)([\w$]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g)) {
    if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return undefined;
    const key = name ?? index ?? (JSON.parse(text ?? '""') as string);
    value = findDescriptor(value, key)?.value;
  }
  return value;
}
