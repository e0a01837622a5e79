// Members of plain objects and lists that taking these in whole does not show: those under symbols, and those that are not enumerable or
// no element of a list. They are looked for when the program asks for one, so that calls of programs which never do pay nothing.
// In: what the function sees of an object. Out: the same with the member that was asked for, whose guard is written then.
import { types } from 'node:util';
import { firmness, ownKeys, ownSymbols } from './readers.ts';
import type { Reader } from './readers.ts';

/** Where guards of one object are written. */
interface Guards {
  /** Guards what is under a key, and gives what the function sees of it. */
  member(key: PropertyKey): unknown;
  /** Guards what a reader says of the object. */
  answer(reader: Reader): void;
  /** Guards the names that a reader gives. */
  names(reader: Reader): void;
}

export class HiddenMembers {
  readonly #copy: object;
  readonly #original: object;
  readonly #guards: Guards;
  readonly #asked = new Set<PropertyKey>();
  #areAllShown = false;

  constructor(copy: object, original: object, guards: Guards) {
    this.#copy = copy;
    this.#original = original;
    this.#guards = guards;
  }

  /** Reading, by whatever stands before the copy. */
  traps(): ProxyHandler<object> {
    return {
      get: (target, key, receiver) => {
        this.#show(key);
        return Reflect.get(target, key, receiver) as unknown;
      },
      has: (target, key) => {
        this.#show(key);
        return Reflect.has(target, key);
      },
      getOwnPropertyDescriptor: (target, key) => {
        this.#show(key);
        return Reflect.getOwnPropertyDescriptor(target, key);
      },
      isExtensible: (target) => {
        this.#guards.answer(firmness);
        this.#showAll();
        makeAsFirm(target, this.#original);
        return Object.isExtensible(target);
      },
      ownKeys: (target) => {
        this.#showAll();
        return Reflect.ownKeys(target);
      },
    };
  }

  #show(key: PropertyKey): void {
    if (this.#asked.has(key) || Object.hasOwn(this.#copy, key)) return;
    const isThere = Object.hasOwn(this.#original, key);
    // Guards say how long a list is and which names an object has; what is inherited is no member.
    if (!isThere && (key in this.#copy || this.#isKnownToLack(key))) return;
    this.#asked.add(key);
    const value = this.#guards.member(key);
    if (!isThere && value === undefined) return;
    const enumerable = Object.prototype.propertyIsEnumerable.call(this.#original, key);
    Object.defineProperty(this.#copy, key, { value, enumerable, writable: true, configurable: true });
  }

  #showAll(): void {
    if (this.#areAllShown) return;
    this.#areAllShown = true;
    for (const key of Reflect.ownKeys(this.#original)) this.#show(key);
    this.#guards.names(Array.isArray(this.#original) ? ownKeys : ownSymbols);
  }

  #isKnownToLack(key: PropertyKey): boolean {
    // What stands before an object may answer for any name.
    if (types.isProxy(this.#original)) return false;
    return typeof key === 'string' && (!Array.isArray(this.#original) || /^\d+$/.test(key));
  }
}

/** What the function sees of an object, all of whose members are shown, is frozen or sealed as that is. */
function makeAsFirm(copy: object, original: object): void {
  const how = firmness.of(original);
  if (how === 'frozen') Object.freeze(copy);
  else if (how === 'sealed') Object.seal(copy);
  else if (how !== 'open') Object.preventExtensions(copy);
}
