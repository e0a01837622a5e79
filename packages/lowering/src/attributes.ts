// Reads the attributes of a primitive's node in the forms that docs/architecture.md states. A node that has others did
// not come through the graph's checks, which is a bug.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Arg, Attr, GraphNode, ScalarRef, ValueRef } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { malformedNode } from './errors.ts';

export type CallNode = Extract<GraphNode, { kind: 'call' }>;

const fail = (node: CallNode, what: string): never => {
  throw malformedNode(node.target, what);
};

export function numberAttr(node: CallNode, name: string): number {
  const attr = node.attrs[name];
  return typeof attr === 'number' ? attr : fail(node, `attribute ${name} is not a number`);
}

export function stringAttr(node: CallNode, name: string): string {
  const attr = node.attrs[name];
  return typeof attr === 'string' ? attr : fail(node, `attribute ${name} is not a string`);
}

/** An attribute that may be left out, which means no. */
export const flagAttr = (node: CallNode, name: string): boolean => node.attrs[name] === true;

export const numbersAttr = (node: CallNode, name: string): readonly number[] =>
  listAttr(node, name).map((item) =>
    typeof item === 'number' ? item : fail(node, `attribute ${name} has an entry that is not a number`),
  );

export function dtypeAttr(node: CallNode, name: string): DType {
  const attr = node.attrs[name];
  return isRecord(attr) && 'dtype' in attr ? attr.dtype : fail(node, `attribute ${name} is not a dtype`);
}

export const sizeAttr = (node: CallNode, name: string): Index => asSize(node, name, node.attrs[name]);
export const sizesAttr = (node: CallNode, name: string): readonly Index[] =>
  listAttr(node, name).map((item) => asSize(node, name, item));

/** Pairs of sizes, as `padding` has them. */
export const pairsAttr = (node: CallNode, name: string): readonly (readonly [Index, Index])[] =>
  listAttr(node, name).map((item) => {
    const pair = Array.isArray(item)
      ? (item as readonly Attr[])
      : fail(node, `attribute ${name} has an entry that is not a pair`);
    return [asSize(node, name, pair[0]), asSize(node, name, pair[1])];
  });

function asSize(node: CallNode, name: string, attr: Attr | undefined): Index {
  if (typeof attr === 'number') return int(attr);
  return isRecord(attr) && 'size' in attr ? attr.size : fail(node, `attribute ${name} is not a size`);
}

function listAttr(node: CallNode, name: string): readonly Attr[] {
  const attr = node.attrs[name];
  return Array.isArray(attr) ? (attr as readonly Attr[]) : fail(node, `attribute ${name} is not a list`);
}

/** An attribute that is a number of any kind: a plain one, a size or a scalar. */
export function scalarAttr(node: CallNode, name: string): ScalarRef | Index {
  const attr = node.attrs[name];
  if (isScalarRef(attr)) return attr;
  if (typeof attr === 'number' && Number.isInteger(attr) && !Object.is(attr, -0)) return int(attr);
  if (typeof attr === 'number') return { kind: 'scalar', category: 'float', value: attr };
  if (typeof attr === 'boolean') return { kind: 'scalar', category: 'bool', value: attr };
  return asSize(node, name, attr);
}

const isRecord = (attr: Attr | undefined): attr is Exclude<Attr, null | boolean | number | string | readonly Attr[]> =>
  typeof attr === 'object' && attr !== null && !Array.isArray(attr);
const isScalarRef = (attr: Attr | undefined): attr is ScalarRef => isRecord(attr) && 'kind' in attr;

export const isIndex = (value: ScalarRef | Index): value is Index => value.kind !== 'scalar';

export function valueArg(node: CallNode, position: number): ValueRef {
  const arg = node.args[position];
  return isValue(arg) ? arg : fail(node, `argument ${String(position)} is not a tensor`);
}

/** A tensor or a scalar. */
export function operandArg(node: CallNode, position: number): ValueRef | ScalarRef {
  const arg = node.args[position];
  if (isValue(arg)) return arg;
  return isScalarArg(arg) ? arg : fail(node, `argument ${String(position)} is neither a tensor nor a number`);
}

export function valuesArg(node: CallNode, position: number): readonly ValueRef[] {
  const arg = at(node.args, position);
  return Array.isArray(arg)
    ? (arg as readonly ValueRef[])
    : fail(node, `argument ${String(position)} is not a list of tensors`);
}

const isValue = (arg: Arg | undefined): arg is ValueRef =>
  arg !== undefined && arg !== null && 'kind' in arg && arg.kind === 'value';
const isScalarArg = (arg: Arg | undefined): arg is ScalarRef =>
  arg !== undefined && arg !== null && 'kind' in arg && arg.kind === 'scalar';
