// What an object of the program's holds as a whole: the members of a list, the entries of a table, the names of an object's fields. In: an
// object. Out: a copy of that, whether it is still so, and the object with that put back.
import { types } from 'node:util';

/** Members in order; keys and values in turn; names of fields. */
export type Content = readonly unknown[];

/** Stands for a member that may be anything. */
export const anything: unique symbol = Symbol('anything');

/** Lists and tables that hold more than these are not looked into: a call would take longer for that than for its work. */
export const mostMembers = 1024;

type Collection = unknown[] | Map<unknown, unknown> | Set<unknown> | NumberArray;
type NumberArray = Exclude<NodeJS.TypedArray, BigInt64Array | BigUint64Array>;

const isNumbers = (object: object): object is NumberArray => types.isTypedArray(object);

/** Whether it is a list or a table, by itself and not by its fields. */
export const isCollection = (object: object): object is Collection =>
  Array.isArray(object) || types.isMap(object) || types.isSet(object) || isNumbers(object);

/** How much an object holds. */
export function sizeOf(object: object): number {
  if (Array.isArray(object) || isNumbers(object)) return object.length;
  return types.isMap(object) || types.isSet(object) ? object.size : Object.keys(object).length;
}

export function contentOf(object: object): Content {
  if (types.isMap(object)) return [...object].flat(1);
  if (types.isSet(object)) return [...object];
  return Array.isArray(object) || isNumbers(object) ? Array.from<unknown>(object) : Object.keys(object);
}

/** `isSame`: whether a member that is another one counts as the same all the same. */
export function contentIs(
  object: object,
  content: Content,
  isSame?: (now: unknown, before: unknown) => boolean,
): boolean {
  const now = Array.isArray(object) || isNumbers(object) ? (object as ArrayLike<unknown>) : contentOf(object);
  if (now.length !== content.length) return false;
  for (let index = 0; index < content.length; index += 1) {
    const [found, before] = [now[index], content[index]];
    if (before !== anything && !Object.is(found, before) && isSame?.(found, before) !== true) return false;
  }
  return true;
}

/** What an object held before is in it again; fields that it did not have are gone. */
export function putBack(object: object, content: Content): void {
  if (types.isSet(object)) {
    object.clear();
    for (const member of content) object.add(member);
  } else if (types.isMap(object)) {
    object.clear();
    for (let index = 0; index < content.length; index += 2) object.set(content[index], content[index + 1]);
  } else if (Array.isArray(object) || isNumbers(object)) {
    if (Array.isArray(object)) object.length = content.length;
    content.forEach((member, index) => ((object as unknown[])[index] = member));
  } else for (const key of Object.keys(object)) if (!content.includes(key)) Reflect.deleteProperty(object, key);
}

/** What lists and tables hold, each with its path. */
export function heldIn(object: Collection, path: string): readonly (readonly [value: unknown, path: string])[] {
  if (isNumbers(object)) return [];
  if (types.isMap(object))
    return [...object].flatMap(([key, value]) => {
      const at = `${path}.get(${typeof key === 'string' ? JSON.stringify(key.slice(0, 40)) : typeof key})`;
      return [
        [value, at],
        [key, `a key of ${path}`],
      ] as const;
    });
  return [...object].map((value, index) => [value, `${path}[${String(index)}]`]);
}

/** How much an object holds, or which fields it has, in words. */
export function printContent(object: object, content: Content = contentOf(object)): string {
  const count = types.isMap(object) ? content.length / 2 : content.length;
  if (types.isMap(object)) return `${String(count)} ${count === 1 ? 'entry' : 'entries'}`;
  if (isCollection(object)) return `${String(count)} ${count === 1 ? 'member' : 'members'}`;
  return content.length === 0 ? 'no fields' : `the fields ${content.slice(0, 8).join(', ')}`;
}
