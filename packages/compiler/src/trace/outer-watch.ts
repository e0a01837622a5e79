// What a traced function reads of objects around it: fields of a model that it closes over, options of a record, lists and tables. In: the
// function. Out: what was read, as guards for later calls.
//
// Nobody can stand in for a variable of a closure. But fields can tell that they are read: for the time of a trace those of the objects
// that the function, and the helpers it names, close over are accessors, and plain fields again after it; an object in one that is read
// is watched from then on. All that a list or a table holds counts as read with it.
//
// A field that is not there yet counts as well. Of a record all names are guarded. An instance of a class may have many like it, of which every
// call would take the names; for the time of the trace a proxy before its prototype tells which names are asked for that nobody has. Where all
// its fields were read, or `Object.hasOwn` was asked, its names are guarded too. What the language or the engine made, and tensors, are left
// alone.
//
// Of #private fields, those that a compiler keeps in a WeakMap tell that they are read, as its methods do. Those of the engine tell nobody:
// what is in one that never changes is watched, and an object with one that does change is none that a graph can depend on.
import { types } from 'node:util';
import { isTensor } from '@tsinductor/tensor';
import { ownState, partsOfDerived } from '@tsinductor/tensor/internal';
import { observedWrite, privateState } from '../errors.ts';
import { helpersOf } from './called-helpers.ts';
import type { Helper } from './called-helpers.ts';
import { isBuiltIn, isOwn, plainFunction } from './followed-function.ts';
import { namesIn, sourceOf } from './function-source.ts';
import { closureOf } from './inspected.ts';
import { replaceMethod, withPrivateState } from './lowered-private.ts';
import { nativePrivatesOf, privateValuesOf } from './native-private.ts';
import { contentIs, contentOf, heldIn, isCollection, mostMembers, putBack, sizeOf } from './outer-content.ts';
import { prototypeOf } from './readers.ts';
import type { ContentRead, FieldRead, OuterRead, PrivateKey } from './outer-reads.ts';

interface Found {
  readonly object: object;
  readonly path: string;
}

/** A watch over what `fn` can reach around it. `given`: what it is called with, which is watched otherwise. */
export function watchAround(fn: object, given: readonly unknown[]): OuterWatch {
  const closure = closureOf(fn);
  if (closure === undefined) return new OuterWatch([], []);
  const own = { fn, closure };
  const functions = [own, ...helpersOf(own, given)];
  return new OuterWatch(functions, rootsOf(functions, given));
}

/** Objects of the program that these functions name, but for what is given. */
function rootsOf(functions: readonly Helper[], given: readonly unknown[]): readonly Found[] {
  const known = new Set<unknown>(given);
  return functions.flatMap((helper) => {
    if (partsOfDerived(helper.fn) !== undefined) return [];
    const names = namesIn(sourceOf(helper.fn));
    return [...helper.closure].flatMap(([name, value]) => {
      if (!names.has(name) || known.has(value) || !isWatchable(value)) return [];
      known.add(value);
      return [{ object: value, path: name }];
    });
  });
}

/** Whether it is an object of the program's that can change: a list, a table, a record, an instance of a class or a class with fields. */
function isWatchable(value: unknown): value is object {
  if (typeof value === 'function') return isClassWithFields(value);
  if (typeof value !== 'object' || value === null || hasForm(value)) return false;
  if (isCollection(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return !isOwn(value) && !isNamespace(value);
  const maker: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
  return typeof maker === 'function' && !isBuiltIn(maker) && !isOwn(maker);
}

/** Math, JSON, console and the like say what they are. */
const isNamespace = (value: object): boolean => Object.hasOwn(value, Symbol.toStringTag);

/** Whether it is one of a class, and no list or table. */
function isInstance(object: object): boolean {
  if (typeof object === 'function' || isCollection(object)) return false;
  const prototype = prototypeOf(object);
  return prototype !== null && prototype !== Object.prototype;
}

/** What is in a table or a set changes even where that is frozen. */
const canChange = (object: object): boolean => !Object.isFrozen(object) || types.isMap(object) || types.isSet(object);

const isClassWithFields = (value: object): boolean =>
  !types.isProxy(value) &&
  plainFunction(value) === value &&
  sourceOf(value).startsWith('class') &&
  (Object.keys(value).length > 0 || nativePrivatesOf(value) !== undefined) &&
  !isOwn(value);

/** Whether it is of a class that the engine gives every program, as `URL` is: its private fields are no state of the program's. */
function isOfEngine(object: object): boolean {
  const holder =
    typeof object === 'function' ? (object as { readonly prototype?: unknown }).prototype : prototypeOf(object);
  const made: unknown = Object.getOwnPropertyDescriptor(holder ?? {}, 'constructor')?.value;
  if (typeof made !== 'function') return false;
  // What a program puts there is enumerable.
  const known = Object.getOwnPropertyDescriptor(globalThis, made.name);
  return known?.value === made && known.enumerable === false;
}

/** What is more than its fields, or our own. */
const hasForm = (value: object): boolean =>
  types.isProxy(value) || isTensor(value) || ownState in value || types.isModuleNamespaceObject(value);

class OuterWatch {
  readonly #functions: readonly Helper[];
  readonly #roots: readonly Found[];
  readonly #reads = new Map<object, Map<OuterRead['key'], OuterRead>>();
  /** Set while the watch itself asks for what is in a WeakMap. */
  #isAsking = false;
  /** Instances of which it was asked whether they have a field. */
  readonly #namesAsked = new Set<object>();
  /** Whether classes have #private fields, by the prototype of their instances or the class itself; what is in those of an object. */
  readonly #ofClasses = new Map<object | null, ReturnType<typeof nativePrivatesOf>>();
  readonly #ofObjects = new Map<object, ReturnType<typeof privateValuesOf>>();
  /** Why this run gives no graph, also where the function catches it. */
  #refusal: Error | undefined;
  /** Fields that were written to, and what they hold now. What is read of them after that is not of the surroundings. */
  readonly #written = new Map<FieldRead, unknown>();
  /** Objects that are watched in this run, where they were found, and how each is left alone again. */
  readonly #watched = new Map<object, { readonly path: string; readonly leave: () => void }>();
  readonly #contents: ContentRead[] = [];

  constructor(functions: readonly Helper[], roots: readonly Found[]) {
    this.#functions = functions;
    this.#roots = roots;
  }

  /**
   * Runs what is watched; objects are plain again afterwards, and as they were. Throws UserError TRACE_WRITE where it leaves another value
   * in one, which a compiled call would not do again.
   */
  during<T>(run: () => T): T {
    try {
      for (const { object, path } of this.#roots) this.#watch(object, path);
      const result = this.#withPrivates(() => this.#withOwnChecks(run));
      const refusal = this.#refusal ?? this.#write();
      if (refusal !== undefined) throw refusal;
      return result;
    } finally {
      for (const { leave } of this.#watched.values()) leave();
      this.#watched.clear();
      this.#refusal = undefined;
      this.#written.clear();
      this.#contents.length = 0;
    }
  }

  /** The function and its helpers, with what they close over now: a run may have assigned to variables. None where that is not told. */
  functions(): readonly Helper[] {
    return this.#functions.flatMap(({ fn }) => {
      const closure = closureOf(fn);
      return closure === undefined ? [] : [{ fn, closure }];
    });
  }

  /** What was read, but for fields that had been written to. */
  reads(): readonly OuterRead[] {
    return [...this.#reads].flatMap(([object, ofObject]) => {
      const reads = [...ofObject.values()];
      const isRead = (key: unknown): boolean => ofObject.has(key as string);
      const areNamesRead = !isInstance(object) || this.#namesAsked.has(object);
      return reads.filter((read) => read.key !== undefined || areNamesRead || read.content.every(isRead));
    });
  }

  /** What this run has written around the function, as an error. */
  #write(): Error | undefined {
    for (const [{ path, value }, held] of this.#written) if (!Object.is(held, value)) return observedWrite(path);
    const changed = this.#contents.find(({ object, content }) => !contentIs(object, content));
    return changed && observedWrite(changed.path);
  }

  /** An object is read from now on, if it can change and holds no more than can be looked at in each call. */
  #watch(object: object, path: string): void {
    if (this.#watched.has(object) || sizeOf(object) > mostMembers) return;
    const read: ContentRead = { object, content: contentOf(object), path };
    const restores: (() => void)[] = [];
    const leave = (): void => {
      if (!contentIs(object, read.content)) putBack(object, read.content);
      for (const restore of restores) restore();
    };
    this.#watched.set(object, { path, leave });
    this.#hidden(object, path);
    if (canChange(object)) {
      this.#keep(read);
      this.#contents.push(read);
    }
    if (isCollection(object)) for (const [value, at] of heldIn(object, path)) this.#follow(value, at);
    else for (const key of Object.keys(object)) restores.push(...this.#field(object, key, `${path}.${key}`));
    if (isInstance(object) && Object.isExtensible(object)) restores.push(this.#absent(object, path));
  }

  /** Watches what the engine's #private fields hold. Throws UserError PRIVATE_STATE where they change. */
  #hidden(object: object, path: string): void {
    if (isCollection(object) || isOfEngine(object)) return;
    const ofClass = typeof object === 'function' ? object : prototypeOf(object);
    if (!this.#ofClasses.has(ofClass)) this.#ofClasses.set(ofClass, nativePrivatesOf(object));
    const fields = this.#ofClasses.get(ofClass);
    if (fields === undefined) return;
    if (fields.changing !== undefined) throw this.#refuse(privateState(`${path}.${fields.changing}`));
    if (!this.#ofObjects.has(object)) this.#ofObjects.set(object, privateValuesOf(object));
    const values = this.#ofObjects.get(object);
    if (values === undefined) throw this.#refuse(privateState(`${path}.#private`));
    for (const [name, value] of values) this.#follow(value, `${path}.${name}`);
  }

  #refuse(error: Error): Error {
    this.#refusal ??= error;
    return error;
  }

  /** Runs what reads #private fields that a compiler keeps in a WeakMap. */
  #withPrivates<T>(run: () => T): T {
    const keep = (object: object, key: PrivateKey, value: unknown): void => {
      const path = `${this.#watched.get(object)?.path ?? ''}.#private`;
      this.#keep({ object, key, value, path });
      this.#follow(value, path);
    };
    const asking = <R>(ask: () => R): R => {
      this.#isAsking = true;
      try {
        return ask();
      } finally {
        this.#isAsking = false;
      }
    };
    const state = {
      knows: (key: unknown): key is object => !this.#isAsking && this.#watched.has(key as object),
      read: (object: object, map: WeakMap<object, unknown>) => {
        const value = asking(() => map.get(object));
        keep(object, map, value);
        return value;
      },
      has: (object: object, members: PrivateKey) => {
        const isMember = asking(() => members.has(object));
        if (!types.isWeakMap(members)) keep(object, members, isMember);
        return isMember;
      },
      written: (object: object): never => {
        throw this.#refuse(observedWrite(`${this.#watched.get(object)?.path ?? ''}.#private`));
      },
    };
    return withPrivateState(state, run);
  }

  /** Runs what may ask which fields an instance itself has. */
  #withOwnChecks<T>(run: () => T): T {
    const asked = (object: unknown): void => {
      if (this.#watched.has(object as object)) this.#namesAsked.add(object as object);
    };
    const restore = [
      replaceMethod(
        Object,
        'hasOwn',
        (original) =>
          function (object, key) {
            asked(object);
            return original.call(this, object, key);
          },
      ),
      replaceMethod(
        Object.prototype,
        'hasOwnProperty',
        (original) =>
          function (key) {
            asked(this);
            return original.call(this, key);
          },
      ),
    ];
    try {
      return run();
    } finally {
      for (const undo of restore) undo();
    }
  }

  /** Makes an instance tell which fields are asked for that it has not. Gives what makes it plain again. */
  #absent(object: object, path: string): () => void {
    const prototype = prototypeOf(object);
    const asked = (key: PropertyKey): void => {
      if (typeof key === 'string' && prototype !== null && !(key in prototype))
        this.#keep({ object, key, value: undefined, path: `${path}.${key}` });
    };
    const telling = new Proxy(Object.create(prototype) as object, {
      get: (target, key, receiver) => {
        asked(key);
        return Reflect.get(target, key, receiver) as unknown;
      },
      has: (target, key) => {
        asked(key);
        return Reflect.has(target, key);
      },
    });
    Object.setPrototypeOf(object, telling);
    return () => {
      Object.setPrototypeOf(object, prototype);
    };
  }

  #follow(value: unknown, path: string): void {
    if (isWatchable(value)) this.#watch(value, path);
  }

  /** Makes a field tell that it is read. Gives what makes it plain again. */
  #field(object: object, key: string, path: string): readonly (() => void)[] {
    const plain = Object.getOwnPropertyDescriptor(object, key);
    if (plain === undefined || !('value' in plain)) return [];
    const field: FieldRead = { object, key, value: plain.value, path };
    if (plain.configurable !== true || plain.writable !== true) {
      if (plain.writable === true) this.#keep(field);
      this.#follow(field.value, path);
      return [];
    }
    if (typeof field.value === 'function' && isOwn(field.value)) return [];
    Object.defineProperty(object, key, {
      configurable: true,
      enumerable: true,
      get: () => {
        if (this.#written.has(field)) return this.#written.get(field);
        this.#keep(field);
        this.#follow(field.value, path);
        return field.value;
      },
      set: (next: unknown) => {
        this.#written.set(field, next);
      },
    });
    return [() => Object.defineProperty(object, key, plain)];
  }

  #keep(read: OuterRead): void {
    const ofObject = this.#reads.get(read.object) ?? new Map<OuterRead['key'], OuterRead>();
    this.#reads.set(read.object, ofObject);
    if (!ofObject.has(read.key)) ofObject.set(read.key, read);
  }
}
