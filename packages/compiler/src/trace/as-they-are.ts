// Objects that a traced function sees as they are: functions and classes with the properties that they were given, and
// instances of classes with #private fields. No stand-in notes what is read of them, so everything in them is guarded.
// Their tensors are met as any that the function closes over, and are inputs at the paths where they were found.
//
// What the function writes to such an object shows afterwards, and is taken back.
import { isTensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { uncompiled } from './call-marks.ts';
import { argumentTooDeep, privateState, unsupportedArgument } from '../errors.ts';
import { isObservable, memberPath } from './found.ts';
import type { Found, GuardWriter, Place } from './found.ts';
import { isPlainObject } from './guard.ts';
import type { Expectation } from './guard.ts';
import { nativePrivatesOf, privateValuesOf } from './native-private.ts';
import type { PrivateFields } from './native-private.ts';
import { accessor, accessorOf, extended, findDescriptor, held, ownNames, prototypeOf } from './readers.ts';
import { asksSuper, inheritedMembers } from './super-methods.ts';
import { membersOf } from './tensor-members.ts';

type Members = Readonly<Record<string, PropertyDescriptor>>;

/** More than this is no state of a function: then it is run as it is. */
const maximumNodes = 4096;

export class AsTheyAre {
  readonly #writer: GuardWriter;
  readonly #places = new Map<object, Place>();
  readonly #seen: { readonly value: object; readonly path: string; readonly members: Members }[] = [];

  constructor(writer: GuardWriter) {
    this.#writer = writer;
  }

  /** Gives everything the members that it had; the path of one that was written to. */
  takeBack(): string | undefined {
    const written = this.#seen.flatMap(({ value, path, members }) =>
      restore(value, members).map((key) => memberPath(path, key)),
    );
    return written[0];
  }

  /** What the function writes to an object's own properties is taken back, and its path told. */
  watch(value: object, path: string): void {
    this.#remember(value, path);
  }

  /** A function by its identity, with the properties that it was given: `static` ones of a class, as they are inherited. */
  readFunction(parent: Place, found: Found & { readonly value: object }): void {
    const { value, path } = found;
    const place = this.#writer.guard(parent, found, { kind: 'value', value });
    if (this.#places.has(value) || Object.hasOwn(value, uncompiled)) return;
    this.#places.set(value, place);
    this.#remember(value, path);
    this.#writer.guard(
      place,
      { key: ownNames, path: `${path} (${ownNames.label})`, value },
      { kind: 'names', names: Object.keys(value) },
    );
    for (const key of givenNames(value)) this.#readMember(place, value, key);
    const base = prototypeOf(value);
    // Static methods call those of the class that theirs extends.
    if (typeof base === 'function' && !isBuiltIn(base) && asksSuper(value))
      this.readFunction(place, { key: extended, path: `${path} (${extended.label})`, value: base });
  }

  /** An instance with #private fields: by its identity, as the guards cannot look into another one. */
  readInstance(parent: Place, found: Found & { readonly value: object }, fields: PrivateFields): Place {
    const { value, path } = found;
    const hidden = privateValuesOf(value);
    if (fields.changing !== undefined || hidden === undefined)
      throw privateState(memberPath(path, fields.changing ?? '#private'));
    const place = this.#writer.guard(parent, found, { kind: 'value', value });
    this.#places.set(value, place);
    for (const [name, item] of hidden) {
      if (typeof item !== 'object' || item === null || isTensor(item)) continue;
      // The field never changes; what it holds may.
      this.read(place, { key: held(item), path: memberPath(path, name), value: item });
    }
    this.#readMembers(place, value);
    return place;
  }

  /** Anything, with all that is in it. */
  read(parent: Place, found: Found): void {
    const { value, path } = found;
    if (parent.depth >= 64) throw argumentTooDeep(path);
    if (this.#writer.count() > maximumNodes) throw unsupportedArgument(path, value);
    if (typeof value === 'function') {
      this.readFunction(parent, { ...found, value });
    } else if (typeof value !== 'object' || value === null) {
      this.#writer.guard(parent, found, { kind: 'value', value });
    } else if (isTensor(value)) {
      this.#readTensor(parent, found, value);
    } else {
      this.#readObject(parent, { ...found, value });
    }
  }

  #readTensor(parent: Place, found: Found, tensor: Tensor): void {
    if (this.#writer.metTensor(tensor)) {
      this.#writer.guard(parent, found, { kind: 'value', value: tensor });
      return;
    }
    const place = this.#writer.tensor(parent, found, tensor);
    for (const key of membersOf(tensor)) this.#readMember(place, tensor, key);
  }

  #readObject(parent: Place, found: Found & { readonly value: object }): void {
    const { value, path } = found;
    const known = this.#places.get(value);
    if (known !== undefined) {
      this.#writer.guard(parent, found, { kind: 'same', slot: known.slot, path: known.path });
      return;
    }
    const fields = nativePrivatesOf(value);
    if (fields !== undefined) {
      this.readInstance(parent, found, fields);
      return;
    }
    const place = this.#writer.guard(parent, found, this.#kindOf(value, path));
    this.#places.set(value, place);
    this.#readMembers(place, value);
  }

  #kindOf(value: object, path: string): Expectation {
    if (Array.isArray(value)) return { kind: 'array', length: value.length, prototype: prototypeOf(value) };
    if (isPlainObject(value)) return { kind: 'object', keys: Object.keys(value), prototype: prototypeOf(value) };
    if (isObservable(value)) return { kind: 'instance', prototype: prototypeOf(value) };
    throw unsupportedArgument(path, value);
  }

  /** Own properties; of an instance also the methods and getters that it inherits. */
  #readMembers(place: Place, value: object): void {
    this.#remember(value, place.path);
    if (!Array.isArray(value) && !isPlainObject(value)) {
      const names = ownNames.of(value) as readonly string[];
      this.#writer.guard(
        place,
        { key: ownNames, path: `${place.path} (${ownNames.label})`, value },
        { kind: 'names', names },
      );
      for (const key of inheritedNames(value)) this.#readInherited(place, value, key);
      for (const method of methodsOf(value)) this.#readSuper(place, value, method);
    }
    for (const key of Object.keys(value)) this.#readMember(place, value, key);
  }

  #readMember(place: Place, value: object, key: string): void {
    const getter = Object.hasOwn(value, key) ? accessor(key).of(value) : undefined;
    if (getter === undefined)
      this.read(place, { key, path: memberPath(place.path, key), value: (value as Record<string, unknown>)[key] });
    else
      this.#writer.guard(
        place,
        { key: accessor(key), path: `${place.path} (${accessor(key).label})`, value },
        { kind: 'value', value: getter },
      );
  }

  #readInherited(place: Place, value: object, key: string): void {
    const getter = accessor(key).of(value);
    if (getter !== undefined)
      this.#writer.guard(
        place,
        { key: accessor(key), path: `${place.path} (${accessor(key).label})`, value },
        { kind: 'value', value: getter },
      );
    else
      this.#writer.guard(
        place,
        { key, path: memberPath(place.path, key), value },
        { kind: 'value', value: (value as Record<string, unknown>)[key] },
      );
  }

  /** What a method calls through `super`. */
  #readSuper(place: Place, value: object, method: object): void {
    for (const member of inheritedMembers(value, method))
      this.#writer.guard(
        place,
        { key: member.reader, path: `${place.path} (${member.reader.label})`, value },
        { kind: 'value', value: member.value },
      );
  }

  #remember(value: object, path: string): void {
    this.#seen.push({ value, path, members: Object.getOwnPropertyDescriptors(value) });
  }
}

/** What every function has of itself. */
const ownOfFunctions: readonly string[] = ['length', 'name', 'prototype', 'arguments', 'caller'];

function givenNames(fn: object): ReadonlySet<string> {
  const names = new Set<string>();
  for (let holder: object | null = fn; holder !== null && !isBuiltIn(holder); holder = prototypeOf(holder))
    for (const key of Object.getOwnPropertyNames(holder)) if (!ownOfFunctions.includes(key)) names.add(key);
  return names;
}

/** `Function.prototype`, of any realm. */
const isBuiltIn = (holder: object): boolean => Object.hasOwn(holder, 'apply') && Object.hasOwn(holder, 'bind');

/** Names that an instance has of its classes. */
function inheritedNames(value: object): ReadonlySet<string> {
  const names = new Set<string>();
  for (let holder = prototypeOf(value); holder !== null && prototypeOf(holder) !== null; holder = prototypeOf(holder))
    for (const key of Object.getOwnPropertyNames(holder)) if (!Object.hasOwn(value, key)) names.add(key);
  return names;
}

/** The functions behind an object's properties: its own, and those that it inherits. */
function methodsOf(value: object): readonly object[] {
  const names = [...Object.getOwnPropertyNames(value), ...inheritedNames(value)];
  return names.flatMap((key): readonly object[] => {
    const found = findDescriptor(value, key);
    const fn: unknown = accessorOf(found) ?? found?.value;
    return typeof fn === 'function' && key !== 'constructor' ? [fn] : [];
  });
}

/** Gives `value` the members that it had; the names of those that were not so. */
function restore(value: object, members: Members): readonly string[] {
  const added = Object.keys(value).filter((key) => !Object.hasOwn(members, key));
  for (const key of added) Reflect.deleteProperty(value, key);
  const changed = Object.entries(members).filter(
    ([key, member]) => !Object.is(Object.getOwnPropertyDescriptor(value, key)?.value, member.value),
  );
  for (const [key, member] of changed) Object.defineProperty(value, key, member);
  return [...changed.map(([key]) => key), ...added];
}
