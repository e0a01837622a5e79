// Members of plain objects and lists that taking these in whole does not show: those under symbols, and those that are not enumerable or
// no element of a list. They are looked for when the program asks for one, so that calls of programs which never do pay nothing.
// In: what the function sees of an object. Out: the same with the member that was asked for, whose guard is written then.

import { types } from 'node:util';
import { firmness, ownKeys, ownSymbols } from './readers.ts';
import type { Reader } from './readers.ts';

export class HiddenMembers {
  readonly #copy: object;
  readonly #original: object;
  readonly #read: (key: PropertyKey) => unknown;
  readonly #asked = new Set<PropertyKey>();
  #areAllShown = false;

  /** `read` guards what is under a key, and gives what the function sees of it. */
  constructor(copy: object, original: object, read: (key: PropertyKey) => unknown) {
    this.#copy = copy;
    this.#original = original;
    this.#read = read;
  }

  show(key: PropertyKey): void {
    if (this.#asked.has(key) || Object.hasOwn(this.#copy, key)) return;
    const isThere = Object.hasOwn(this.#original, key);
    // Guards say how long a list is and which names an object has; what is inherited is no member.
    if (!isThere && (key in this.#copy || this.#isKnownToLack(key))) return;
    this.#asked.add(key);
    const value = this.#read(key);
    if (!isThere && value === undefined) return;
    const enumerable = Object.prototype.propertyIsEnumerable.call(this.#original, key);
    Object.defineProperty(this.#copy, key, { value, enumerable, writable: true, configurable: true });
  }

  /** All of them. Gives what says which there are, the first time. */
  showAll(): Reader | undefined {
    if (this.#areAllShown) return undefined;
    this.#areAllShown = true;
    for (const key of Reflect.ownKeys(this.#original)) this.show(key);
    return Array.isArray(this.#original) ? ownKeys : ownSymbols;
  }

  #isKnownToLack(key: PropertyKey): boolean {
    // What stands before an object may answer for any name.
    if (types.isProxy(this.#original)) return false;
    return typeof key === 'string' && (!Array.isArray(this.#original) || /^\d+$/.test(key));
  }
}

/** What the function sees of an object, all of whose members are shown, is frozen or sealed as that is. */
export function makeAsFirm(copy: object, original: object): void {
  const how = firmness.of(original);
  if (how === 'frozen') Object.freeze(copy);
  else if (how === 'sealed') Object.seal(copy);
  else if (how !== 'open') Object.preventExtensions(copy);
}
