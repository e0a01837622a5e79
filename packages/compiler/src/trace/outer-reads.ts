// What a compiled function requires of objects around it: fields that its trace read, and what lists and tables held. In: what was read.
// Out: whether it is so now, and what is different in words.
import { isTensor } from '@tsinductor/tensor';
import { contentIs, printContent } from './outer-content.ts';
import type { Content } from './outer-content.ts';

/** Where compilers keep a #private field: a map from instances to what it holds, or the set of those that have a method. */
export type PrivateKey = Pick<WeakMap<object, unknown>, 'get' | 'has'> | Pick<WeakSet<object>, 'has'>;

/** A field that was read, and what it held. */
export interface FieldRead {
  readonly object: object;
  readonly key: string | PrivateKey;
  readonly value: unknown;
  /** As a program would write it: `model.training`. */
  readonly path: string;
}

/** A list or a table that was read, and all that it held; or an object, and which fields it had. */
export interface ContentRead {
  readonly object: object;
  readonly key?: undefined;
  readonly content: Content;
  readonly path: string;
}

export type OuterRead = FieldRead | ContentRead;

/** All objects at which guards look for what was read. */
export const objectsIn = (reads: readonly OuterRead[]): ReadonlySet<unknown> =>
  new Set(reads.flatMap(({ object, key }) => (typeof key === 'object' ? [object, key] : [object])));

type IsSame = (now: unknown, before: unknown) => boolean;

/** Whether everything is as it was. `isSame`: whether what is different counts as the same all the same. */
export function readsHold(reads: readonly OuterRead[], isSame?: IsSame): boolean {
  for (const read of reads) if (!readHolds(read, isSame)) return false;
  return true;
}

function readHolds(read: OuterRead, isSame?: IsSame): boolean {
  if (read.key === undefined) return contentIs(read.object, read.content, isSame);
  const now = heldBy(read);
  return Object.is(now, read.value) || isSame?.(now, read.value) === true;
}

/** The same reads, with others in the place of some values. */
export const withReplaced = (
  reads: readonly OuterRead[],
  replaced: ReadonlyMap<unknown, unknown>,
): readonly OuterRead[] =>
  reads.map((read) =>
    read.key === undefined
      ? { ...read, content: read.content.map((value) => replaced.get(value) ?? value) }
      : { ...read, value: replaced.get(read.value) ?? read.value },
  );

function heldBy({ object, key }: FieldRead): unknown {
  if (typeof key === 'string') return (object as Readonly<Record<string, unknown>>)[key];
  return 'get' in key ? key.get(object) : key.has(object);
}

/** The first that is different, in words. */
export function changedRead(reads: readonly OuterRead[]): string | undefined {
  const changed = reads.find((read) => !readHolds(read));
  if (changed === undefined) return undefined;
  if (changed.key !== undefined) return difference(changed.path, heldBy(changed), changed.value);
  const { object, content, path } = changed;
  if (!Array.isArray(object) && !ArrayBuffer.isView(object)) {
    const [now, before] = [printContent(object), printContent(object, content)];
    return `${path} had ${now === before ? 'others' : now}, expected ${before}`;
  }
  const list = object as ArrayLike<unknown>;
  if (list.length !== content.length) return difference(`${path}.length`, list.length, content.length);
  const index = content.findIndex((held, position) => !Object.is(held, list[position]));
  return difference(`${path}[${String(index)}]`, list[index], content[index]);
}

function difference(path: string, now: unknown, before: unknown): string {
  const [found, expected] = [worded(now), worded(before)];
  return `${path} was ${found === expected ? 'another one' : found}, expected ${expected}`;
}

export const printRead = (read: OuterRead): string =>
  read.key === undefined
    ? `${read.path}: ${printContent(read.object, read.content)}`
    : `${read.path}: ${worded(read.value)}`;

function worded(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 40));
  if (isTensor(value)) return 'a certain tensor';
  if (typeof value === 'function') return `the function ${value.name.slice(0, 40)}`;
  return typeof value === 'object' && value !== null ? 'a certain object' : String(value);
}
