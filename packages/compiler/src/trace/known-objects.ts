// Which objects the names of a function may stand for while it is traced: models and their layers, tables of functions, arguments.
// In: expressions of its source. Out: the objects and functions that they may be, so that the functions which it calls are known.
// Nothing is called to find out: a property that is computed is not known.
import { isTensor } from '@tsinductor/tensor';
import type { AnyNode, Pattern } from 'acorn';
import { plainFunction } from './followed-function.ts';
import { accessorOf, findDescriptor, prototypeOf } from './readers.ts';
import type { Given } from './flow-program.ts';
import { none, union } from './held-numbers.ts';
import type { Labels } from './held-numbers.ts';
import { writtenKey } from './syntax.ts';

/** More objects than these are not looked at. */
const maximumObjects = 512;

export type Objects = ReadonlySet<object>;

interface Origins {
  /** The function itself: `super` in it is what is behind the class that it is of. */
  readonly self: object;
  /** What `this` may be. */
  thisObjects(): Objects | undefined;
  /** What a variable of the closure, or a global one, stands for; undefined for the function's own. */
  outer(name: string): unknown;
  /** What is at an access path. */
  atPath(name: string): unknown;
  /** Whether the program may write to a property of that name. */
  mayWrite(name: string): boolean;
  /** The function that is written in place, or declared inside, here; undefined where none is. */
  inPlace(node: AnyNode): InPlace | undefined;
}

/** A function that is written inside another: there is no such object before that runs. */
export class InPlace {
  /** What it is known to give. */
  result: Labels = none;
  #walked = -1;
  readonly #parts: InPlaceParts;

  constructor(parts: InPlaceParts) {
    this.#parts = parts;
  }

  /** It is called with these once more. Gives what its result is known to carry. */
  called(given: readonly Given[]): Labels {
    this.#parts.bind(given);
    this.walk();
    return this.result;
  }

  /** Walks through it, once in each round: so a function that is called twice by one that is called twice costs no more, nor one by itself. */
  walk(): void {
    const round = this.#parts.round();
    if (this.#walked === round) return;
    this.#walked = round;
    this.result = union(this.result, this.#parts.walk());
  }
}

interface InPlaceParts {
  readonly bind: (given: readonly Given[]) => void;
  readonly walk: () => Labels;
  readonly round: () => number;
}

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

export class KnownObjects {
  readonly #origins: Origins;
  readonly #variables = new Map<string, Set<object>>();

  constructor(origins: Origins) {
    this.#origins = origins;
  }

  count(): number {
    return [...this.#variables.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** What an expression may be; undefined where that is not known. */
  of(node: AnyNode): Objects | undefined {
    const inPlace = this.#origins.inPlace(node);
    if (inPlace !== undefined) return new Set([inPlace]);
    const rule = this.#rules[node.type] as ((node: AnyNode) => Objects | undefined) | undefined;
    return rule?.(node);
  }

  readonly #rules: {
    readonly [T in AnyNode['type']]?: (node: Extract<AnyNode, { readonly type: T }>) => Objects | undefined;
  } = {
    ThisExpression: () => known(this.#origins.thisObjects()),
    Identifier: ({ name }) =>
      known(this.#variables.get(name)) ?? listed([this.#origins.atPath(name), this.#origins.outer(name)]),
    ChainExpression: ({ expression }) => this.of(expression),
    ParenthesizedExpression: ({ expression }) => this.of(expression),
    SequenceExpression: ({ expressions }) => {
      const last = expressions.at(-1);
      return last && this.of(last);
    },
    ConditionalExpression: ({ consequent, alternate }) => together(this.of(consequent), this.of(alternate)),
    LogicalExpression: ({ left, right }) => together(this.of(left), this.of(right)),
    MemberExpression: (node) => {
      const objects = node.object.type === 'Super' ? this.#basesOf() : this.of(node.object);
      return objects && this.#members(objects, writtenKey(node));
    },
  };

  /** Whether an expression is a property that is null or undefined in all objects that it may be of. */
  isNothing(node: AnyNode): boolean {
    const key = node.type === 'MemberExpression' ? writtenKey(node) : undefined;
    if (node.type !== 'MemberExpression' || node.object.type === 'Super' || key === undefined) return false;
    if (this.#origins.mayWrite(String(key))) return false;
    const values = [...(this.of(node.object) ?? [])].map((object) => dataOf(object, key));
    return values.length > 0 && values.every((data) => data !== undefined && isNullish(data.value));
  }

  /** The number that a property of a known object is. */
  numberAt(node: AnyNode): number | undefined {
    const key = node.type === 'MemberExpression' ? writtenKey(node) : undefined;
    if (node.type !== 'MemberExpression' || node.object.type === 'Super' || key === undefined) return undefined;
    const [object, ...others] = this.of(node.object) ?? [];
    if (object === undefined || others.length > 0 || isTensor(object)) return undefined;
    const value: unknown = findDescriptor(object, key)?.value;
    return typeof value === 'number' ? value : undefined;
  }

  /** What the objects have under a key; undefined where the program may write to it, too. */
  #members(objects: Objects, key: string | number | undefined): Objects | undefined {
    return key !== undefined && this.#origins.mayWrite(String(key)) ? undefined : membersOf(objects, key);
  }

  /** What is behind the prototypes that have the function as their own. */
  #basesOf(): Objects | undefined {
    const bases = new Set<object>();
    for (const object of this.#origins.thisObjects() ?? []) {
      const base = baseBehind(object, this.#origins.self);
      // One that has another method of that name does not call this one.
      if (base !== undefined) bases.add(base);
    }
    return known(bases);
  }

  /** What a loop over an expression goes through. */
  elements(node: AnyNode): Objects | undefined {
    const objects = this.of(node);
    return objects && membersOf(objects, undefined);
  }

  /** A pattern takes one of these. */
  bind(pattern: Pattern, objects: Objects | undefined): void {
    if (objects === undefined) return;
    switch (pattern.type) {
      case 'Identifier':
        this.#hold(pattern.name, objects);
        break;
      case 'AssignmentPattern':
        this.bind(pattern.left, objects);
        break;
      case 'ArrayPattern':
        for (const element of pattern.elements) if (element !== null) this.bind(element, membersOf(objects, undefined));
        break;
      case 'ObjectPattern':
        for (const property of pattern.properties)
          if (property.type === 'Property' && !property.computed && property.key.type === 'Identifier')
            this.bind(property.value, this.#members(objects, property.key.name));
        break;
      case 'RestElement':
      case 'MemberExpression':
        break;
    }
  }

  #hold(name: string, objects: Objects): void {
    const held = this.#variables.get(name) ?? new Set();
    for (const object of objects) if (held.size < maximumObjects) held.add(object);
    this.#variables.set(name, held);
  }
}

/** The prototype behind the first that has `fn` among its own members, compiled or as it is. */
function baseBehind(object: object, fn: object): object | undefined {
  for (let holder: object | null = object; holder !== null; holder = prototypeOf(holder)) {
    const members = Object.values(Object.getOwnPropertyDescriptors(holder));
    const isHome = members.some((member) => {
      const own: unknown = accessorOf(member) ?? member.value;
      return typeof own === 'function' && plainFunction(own) === fn;
    });
    if (isHome) return prototypeOf(holder) ?? undefined;
  }
  return undefined;
}

const known = (objects: Objects | undefined): Objects | undefined =>
  objects === undefined || objects.size === 0 ? undefined : objects;

const listed = (values: readonly unknown[]): Objects | undefined => known(new Set(values.filter(isObject)));

const together = (one: Objects | undefined, other: Objects | undefined): Objects | undefined =>
  one !== undefined && other !== undefined ? new Set([...one, ...other]) : undefined;

/** What the objects have under a key, or under any, but null; undefined where one of them has nothing there, or computes it. */
function membersOf(objects: Objects, key: PropertyKey | undefined): Objects | undefined {
  const found = new Set<object>();
  for (const object of objects) {
    if (isTensor(object) || object instanceof InPlace) return undefined;
    for (const each of key === undefined ? Object.keys(object) : [key]) {
      const data = dataOf(object, each);
      if (data === undefined) return undefined;
      if (isObject(data.value)) found.add(data.value);
      else if (key !== undefined && !isNullish(data.value)) return undefined;
      if (found.size > maximumObjects) return undefined;
    }
  }
  return known(found);
}

const isNullish = (value: unknown): boolean => value === null || value === undefined;

/** A property that is there and is not computed. */
function dataOf(object: object, key: PropertyKey): { readonly value: unknown } | undefined {
  if (isTensor(object) || object instanceof InPlace) return undefined;
  const descriptor = findDescriptor(object, key);
  return descriptor === undefined || accessorOf(descriptor) !== undefined ? undefined : { value: descriptor.value };
}
