// What a guard reads of an object where that is no plain property: whether a property is there, which accessor stands behind
// it, which properties there are, what a WeakMap holds for the object. In: an object at call time. Out: a value to compare.
import { types } from 'node:util';

/** A question about an object, asked again at every call. */
export interface Reader {
  /** As a message names what it gives: `whether k is a property`. */
  readonly label: string;
  of(object: object): unknown;
}

export const isReader = (key: unknown): key is Reader => typeof key === 'object';

export const presence = (key: PropertyKey): Reader => ({
  label: `whether it has ${String(key)}`,
  of: (object) => Reflect.has(object, key),
});

export const ownPresence = (key: PropertyKey): Reader => ({
  label: `whether it has ${String(key)} of its own`,
  of: (object) => Object.hasOwn(object, key),
});

/** The function behind a property that is computed when it is read. */
export const accessor = (key: PropertyKey): Reader => ({
  label: `the getter of ${String(key)}`,
  of: (object) => accessorOf(findDescriptor(object, key)),
});

/** The function that computes a property, called with the object as its `this`. */
export const accessorOf = (descriptor: PropertyDescriptor | undefined): ((this: object) => unknown) | undefined =>
  // eslint-disable-next-line @typescript-eslint/unbound-method -- whoever calls it says for which object
  descriptor?.get;

/** The function that a property is given to when it is written. */
export const setterOf = (
  descriptor: PropertyDescriptor | undefined,
): ((this: object, value: unknown) => void) | undefined =>
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is looked at, and never called
  descriptor?.set;

/** Whether code runs where all properties of an object itself are read. */
export const hasAccessors = (object: object): boolean =>
  types.isProxy(object) ||
  Object.values(Object.getOwnPropertyDescriptors(object)).some((own) => accessorOf(own) !== undefined);

/** What a class extends. */
export const extended: Reader = { label: 'the class that it extends', of: (object) => prototypeOf(object) };

/** What an object's prototype at some depth has under a name itself: the getter where it is computed. */
export const ownMember = (key: PropertyKey, depth: number): Reader => ({
  label: `${String(key)} of its prototype ${String(depth)}`,
  of: (object) => {
    let holder: object | null = object;
    for (let step = 0; step < depth && holder !== null; step += 1) holder = prototypeOf(holder);
    const descriptor = holder === null ? undefined : Object.getOwnPropertyDescriptor(holder, key);
    return accessorOf(descriptor) ?? (descriptor?.value as unknown);
  },
});

/** The names of an object's own properties; those of a function are only the ones that it was given. */
export const ownNames: Reader = {
  label: 'its properties',
  of: (object) =>
    typeof object === 'function'
      ? Object.keys(object)
      : Reflect.ownKeys(object).filter((key) => typeof key === 'string'),
};

/** The symbols under which an object has something itself. */
export const ownSymbols: Reader = {
  label: 'its symbols',
  of: (object) => Object.getOwnPropertySymbols(object),
};

/** Everything under which an object has something itself. */
export const ownKeys: Reader = {
  label: 'its keys',
  of: (object) => Reflect.ownKeys(object),
};

/** Whether an object may be given properties, or others. */
export const firmness: Reader = {
  label: 'whether it is frozen',
  of: (object) => {
    if (Object.isExtensible(object)) return 'open';
    if (Object.isFrozen(object)) return 'frozen';
    return Object.isSealed(object) ? 'sealed' : 'not extensible';
  },
};

/** What `map` holds for the object: where compilers keep #private fields that they translate. */
export const entryOf = (map: WeakMap<object, unknown>): Reader => ({
  label: 'private state',
  of: (object) => map.get(object),
});

export const membershipOf = (set: Pick<WeakMap<object, unknown>, 'has'>): Reader => ({
  label: 'whether it has private state',
  of: (object) => set.has(object),
});

/** An object that the guards hold, as nothing at call time leads to it: the value of a #private field that never changes. */
export const held = (object: object): Reader => ({ label: 'a value that was held', of: () => object });

export const prototypeOf = (value: object): object | null => Object.getPrototypeOf(value) as object | null;

/** The property that a read of `key` finds, on the object or on what it inherits from. */
export function findDescriptor(value: object, key: PropertyKey): PropertyDescriptor | undefined {
  for (let holder: object | null = value; holder !== null; holder = prototypeOf(holder)) {
    const descriptor = Object.getOwnPropertyDescriptor(holder, key);
    if (descriptor !== undefined) return descriptor;
  }
  return undefined;
}
