// Observing what a function reads. In: `this` and the arguments of the call that is traced. Out: stand-ins for them, and
// the guard nodes of everything that was read through them.
//
// Tensors, plain values, arrays and plain objects are taken in whole. A class instance is stood in for by a proxy: each
// property that the function reads becomes a guard at its access path, methods and getters by the function that was found,
// and what it does not read is not guarded. Functions, and instances with #private fields, are seen as they are
// (as-they-are.ts). An object that is met twice has one stand-in.
//
// A write to any of them is refused, as a compiled call would not repeat it. While the trace is trusted, writes are carried
// out on the object itself, and plain values are read off class instances without a guard.
import { types } from 'node:util';
import type { Tensor } from '@tsinductor/tensor';
import { isTensor } from '@tsinductor/tensor';
import { argumentTooDeep, observedWrite, unsupportedArgument } from '../errors.ts';
import { AsTheyAre } from './as-they-are.ts';
import { distinctGroups } from './distinct-groups.ts';
import { isObservable, isPlainValue, isUnobservable, memberPath } from './found.ts';
import type { Found, GuardWriter, Place } from './found.ts';
import { firstSlot, isPlainObject } from './guard.ts';
import type { CallScope, Expectation, GuardNode, GuardTree, TensorGuard } from './guard.ts';
import { withPrivateState } from './lowered-private.ts';
import { nativePrivatesOf } from './native-private.ts';
import {
  accessor,
  accessorOf,
  entryOf,
  findDescriptor,
  firmness,
  membershipOf,
  ownNames,
  ownPresence,
  presence,
  prototypeOf,
} from './readers.ts';
import type { Reader } from './readers.ts';
import { inheritedMembers } from './super-methods.ts';
import { HiddenMembers } from './hidden-members.ts';
import { membersOf } from './tensor-members.ts';

export interface Observation {
  readonly thisArg: unknown;
  readonly args: readonly unknown[];
  /** Runs the function on the stand-ins. Throws UserError TRACE_WRITE where it wrote to an object, with everything as it was. */
  run<T>(work: () => T): T;
  /** What was read until now. */
  guards(): GuardTree;
  /** The slot of the object that a stand-in stands for. */
  slotOf(standIn: object): number | undefined;
  /** The distinct tensors found until now, in the order of their leaves. */
  readonly leaves: readonly Tensor[];
}

/** `guardOf` says what is required of a tensor leaf; `standIn` gives what the function sees of it. */
interface ObserveOptions {
  guardOf(tensor: Tensor, path: string): TensorGuard;
  standIn(tensor: Tensor, path: string): Tensor;
  /** The same for a tensor that the function sees itself: of fixed sizes. */
  asItIs(tensor: Tensor): TensorGuard;
  /** Whether what a property is read by, which is called by the program, is called by code that was followed. */
  isReadByFollowed(reader: Reading): boolean;
  /** Whether the number at a path is not guarded by its value, and what the function is shown of it. */
  isVariable(path: string): boolean;
  shown(path: string, value: number): number;
  /** Whether what the function does beside tensors is to happen once, when it is traced. */
  isTrusted(): boolean;
}

type Reading = (...args: never[]) => unknown;

const maximumDepth = 64;
const call: Place = { slot: 0, path: '', depth: 0 };

/** Guards of `this` only where the function can see it; of what `method`, the function itself, calls through `super`. */
export function observe(
  scope: CallScope,
  options: ObserveOptions & { readonly usesThis: boolean; readonly method?: object },
): Observation {
  return new Observer(options).observeCall(scope, options.usesThis ? { method: options.method } : undefined);
}

class Observer implements GuardWriter {
  readonly #options: ObserveOptions;
  readonly #nodes: GuardNode[] = [];
  readonly #leaves: Tensor[] = [];
  /** What the function sees of each object, and where that was found first. */
  readonly #known = new Map<object, { readonly place: Place; readonly standIn: object }>();
  /** Proxies, with what they stand for. */
  readonly #instances = new Map<
    object,
    { readonly value: object; readonly place: Place; readonly seen: Map<unknown, unknown> }
  >();
  readonly #asTheyAre = new AsTheyAre(this);

  constructor(options: ObserveOptions) {
    this.#options = options;
  }

  /** `seesThis`: how the function sees what it is called as a method of. */
  observeCall(scope: CallScope, seesThis: { readonly method: object | undefined } | undefined): Observation {
    const { arguments: given, captures } = scope;
    const list = this.guard(
      call,
      { key: 'arguments', path: 'the number of arguments', value: given },
      { kind: 'count', count: given.length },
    );
    const args = given.map((value, key) => this.#read(list, { key, path: `arguments[${String(key)}]`, value }));
    // The function sees what it closes over itself, not through these.
    if (captures !== undefined) this.#asTheyAre.read(call, { key: 'captures', path: 'captures', value: captures });
    const isSeen = seesThis !== undefined && !isUnobservable(scope.this);
    const thisArg = isSeen ? this.#read(call, { key: 'this', path: 'this', value: scope.this }) : scope.this;
    const method = seesThis?.method;
    if (method !== undefined && this.#instances.has(thisArg as object)) this.#inherited(thisArg as object, method);
    return {
      thisArg,
      args,
      run: (work) => this.#run(work),
      slotOf: (standIn) => this.#slotOf(standIn),
      guards: () => ({ nodes: this.#nodes, distinct: distinctGroups(this.#nodes, firstSlot) }),
      leaves: this.#leaves,
    };
  }

  guard(parent: Place, { key, path }: Found, expect: Expectation): Place {
    this.#nodes.push({ parent: parent.slot, key, expect, path });
    return { slot: firstSlot + this.#nodes.length - 1, path, depth: parent.depth + 1 };
  }

  tensor(parent: Place, found: Found, tensor: Tensor): Place {
    const place = this.#leaf(parent, found, { tensor, guard: this.#options.asItIs(tensor) });
    this.#known.set(tensor, { place, standIn: tensor });
    return place;
  }

  metTensor(tensor: Tensor): boolean {
    return this.#known.has(tensor);
  }

  count(): number {
    return this.#nodes.length;
  }

  #run<T>(work: () => T): T {
    const state = {
      knows: (key: unknown): key is object => this.#instances.has(key as object),
      read: (key: object, map: WeakMap<object, unknown>) => this.#privateEntry(key, entryOf(map), map),
      has: (key: object, members: Pick<WeakMap<object, unknown>, 'has'>) =>
        this.#privateEntry(key, membershipOf(members), members) === true,
      written: (key: object) => this.#written(key, '#private'),
    };
    let result: T;
    try {
      result = withPrivateState(state, work);
    } catch (error) {
      this.#asTheyAre.takeBack();
      throw error;
    }
    const written = this.#asTheyAre.takeBack();
    if (written !== undefined) throw observedWrite(written);
    return result;
  }

  /** Guards what was found, and gives its stand-in. */
  #read(parent: Place, found: Found): unknown {
    const { path, value } = found;
    if (parent.depth >= maximumDepth) throw argumentTooDeep(path);
    if (typeof value === 'function') {
      this.#asTheyAre.readFunction(parent, { ...found, value });
      return value;
    }
    if (typeof value === 'number' && this.#options.isVariable(path)) {
      this.guard(parent, found, { kind: 'number', traced: value });
      return this.#options.shown(path, value);
    }
    if (typeof value !== 'object' || value === null) {
      this.guard(parent, found, { kind: 'value', value });
      return value;
    }
    const known = this.#known.get(value);
    if (known !== undefined) {
      this.guard(parent, found, { kind: 'same', slot: known.place.slot, path: known.place.path });
      return known.standIn;
    }
    if (isTensor(value)) return this.#tensor(parent, found, value);
    if (Array.isArray(value)) return this.#array(parent, found, value);
    if (isPlainObject(value)) return this.#object(parent, found, value);
    if (isObservable(value)) return this.#instance(parent, { ...found, value });
    throw unsupportedArgument(path, value);
  }

  #tensor(parent: Place, found: Found, tensor: Tensor): Tensor {
    const place = this.#leaf(parent, found, { tensor, guard: this.#options.guardOf(tensor, found.path) });
    const standIn = this.#options.standIn(tensor, found.path);
    this.#known.set(tensor, { place, standIn });
    // What a program keeps on a tensor, beside what every tensor has.
    for (const key of membersOf(tensor)) {
      const value: unknown = Reflect.get(tensor, key);
      const member = this.#read(place, { key, path: memberPath(place.path, key), value });
      Object.defineProperty(standIn, key, { value: member, enumerable: true, writable: true, configurable: true });
    }
    this.#asTheyAre.watch(standIn, place.path);
    return standIn;
  }

  #leaf(parent: Place, found: Found, { tensor, guard }: { tensor: Tensor; guard: TensorGuard }): Place {
    return this.guard(parent, found, { kind: 'tensor', leaf: this.#leaves.push(tensor) - 1, tensor: guard });
  }

  #array(parent: Place, found: Found, value: readonly unknown[]): unknown {
    const { length } = value;
    const prototype = prototypeOf(value);
    const place = this.guard(parent, found, { kind: 'array', length, prototype });
    const copy: unknown[] = Object.setPrototypeOf([], prototype) as unknown[];
    const standIn = this.#watched(copy, value, place);
    for (let key = 0; key < length; key += 1) {
      const item = this.#read(place, { key, path: `${found.path}[${String(key)}]`, value: value[key] });
      if (item === undefined) this.#answer(place, ownPresence(String(key)), { value, answer: key in value });
      if (key in value) copy[key] = item;
    }
    copy.length = length;
    return standIn;
  }

  #object(parent: Place, found: Found, value: Readonly<Record<PropertyKey, unknown>>): unknown {
    const keys = Object.keys(value);
    const prototype = prototypeOf(value);
    const place = this.guard(parent, found, { kind: 'object', keys, prototype });
    const copy = Object.create(prototype) as Record<PropertyKey, unknown>;
    const standIn = this.#watched(copy, value, place);
    for (const key of keys) {
      const member = this.#read(place, { key, path: memberPath(place.path, key), value: value[key] });
      Object.defineProperty(copy, key, { value: member, enumerable: true, writable: true, configurable: true });
    }
    return standIn;
  }

  /** What the function sees of `original`: `copy`, through which nobody writes. */
  #watched(copy: object, original: object, place: Place): object {
    const changing = <R>(key: PropertyKey, change: (target: object) => R): R => {
      if (!this.#options.isTrusted()) throw observedWrite(memberPath(place.path, key));
      change(original);
      return change(copy);
    };
    const hidden = new HiddenMembers(copy, original, {
      member: (key) => {
        const path = memberPath(place.path, key);
        return this.#read(place, { key, path, value: Reflect.get(original, key) as unknown });
      },
      answer: (reader) => {
        this.#answer(place, reader, { value: original, answer: reader.of(original) });
      },
      names: (reader) => {
        this.#names(place, reader, original);
      },
    });
    const standIn = new Proxy(copy, {
      ...hidden.traps(),
      set: (_, key, value) => changing(key, (target) => Reflect.set(target, key, value)),
      defineProperty: (_, key, descriptor) =>
        changing(key, (target) => Reflect.defineProperty(target, key, descriptor)),
      deleteProperty: (_, key) => changing(key, (target) => Reflect.deleteProperty(target, key)),
    });
    this.#known.set(original, { place, standIn });
    return standIn;
  }

  #answer(place: Place, key: Reader, { value, answer }: { readonly value: object; readonly answer: unknown }): void {
    this.guard(place, { key, path: `${place.path} (${key.label})`, value }, { kind: 'value', value: answer });
  }

  /** Guards which names there are. */
  #names(place: Place, key: Reader, value: object): (string | symbol)[] {
    const names = key.of(value) as (string | symbol)[];
    this.guard(place, { key, path: `${place.path} (${key.label})`, value }, { kind: 'names', names });
    return names;
  }

  #instance(parent: Place, found: Found & { readonly value: object }): object {
    const { value } = found;
    const fields = nativePrivatesOf(value);
    if (fields !== undefined) {
      this.#known.set(value, { place: this.#asTheyAre.readInstance(parent, found, fields), standIn: value });
      return value;
    }
    const place = this.guard(parent, found, { kind: 'instance', prototype: prototypeOf(value) });
    const standIn = this.#proxy(value, place);
    this.#known.set(value, { place, standIn });
    this.#instances.set(standIn, { value, place, seen: new Map() });
    return standIn;
  }

  /** The proxy's target is a bare object of the same class, so that frozen instances can be stood in for as well. */
  #proxy(value: object, place: Place): object {
    const get = (_: object, key: PropertyKey): unknown => this.#property(proxy, key, get);
    const proxy: object = new Proxy(Object.create(prototypeOf(value)) as object, {
      get,
      has: (_, key) => this.#once(proxy, presence(key), Reflect.has(value, key)) === true,
      ownKeys: () => {
        return this.#names(place, ownNames, value);
      },
      getOwnPropertyDescriptor: (_, key) => {
        if (this.#once(proxy, ownPresence(key), Object.hasOwn(value, key)) !== true) return undefined;
        const enumerable = Object.prototype.propertyIsEnumerable.call(value, key);
        return { value: Reflect.get(proxy, key) as unknown, enumerable, configurable: true, writable: true };
      },
      getPrototypeOf: () => prototypeOf(value),
      isExtensible: () => {
        // The stand-in has no properties that could be as firm.
        if (!Object.isExtensible(value)) throw unsupportedArgument(place.path, value);
        return this.#once(proxy, firmness, firmness.of(value)) === 'open';
      },
      set: (_, key, written) => Reflect.set(this.#written(proxy, key), key, written),
      defineProperty: (_, key, descriptor) => Reflect.defineProperty(this.#written(proxy, key), key, descriptor),
      deleteProperty: (_, key) => Reflect.deleteProperty(this.#written(proxy, key), key),
    });
    return proxy;
  }

  /** `reader` is what was called to read it. */
  #property(proxy: object, key: PropertyKey, reader: Reading): unknown {
    const { value, place, seen } = this.#placeOf(proxy);
    const descriptor = findDescriptor(value, key);
    const getter = accessorOf(descriptor);
    if (getter !== undefined) {
      this.#once(proxy, accessor(key), getter);
      this.#inherited(proxy, getter);
      return getter.call(proxy);
    }
    const found: unknown = descriptor?.value;
    if (seen.has(key)) return seen.get(key);
    if (this.#options.isTrusted() && isPlainValue(found)) return found;
    const isMethod = typeof found === 'function' && key !== 'constructor' && !Object.hasOwn(value, key);
    const standIn = this.#seenAs(place, { key, path: memberPath(place.path, key), value: found }, { isMethod, reader });
    seen.set(key, standIn);
    if (typeof found === 'function') this.#inherited(proxy, found);
    return standIn;
  }

  /** What a method of an instance calls through `super`. */
  #inherited(proxy: object, method: object): void {
    const { value } = this.#placeOf(proxy);
    for (const member of inheritedMembers(value, method)) this.#once(proxy, member.reader, member.value);
  }

  /** A method by its identity alone; a class, and what was put on the instance, with what they hold. */
  #seenAs(place: Place, found: Found, { isMethod, reader }: { isMethod: boolean; reader: Reading }): unknown {
    const { value, path } = found;
    // What another function reads may decide something there, of which nothing is known.
    const isFixed =
      typeof value === 'number' && !(this.#options.isVariable(path) && this.#options.isReadByFollowed(reader));
    if (!isMethod && !isFixed) return this.#read(place, found);
    this.guard(place, found, { kind: 'value', value });
    return value;
  }

  /** The answer to a question about an instance, guarded once. */
  #once(proxy: object, reader: Reader, answer: unknown): unknown {
    const { place, seen } = this.#placeOf(proxy);
    if (seen.has(reader.label) || this.#options.isTrusted()) return answer;
    seen.set(reader.label, answer);
    this.guard(
      place,
      { key: reader, path: `${place.path} (${reader.label})`, value: answer },
      { kind: 'value', value: answer },
    );
    return answer;
  }

  #privateEntry(proxy: object, reader: Reader, holder: object): unknown {
    const { value, place, seen } = this.#placeOf(proxy);
    const known = (seen.get(holder) ?? {}) as Record<string, unknown>;
    const { label } = reader;
    if (Object.hasOwn(known, label)) return known[label];
    const read = this.#read(place, { key: reader, path: memberPath(place.path, '#private'), value: reader.of(value) });
    seen.set(holder, { ...known, [label]: read });
    return read;
  }

  /** The object behind a proxy, if it may be written to; what was seen of it may be another thing afterwards. */
  #written(proxy: object, key: PropertyKey): object {
    const { value, place, seen } = this.#placeOf(proxy);
    if (!this.#options.isTrusted()) throw observedWrite(memberPath(place.path, key));
    seen.clear();
    return value;
  }

  #slotOf(standIn: object): number | undefined {
    if (!types.isProxy(standIn)) return undefined;
    return [...this.#known.values()].find((known) => known.standIn === standIn)?.place.slot;
  }

  #placeOf(proxy: object) {
    const known = this.#instances.get(proxy);
    if (known === undefined) throw unsupportedArgument('this', proxy);
    return known;
  }
}
