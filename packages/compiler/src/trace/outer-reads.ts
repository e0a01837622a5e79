// What a traced function reads of objects around it: fields of a model that it closes over, options of a record. In: the function. Out:
// for each field that was read its object, name and value, as a guard for later calls.
//
// Nobody can stand in for a variable of a closure. But fields can tell that they are read: for the time of a trace those of the objects
// that the function, and the helpers it names, close over are accessors, and plain fields again after it. What is not plain data (tensors,
// collections, what the language or the engine made, what is frozen) is left alone, and so are arrays of numbers, which engines keep in a
// form of their own. The members of an array of objects count as read.
import { types } from 'node:util';
import { isTensor } from '@tsinductor/tensor';
import { isProcessState } from '@tsinductor/tensor/internal';
import { observedWrite } from '../errors.ts';
import { helpersOf } from './called-helpers.ts';
import type { Helper } from './called-helpers.ts';
import { isBuiltIn, isOwn } from './followed-function.ts';
import { namesIn, sourceOf } from './function-source.ts';
import { closureOf } from './inspected.ts';

/** A field that was read, and what it held. */
export interface OuterRead {
  readonly object: object;
  readonly key: string;
  readonly value: unknown;
  /** As a program would write it: `model.training`. */
  readonly path: string;
}

interface Found {
  readonly object: object;
  readonly path: string;
}

/** More fields than these are not watched, nor arrays of more members. */
const mostFields = 4096;
const mostMembers = 256;

/** A watch over what `fn` can reach around it. `given`: what it is called with, which is watched otherwise. */
export function watchAround(fn: object, given: readonly unknown[]): OuterWatch {
  const closure = closureOf(fn);
  if (closure === undefined) return new OuterWatch([], []);
  const own = { fn, closure };
  const functions = [own, ...helpersOf(own, given)];
  return new OuterWatch(functions, rootsOf(functions, given));
}

/** Whether every field holds what it held. */
export const readsHold = (reads: readonly OuterRead[]): boolean =>
  reads.every(({ object, key, value }) => Object.is((object as Readonly<Record<string, unknown>>)[key], value));

/** The first field that holds something else, in words. */
export function changedRead(reads: readonly OuterRead[]): string | undefined {
  const changed = reads.find((read) => !readsHold([read]));
  if (changed === undefined) return undefined;
  const { object, key, path, value } = changed;
  const [found, expected] = [worded((object as Readonly<Record<string, unknown>>)[key]), worded(value)];
  return `${path} was ${found === expected ? 'another one' : found}, expected ${expected}`;
}

export const printRead = ({ path, value }: OuterRead): string => `${path}: ${worded(value)}`;

function worded(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 40));
  if (isTensor(value)) return 'a certain tensor';
  if (typeof value === 'function') return `the function ${value.name.slice(0, 40)}`;
  return typeof value === 'object' && value !== null ? 'a certain object' : String(value);
}

/** Objects of the program that these functions name, but for what is given. */
function rootsOf(functions: readonly Helper[], given: readonly unknown[]): readonly Found[] {
  const known = new Set<unknown>(given);
  return functions.flatMap((helper) => {
    const names = namesIn(sourceOf(helper.fn));
    return [...helper.closure].flatMap(([name, value]) => {
      if (!names.has(name) || known.has(value) || !isPlain(value)) return [];
      known.add(value);
      return [{ object: value, path: name }];
    });
  });
}

/** Whether an object has plain fields: a record, an array, or an instance of a class of the program's. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || hasForm(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype || Array.isArray(value)) return true;
  const maker: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
  return typeof maker === 'function' && !isBuiltIn(maker);
}

/** What is more than its fields, or our own. */
const hasForm = (value: object): boolean =>
  isTensor(value) ||
  isProcessState(value) ||
  types.isProxy(value) ||
  types.isModuleNamespaceObject(value) ||
  types.isAnyArrayBuffer(value) ||
  ArrayBuffer.isView(value);

class OuterWatch {
  readonly #functions: readonly Helper[];
  readonly #fields: readonly OuterRead[];
  readonly #reads = new Map<object, Map<string, OuterRead>>();
  /** Fields that were written to, and what they hold now. What is read of them after that is not of the surroundings. */
  readonly #written = new Map<OuterRead, unknown>();

  constructor(functions: readonly Helper[], roots: readonly Found[]) {
    this.#functions = functions;
    this.#fields = reachable(roots);
  }

  /**
   * Runs what is watched; fields are plain again afterwards, and as they were. Throws UserError TRACE_WRITE where it leaves another value
   * in one: a compiled call would not do that again.
   */
  during<T>(run: () => T): T {
    const undo = this.#fields.map((field) => this.#watch(field));
    try {
      const result = run();
      for (const [{ path, value }, held] of this.#written) if (!Object.is(held, value)) throw observedWrite(path);
      return result;
    } finally {
      for (const restore of undo) restore();
      this.#written.clear();
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
    return [...this.#reads.values()].flatMap((ofObject) => [...ofObject.values()]);
  }

  #watch(field: OuterRead): () => void {
    const { object, key, value } = field;
    const plain = { configurable: true, enumerable: true } as const;
    Object.defineProperty(object, key, {
      ...plain,
      get: () => {
        if (this.#written.has(field)) return this.#written.get(field);
        this.#note(field);
        return value;
      },
      set: (next: unknown) => {
        this.#written.set(field, next);
      },
    });
    return () => {
      Object.defineProperty(object, key, { ...plain, writable: true, value });
    };
  }

  /** A field was read, and with an array of objects its members. */
  #note(read: OuterRead): void {
    const { value, path } = read;
    if (!this.#keep(read) || !Array.isArray(value) || value.length > mostMembers || !value.every(isObject)) return;
    const object: object = value;
    this.#keep({ object, key: 'length', value: value.length, path: `${path}.length` });
    value.forEach((held: unknown, index) => {
      this.#keep({ object, key: String(index), value: held, path: `${path}[${String(index)}]` });
    });
  }

  /** Whether that was not known. */
  #keep(read: OuterRead): boolean {
    const ofObject = this.#reads.get(read.object) ?? new Map<string, OuterRead>();
    this.#reads.set(read.object, ofObject);
    if (ofObject.has(read.key)) return false;
    ofObject.set(read.key, read);
    return true;
  }
}

/** The fields that can be made to tell, of these objects and of those that they hold. */
function reachable(roots: readonly Found[]): readonly OuterRead[] {
  const queue = [...roots];
  const seen = new Set<object>(roots.map(({ object }) => object));
  const found: OuterRead[] = [];
  let fields = 0;
  for (const { object, path } of queue) {
    const own = fieldsOf(object, path);
    fields += own.length;
    if (fields > mostFields) break;
    for (const { field, tells } of own) {
      const { value } = field;
      if (tells) found.push(field);
      if (!isPlain(value) || seen.has(value)) continue;
      seen.add(value);
      queue.push({ object: value, path: field.path });
    }
  }
  return found;
}

interface Field {
  readonly field: OuterRead;
  /** Whether it can be made to tell that it is read. */
  readonly tells: boolean;
}

/** The fields of an object that hold values. */
function fieldsOf(object: object, path: string): readonly Field[] {
  const isArray = Array.isArray(object);
  return Object.keys(object).flatMap((key): Field[] => {
    const descriptor = Object.getOwnPropertyDescriptor(object, key);
    if (descriptor === undefined || !('value' in descriptor)) return [];
    const value: unknown = descriptor.value;
    const tells = !isArray && descriptor.configurable === true && descriptor.writable === true;
    const isOurs = typeof value === 'function' && isOwn(value);
    return [
      { field: { object, key, value, path: isArray ? `${path}[${key}]` : `${path}.${key}` }, tells: tells && !isOurs },
    ];
  });
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
