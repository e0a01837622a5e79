// Guards: what a trace read is what a call checks.
//
// In: `this` and the arguments of a call. Out: the tensors that the compiled graph takes, or the first check that fails,
// with expected and found values. A guard tree is a flat list in which each check reads one property of an object that
// an earlier check put in a slot, so that running it is one loop without allocation.
import type { DType } from '@tsinductor/base';
import { isTensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { dynamicAxesOf, printRange } from '@tsinductor/tensor/internal';
import type { Device, SizeRange } from '@tsinductor/tensor/internal';
import { areDistinct } from './distinct.ts';
import type { DistinctGroup } from './distinct.ts';
import { isReader } from './readers.ts';
import type { Reader } from './readers.ts';
import { changedMembers, hasAsMany } from './tensor-members.ts';

/** What is required of a tensor. A range in shape: a symbolic size, which need not be the traced one. */
export interface TensorGuard {
  readonly dtype: DType;
  readonly device: Device;
  readonly shape: readonly (number | SizeRange)[];
  /** Exact strides; `contiguous` where sizes are symbolic. */
  readonly strides: readonly number[] | 'contiguous';
  /** Position of its first element in its storage, where the function asked for that. */
  readonly offset?: number;
  /** What was kept on it when the function was traced; undefined where it does not count. */
  readonly members?: readonly string[];
  /** The shape and strides that met this last: a tensor whose lists these are needs no look into them. */
  met?: { shape: readonly number[]; strides: readonly number[] };
}

export type Expectation =
  | { readonly kind: 'tensor'; readonly leaf: number; readonly tensor: TensorGuard }
  /** A plain value, a function, or any object that is compared by identity. */
  | { readonly kind: 'value'; readonly value: unknown }
  /** Any number: what is computed of it is an input. */
  | { readonly kind: 'number'; readonly traced: number }
  | { readonly kind: 'array'; readonly length: number; readonly prototype: object | null }
  | { readonly kind: 'object'; readonly keys: readonly string[]; readonly prototype: object | null }
  | { readonly kind: 'instance'; readonly prototype: object | null }
  /** The very object that an earlier slot holds. */
  | { readonly kind: 'same'; readonly slot: number; readonly path: string }
  /** A list of names, in order. */
  | { readonly kind: 'names'; readonly names: readonly PropertyKey[] }
  /** The list of arguments, of that many. */
  | { readonly kind: 'count'; readonly count: number };

export interface GuardNode {
  /** Slot of the object read from; 0 holds the call: `{ this, arguments, captures }`. */
  readonly parent: number;
  readonly key: PropertyKey | Reader;
  readonly expect: Expectation;
  /** As a user would write it: `this.layers[0].weight`, `arguments[1]`. */
  readonly path: string;
}

/** Everything that a call has to meet. */
export interface GuardTree {
  readonly nodes: readonly GuardNode[];
  readonly distinct: readonly DistinctGroup[];
}

export interface GuardFailure {
  readonly path: string;
  readonly expected: string;
  readonly found: string;
  /** Set if only sizes of a tensor differ: which leaf, which axes. */
  readonly sizes?: { readonly leaf: number; readonly axes: readonly number[] };
  /** Whether one number was found instead of another. */
  readonly isNumber?: boolean;
}

/** What a call brings. */
export interface CallScope {
  readonly this: unknown;
  readonly arguments: readonly unknown[];
  /** What `captures` gives now. */
  readonly captures: unknown;
}

/** Slots before the first node's: the call. */
export const firstSlot = 1;

/** What `checkGuards` gives where nothing failed, and where objects are one that were several. */
export const guardsHold = -1;
export const objectsCoincide = -2;

/**
 * Reads and checks everything that the trace read. On success `leaves` holds the tensors; otherwise the index of the
 * node that failed is returned, or `objectsCoincide`. `slots` is scratch space, kept between calls, with the call in slot 0.
 */
export function checkGuards({ nodes, distinct }: GuardTree, slots: unknown[], leaves: Tensor[]): number {
  // Not by `at`: a profile shows that its reads are megamorphic, since all of the program reads its lists there.
  let index = 0;
  for (const { parent, key, expect } of nodes) {
    const value = readKey(slots[parent], key);
    if (expect.kind === 'same' ? value !== slots[expect.slot] : !meets(value, expect, leaves)) return index;
    slots[firstSlot + index] = value;
    index += 1;
  }
  return areDistinct(distinct, slots) ? guardsHold : objectsCoincide;
}

/** Elements of lists apart from properties of everything else: each is then read in one way. */
export function readKey(parent: unknown, key: PropertyKey | Reader): unknown {
  if (typeof key === 'number' && Array.isArray(parent)) return (parent as unknown[])[key];
  return isReader(key) ? key.of(parent as object) : (parent as Record<PropertyKey, unknown>)[key];
}

function meets(value: unknown, expect: Exclude<Expectation, { kind: 'same' }>, leaves: Tensor[]): boolean {
  switch (expect.kind) {
    case 'tensor':
      if (!isTensor(value) || !meetsTensor(value, expect.tensor)) return false;
      leaves[expect.leaf] = value;
      return true;
    case 'value':
      return Object.is(value, expect.value);
    case 'number':
      return typeof value === 'number';
    case 'array':
      return (
        Array.isArray(value) && value.length === expect.length && Object.getPrototypeOf(value) === expect.prototype
      );
    case 'object':
      return (
        typeof value === 'object' &&
        value !== null &&
        Object.getPrototypeOf(value) === expect.prototype &&
        sameNames(Object.keys(value), expect.keys)
      );
    case 'instance':
      return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === expect.prototype;
    case 'names':
      return sameNames(value as readonly PropertyKey[], expect.names);
    case 'count':
      return (value as readonly unknown[]).length === expect.count;
  }
}

export function meetsTensor(tensor: Tensor, guard: TensorGuard): boolean {
  if (!isOfKind(tensor, guard) || !meetsMarks(tensor, guard)) return false;
  const { shape, strides } = tensor;
  const { met } = guard;
  if (guard.offset !== undefined && tensor.storageOffset !== guard.offset) return false;
  if (met?.shape === shape && met.strides === strides) return true;
  if (!meetsLayout(tensor, guard)) return false;
  if (met === undefined) {
    guard.met = { shape, strides };
  } else {
    met.shape = shape;
    met.strides = strides;
  }
  return true;
}

/** Whether a tensor is as the guard says, but for its layout. */
const isOfKind = (tensor: Tensor, { dtype, device, members }: TensorGuard): boolean =>
  tensor.dtype === dtype && tensor.device === device && (members === undefined || hasAsMany(tensor, members));

function meetsLayout({ shape, strides }: Tensor, guard: TensorGuard): boolean {
  if (shape.length !== guard.shape.length) return false;
  for (let axis = 0; axis < shape.length; axis += 1) {
    const expected = guard.shape[axis];
    if (expected === undefined || !meetsSize(shape[axis] ?? 0, expected)) return false;
  }
  if (guard.strides === 'contiguous') return isContiguous(shape, strides);
  for (let axis = 0; axis < strides.length; axis += 1) if (strides[axis] !== guard.strides[axis]) return false;
  return true;
}

/** An axis that was marked since wants code for any size. */
function meetsMarks(tensor: Tensor, { shape }: TensorGuard): boolean {
  const marked = dynamicAxesOf(tensor);
  if (marked.size === 0) return true;
  for (const axis of marked.keys()) if (typeof shape[axis] === 'number') return false;
  return true;
}

const meetsSize = (found: number, expected: number | SizeRange): boolean =>
  typeof expected === 'number'
    ? found === expected
    : found >= expected.min && (expected.max === null || found <= expected.max);

/** Whether strides are exactly the row-major ones. */
export function isContiguous(shape: readonly number[], strides: readonly number[]): boolean {
  let expected = 1;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    if (strides[axis] !== expected) return false;
    expected *= shape[axis] ?? 1;
  }
  return true;
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null) return true;
  // A plain object of another realm (jest, vm) has another Object.prototype, whose own prototype is null all the same.
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'isPrototypeOf');
}

const sameNames = (found: readonly PropertyKey[], names: readonly PropertyKey[]): boolean =>
  found.length === names.length && found.every((name, index) => name === names[index]);

/** The numbers and sizes that keep a call from meeting the guards; those before anything else that does. */
export function changedInputs({ nodes }: GuardTree, slots: unknown[]): readonly GuardFailure[] {
  const leaves: Tensor[] = [];
  const changed: GuardFailure[] = [];
  for (const [index, node] of nodes.entries()) {
    const { parent, key, expect } = node;
    const value = readKey(slots[parent], key);
    slots[firstSlot + index] = value;
    if (expect.kind === 'same' ? value === slots[expect.slot] : meets(value, expect, leaves)) continue;
    const failure = explainFailure(node, slots);
    if (failure.isNumber !== true && failure.sizes === undefined) break;
    changed.push(failure);
  }
  return changed;
}

/** Explains why the node at `failed` was not met. */
export function explainFailure(node: GuardNode, slots: readonly unknown[]): GuardFailure {
  const value = readKey(slots[node.parent], node.key);
  const found = printValue(value, node.expect);
  const isNumber = node.expect.kind === 'value' && typeof node.expect.value === 'number' && typeof value === 'number';
  const failure = { path: node.path, expected: printExpectation(node.expect), found, isNumber };
  if (node.expect.kind !== 'tensor' || !isTensor(value)) return failure;
  const axes = differingSizes(value, node.expect.tensor);
  return axes === undefined ? failure : { ...failure, sizes: { leaf: node.expect.leaf, axes } };
}

/** The axes at which sizes differ, if nothing else keeps `tensor` from meeting the guard. */
function differingSizes(tensor: Tensor, guard: TensorGuard): number[] | undefined {
  if (!isOfKind(tensor, guard) || tensor.shape.length !== guard.shape.length) return undefined;
  const axes: number[] = [];
  for (const [axis, expected] of guard.shape.entries()) {
    const found = tensor.shape[axis] ?? 0;
    if (meetsSize(found, expected)) continue;
    // 0 and 1 mean something else than other sizes do: broadcasting, empty loops. They are never made symbolic.
    if (typeof expected !== 'number' || found < 2 || expected < 2) return undefined;
    axes.push(axis);
  }
  return axes.length > 0 ? axes : undefined;
}

/** Explains `objectsCoincide`. */
export function explainCoincidence({ nodes, distinct }: GuardTree, slots: readonly unknown[]): GuardFailure {
  for (const group of distinct) {
    for (const [position, slot] of group.slots.entries()) {
      const earlier = group.slots.slice(0, position).find((other) => slots[other] === slots[slot]);
      const [node, other] = [nodes[slot - firstSlot], nodes[(earlier ?? slot) - firstSlot]];
      if (earlier !== undefined && node !== undefined && other !== undefined)
        return { path: node.path, expected: 'another one', found: `the same object as ${other.path}` };
    }
  }
  return { path: 'an argument', expected: 'another one', found: 'the same object as another' };
}

export function printTensorGuard({ dtype, device, shape, strides, offset }: TensorGuard): string {
  const sizes = shape.map((size) => (typeof size === 'number' ? String(size) : printRange(size))).join(', ');
  const place = device === 'cpu' ? '' : ` on ${device}`;
  const layout = strides === 'contiguous' ? '' : ` strides [${strides.join(', ')}]`;
  return `${dtype}[${sizes}]${place}${layout}${offset === undefined ? '' : ` storageOffset ${String(offset)}`}`;
}

function printExpectation(expect: Expectation): string {
  switch (expect.kind) {
    case 'tensor':
      return printTensorGuard(expect.tensor);
    case 'value':
      return typeof expect.value === 'object' && expect.value !== null
        ? 'the object that was there'
        : printFound(expect.value);
    case 'number':
      return 'any number';
    case 'array':
      return `${listName(expect.prototype)} of ${String(expect.length)}`;
    case 'object':
      return `${objectName(expect.prototype)} with keys ${printNames(expect.keys)}`;
    case 'instance':
      return `an instance of ${className(expect.prototype)}`;
    case 'same':
      return `the same object as ${expect.path}`;
    case 'names':
      return printNames(expect.names);
    case 'count':
      return String(expect.count);
  }
}

const printNames = (names: readonly PropertyKey[]): string =>
  names.length === 0 ? '(none)' : names.map(String).join(', ');

/** What was found instead of what a guard expects. */
function printValue(value: unknown, expect: Expectation): string {
  switch (expect.kind) {
    case 'names':
      return printNames(value as readonly PropertyKey[]);
    case 'count':
      return String((value as readonly unknown[]).length);
    case 'same':
      return 'another object';
    case 'instance':
      return typeof value === 'object' && value !== null && !Array.isArray(value) && !isPlainObject(value)
        ? `an instance of ${className(Object.getPrototypeOf(value))}`
        : printFound(value);
    case 'value':
      if (!describesAlike(value, expect.value)) return printFound(value);
      return typeof value === 'function' ? `another ${printFound(value)}` : 'another object';
    case 'tensor':
      return isTensor(value) ? printTensor(value, expect.tensor) : printFound(value);
    case 'number':
    case 'array':
    case 'object':
      return printFound(value);
  }
}

/** A tensor, with what else of it the guard is about. */
function printTensor(tensor: Tensor, { offset, members }: TensorGuard): string {
  const changed = members === undefined ? '' : changedMembers(tensor, members);
  const place = offset === undefined ? '' : ` storageOffset ${String(tensor.storageOffset)}`;
  return `${printFound(tensor)}${place}${changed}`;
}

function className(prototype: unknown): string {
  const name: unknown = (prototype as { readonly constructor?: { readonly name?: unknown } } | null)?.constructor?.name;
  return typeof name === 'string' && name !== '' ? name : 'a class without a name';
}

const listName = (prototype: unknown): string =>
  className(prototype) === 'Array' ? 'an array' : `a list of ${className(prototype)}`;

const objectName = (prototype: unknown): string => (prototype === null ? 'an object without a prototype' : 'an object');

const describesAlike = (one: unknown, other: unknown): boolean =>
  (typeof one === 'function' || typeof one === 'object') && printFound(one) === printFound(other);

function printFound(value: unknown): string {
  if (isTensor(value)) {
    const { dtype, device, shape, strides } = value;
    const marked = [...dynamicAxesOf(value).keys()];
    const marks =
      marked.length === 0 ? '' : ` with ${marked.length === 1 ? 'axis' : 'axes'} ${marked.join(', ')} marked`;
    return `${printTensorGuard({ dtype, device, shape, strides })}${marks}`;
  }
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60));
  if (typeof value === 'function') return `function ${value.name}`;
  if (Array.isArray(value)) return `${listName(Object.getPrototypeOf(value))} of ${String(value.length)}`;
  if (typeof value === 'object' && value !== null)
    return `${objectName(Object.getPrototypeOf(value))} with keys ${printNames(Object.keys(value))}`;
  return String(value);
}

/** One line for a guard, for `explain`. */
export const printGuard = (node: GuardNode): string => `${node.path}: ${printExpectation(node.expect)}`;
