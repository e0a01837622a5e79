// Observing what a function reads. In: `this` and the arguments of the call that is traced. Out: stand-ins for them, and
// the guard nodes of everything that was read through them.
//
// Tensors, plain values, arrays and plain objects are taken in whole. A class instance is stood in for by a proxy: each
// property that the function reads becomes a guard at its access path, and what it does not read is not guarded. A
// class with #private fields cannot be proxied; the trace is then repeated with such instances passed as they are and
// their own enumerable properties taken in whole (`mode: 'scan'`).
//
// A write to any of them is refused, as a compiled call would not repeat it. While the trace is trusted, writes are carried
// out on the object itself, and plain values are read off class instances without a guard.
import type { Tensor } from '@tsinductor/tensor';
import { isTensor } from '@tsinductor/tensor';
import { types } from 'node:util';
import { argumentTooDeep, observedWrite, unsupportedArgument } from './errors.ts';
import { firstSlot, isPlainObject } from './guard.ts';
import type { Expectation, GuardNode, TensorGuard } from './guard.ts';

export type ObserveMode = 'proxy' | 'scan';

export interface Observation {
  readonly thisArg: unknown;
  readonly args: readonly unknown[];
  /** Grows while the traced function reads. */
  readonly nodes: readonly GuardNode[];
  /** The distinct tensors found, in the order of their leaves: grows as well. */
  readonly leaves: readonly Tensor[];
  /** Takes back what the function wrote to tensors' own properties and, in scan mode, to objects; gives the path of one. */
  takeBack(): string | undefined;
}

interface Place {
  readonly slot: number;
  readonly path: string;
  readonly depth: number;
}

/** `guardOf` says what is required of a tensor leaf; `standIn` gives what the function sees of it. */
export interface ObserveOptions {
  readonly mode: ObserveMode;
  guardOf(tensor: Tensor, path: string): TensorGuard;
  standIn(tensor: Tensor, path: string): Tensor;
  /** Whether what the function does beside tensors is to happen once, when it is traced. */
  isTrusted(): boolean;
}

const maximumDepth = 64;

export function observe(thisArg: unknown, args: readonly unknown[], options: ObserveOptions): Observation {
  return new Observer(options).observeCall(thisArg, args);
}

class Observer {
  readonly #options: ObserveOptions;
  readonly #nodes: GuardNode[] = [];
  readonly #leaves: Tensor[] = [];
  readonly #leafOf = new Map<Tensor, number>();
  readonly #standIns = new Map<Tensor, Tensor>();
  readonly #proxies = new Map<object, object>();
  readonly #seen: { readonly value: object; readonly path: string; readonly members: Members }[] = [];

  constructor(options: ObserveOptions) {
    this.#options = options;
  }

  observeCall(thisArg: unknown, args: readonly unknown[]): Observation {
    const standIns = args.map((value, index) => {
      const path = `arguments[${String(index)}]`;
      return this.#read({ slot: 1, path: 'arguments', depth: 0 }, { key: index, path, value });
    });
    const self =
      isObservable(thisArg) || isPlainObject(thisArg)
        ? this.#read({ slot: 0, path: '', depth: 0 }, { key: 'this', path: 'this', value: thisArg })
        : thisArg;
    return {
      thisArg: self,
      args: standIns,
      nodes: this.#nodes,
      leaves: this.#leaves,
      takeBack: () => this.#takeBack(),
    };
  }

  #takeBack(): string | undefined {
    const written = this.#seen.flatMap(({ value, path, members }) =>
      restore(value, members).map((key) => memberPath(path, key)),
    );
    return written[0];
  }

  /** In scan mode the function sees objects as they are: what they were shows what it wrote. */
  #remember(value: object, path: string): void {
    if (this.#options.mode === 'scan')
      this.#seen.push({ value, path, members: Object.getOwnPropertyDescriptors(value) });
  }

  /** Guards `value`, found at `key` of the object in `parent`'s slot, and gives its stand-in. */
  #read(parent: Place, { key, path, value }: { key: string | number; path: string; value: unknown }): unknown {
    if (parent.depth >= maximumDepth) throw argumentTooDeep(path);
    const guard = (expect: Expectation): Place => {
      this.#nodes.push({ parent: parent.slot, key, expect, path });
      return { slot: firstSlot + this.#nodes.length - 1, path, depth: parent.depth + 1 };
    };
    if (isTensor(value)) return this.#tensor(value, path, guard);
    if (Array.isArray(value)) {
      const place = guard({ kind: 'array', length: value.length });
      this.#remember(value, path);
      const items = value.map((item: unknown, index) =>
        this.#read(place, { key: index, path: `${path}[${String(index)}]`, value: item }),
      );
      return this.#watched(items, value, path);
    }
    if (isPlainObject(value)) return this.#object(value, guard({ kind: 'object', keys: Object.keys(value) }));
    if (isObservable(value)) {
      return this.#instance(value, guard({ kind: 'instance', prototype: prototypeOf(value) }));
    }
    if (typeof value === 'object' && value !== null) throw unsupportedArgument(path, value);
    guard({ kind: 'value', value });
    return value;
  }

  #tensor(tensor: Tensor, path: string, guard: (expect: Expectation) => Place): Tensor {
    const known = this.#leafOf.get(tensor);
    if (known !== undefined) {
      guard({ kind: 'alias', leaf: known });
      return this.#standIns.get(tensor) ?? tensor;
    }
    const leaf = this.#leaves.length;
    const place = guard({ kind: 'tensor', leaf, tensor: this.#options.guardOf(tensor, path) });
    this.#leaves.push(tensor);
    this.#leafOf.set(tensor, leaf);
    const standIn = this.#options.standIn(tensor, path);
    this.#standIns.set(tensor, standIn);
    // What a program keeps on a tensor, beside what every tensor has.
    for (const key of Object.keys(tensor).filter((name) => !Object.hasOwn(standIn, name))) {
      const value: unknown = Reflect.get(tensor, key);
      const member = this.#read(place, { key, path: memberPath(path, key), value });
      Object.defineProperty(standIn, key, { value: member, enumerable: true, writable: true, configurable: true });
    }
    this.#seen.push({ value: standIn, path, members: Object.getOwnPropertyDescriptors(standIn) });
    return standIn;
  }

  #object(value: Record<string, unknown>, place: Place): Record<string, unknown> {
    const copy: Record<string, unknown> = {};
    this.#remember(value, place.path);
    for (const key of Object.keys(value)) {
      const member = this.#read(place, { key, path: memberPath(place.path, key), value: value[key] });
      Object.defineProperty(copy, key, { value: member, enumerable: true, writable: true, configurable: true });
    }
    return this.#watched(copy, value, place.path);
  }

  /** `copy`, which stands for `original`, and through which nobody writes. */
  #watched<T extends object>(copy: T, original: object, path: string): T {
    const changing = <R>(key: PropertyKey, change: (target: object) => R): R => {
      if (!this.#options.isTrusted()) throw observedWrite(memberPath(path, String(key)));
      change(original);
      return change(copy);
    };
    return new Proxy(copy, {
      set: (_, key, value) => changing(key, (target) => Reflect.set(target, key, value)),
      defineProperty: (_, key, descriptor) =>
        changing(key, (target) => Reflect.defineProperty(target, key, descriptor)),
      deleteProperty: (_, key) => changing(key, (target) => Reflect.deleteProperty(target, key)),
    });
  }

  #instance(value: object, place: Place): object {
    const known = this.#proxies.get(value);
    if (known !== undefined) return known;
    if (this.#options.mode === 'scan') {
      this.#proxies.set(value, value);
      this.#remember(value, place.path);
      for (const key of Object.keys(value)) this.#scanMember(value, key, place);
      return value;
    }
    const proxy = this.#proxy(value, place);
    this.#proxies.set(value, proxy);
    return proxy;
  }

  /** In scan mode members are guarded, but the function sees the instance itself; foreign objects go by identity. */
  #scanMember(value: object, key: string, place: Place): void {
    const member = (value as Record<string, unknown>)[key];
    const path = memberPath(place.path, key);
    const opaque = typeof member === 'object' && member !== null && !isTensor(member) && !isContainer(member);
    if (opaque) this.#nodes.push({ parent: place.slot, key, expect: { kind: 'value', value: member }, path });
    else this.#read(place, { key, path, value: member });
  }

  /** The proxy's target is a bare object of the same class, so that frozen instances can be stood in for as well. */
  #proxy(value: object, place: Place): object {
    const seen = new Map<string, unknown>();
    const changing = (key: PropertyKey, change: () => boolean): boolean => {
      if (!this.#options.isTrusted()) throw observedWrite(memberPath(place.path, String(key)));
      seen.delete(String(key));
      return change();
    };
    const proxy: object = new Proxy(Object.create(prototypeOf(value)) as object, {
      get: (_, key): unknown => {
        const descriptor = findDescriptor(value, key);
        if (descriptor === undefined) {
          if (typeof key === 'string' && !seen.has(key)) {
            seen.set(key, undefined);
            this.#read(place, { key, path: memberPath(place.path, key), value: undefined });
          }
          return undefined;
        }
        if (descriptor.get !== undefined) return descriptor.get.call(proxy) as unknown;
        const inherited = !Object.hasOwn(value, key);
        if (typeof key === 'symbol' || (inherited && typeof descriptor.value === 'function')) return descriptor.value;
        if (this.#options.isTrusted() && !seen.has(key) && isPlainValue(descriptor.value)) return descriptor.value;
        if (!seen.has(key)) {
          seen.set(key, this.#read(place, { key, path: memberPath(place.path, key), value: descriptor.value }));
        }
        return seen.get(key);
      },
      has: (_, key) => Reflect.has(value, key),
      ownKeys: () => Reflect.ownKeys(value).filter((key) => typeof key === 'string'),
      getOwnPropertyDescriptor: (_, key) => {
        if (!Object.hasOwn(value, key)) return undefined;
        return { value: Reflect.get(proxy, key) as unknown, enumerable: true, configurable: true, writable: true };
      },
      getPrototypeOf: () => prototypeOf(value),
      set: (_, key, written) => changing(key, () => Reflect.set(value, key, written)),
      defineProperty: (_, key, descriptor) => changing(key, () => Reflect.defineProperty(value, key, descriptor)),
      deleteProperty: (_, key) => changing(key, () => Reflect.deleteProperty(value, key)),
    });
    return proxy;
  }
}

const prototypeOf = (value: object): object | null => Object.getPrototypeOf(value) as object | null;

/** Objects whose state is in properties: not those with internal slots (maps, dates, typed arrays), which proxies break. */
function isObservable(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || isTensor(value) || isPlainObject(value)) return false;
  return (
    !(types.isMap(value) || types.isSet(value) || types.isDate(value) || types.isRegExp(value)) && !isOpaque(value)
  );
}

const isOpaque = (value: object): boolean =>
  ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value) || types.isPromise(value) || types.isProxy(value);

type Members = Readonly<Record<string, PropertyDescriptor>>;

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

const isPlainValue = (value: unknown): boolean => typeof value !== 'object' || value === null;

const isContainer = (value: object): boolean => Array.isArray(value) || isPlainObject(value) || isObservable(value);

function findDescriptor(value: object, key: PropertyKey): PropertyDescriptor | undefined {
  for (let holder: object | null = value; holder !== null; holder = prototypeOf(holder)) {
    const descriptor = Object.getOwnPropertyDescriptor(holder, key);
    if (descriptor !== undefined) return descriptor;
  }
  return undefined;
}

const memberPath = (path: string, key: string): string =>
  /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${/^\d+$/.test(key) ? key : JSON.stringify(key)}]`;
