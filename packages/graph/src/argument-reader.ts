// A call's arguments by the names of its operator's parameters, with their types checked and defaults filled in: what
// shape rules and decompositions read. In: args (the tensor parameters, in order) and attrs (the others, by name).
import type { DType } from '@tsinductor/base';
import { isDType } from '@tsinductor/base';
import { int } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { argumentType } from './errors.ts';
import type { Arg, Attr, Attrs, ScalarRef, ValueRef } from './graph.ts';
import type { Operator, Parameter, ParameterType } from './operator.ts';

const TENSOR_TYPES: readonly ParameterType[] = ['tensor', 'operand', 'tensors', 'indices', 'index'];

/** Whether the parameter has a place in `args`. */
export const isTensorParameter = (parameter: Parameter): boolean => TENSOR_TYPES.includes(parameter.type);
/** Whether the parameter has a name in `attrs`. */
export const isAttribute = (parameter: Parameter): boolean =>
  parameter.type === 'index' || parameter.type === 'indices' || !isTensorParameter(parameter);

export const isValue = (arg: Arg | undefined): arg is ValueRef =>
  arg !== null && arg !== undefined && 'kind' in arg && arg.kind === 'value';
export const isScalar = (arg: Arg | Attr | undefined): arg is ScalarRef =>
  typeof arg === 'object' && arg !== null && 'kind' in arg && arg.kind === 'scalar';
export const isList = (arg: Arg | undefined): arg is readonly ValueRef[] => Array.isArray(arg);

/** A symbolic size. */
export const isSizeAttr = (attr: Attr): attr is { readonly size: Index } =>
  typeof attr === 'object' && attr !== null && 'size' in attr;

/** Every value that the arguments mention, in order. */
export const valuesOf = (args: readonly Arg[]): readonly ValueRef[] =>
  args.flatMap((arg) => (isList(arg) ? arg.filter(isValue) : isValue(arg) ? [arg] : []));

/** What tells a value of a graph from its others. */
export const valueKey = ({ node, result }: Pick<ValueRef, 'node' | 'result'>): string =>
  `${String(node)}.${String(result)}`;

export const isAttrList = (attr: Attr): attr is readonly Attr[] => Array.isArray(attr);

const NON_FINITE: Readonly<Record<string, number>> = { NaN, Infinity, '-Infinity': -Infinity, '-0': -0 };

/** A scalar as a number (an i64 beyond 2^53 loses digits: for attributes that are used as numbers). */
export function scalarNumber({ value }: ScalarRef): number {
  if (typeof value === 'object') return Number(value.bigint);
  return typeof value === 'string' ? (NON_FINITE[value] ?? NaN) : Number(value);
}

/** Whether a number counts as an integer: as a float where it is beyond those of 64 bits. */
export const isWholeNumber = (value: number): boolean =>
  Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63;

/** A number as a scalar: `int` where it is an integer of 64 bits, unless `category` says otherwise. */
export function scalar(value: number | boolean, category?: ScalarRef['category']): ScalarRef {
  if (typeof value === 'boolean') return { kind: 'scalar', category: category ?? 'bool', value };
  const named = Object.is(value, -0) ? '-0' : Number.isFinite(value) ? undefined : String(value);
  return {
    kind: 'scalar',
    category: category ?? (isWholeNumber(value) && named === undefined ? 'int' : 'float'),
    value: (named ?? value) as ScalarRef['value'],
  };
}

export class ArgumentReader {
  readonly operator: Pick<Operator, 'name' | 'parameters'>;
  readonly args: readonly Arg[];
  readonly attrs: Attrs;

  constructor(operator: Pick<Operator, 'name' | 'parameters'>, args: readonly Arg[], attrs: Attrs) {
    this.operator = operator;
    this.args = args;
    this.attrs = attrs;
  }

  tensor(name: string): ValueRef {
    return this.optionalTensor(name) ?? this.#fail(name, 'a tensor');
  }

  optionalTensor(name: string): ValueRef | undefined {
    const arg = this.#arg(name);
    if (arg === null || arg === undefined) return undefined;
    return isValue(arg) ? arg : this.#fail(name, 'a tensor');
  }

  operand(name: string): ValueRef | ScalarRef {
    return this.optionalOperand(name) ?? this.#fail(name, 'a tensor or a number');
  }

  optionalOperand(name: string): ValueRef | ScalarRef | undefined {
    const arg = this.#arg(name);
    if (arg === null || arg === undefined) return undefined;
    return isValue(arg) || isScalar(arg) ? arg : this.#fail(name, 'a tensor or a number');
  }

  tensors(name: string): readonly ValueRef[] {
    const arg = this.#arg(name);
    return isList(arg) ? arg : this.#fail(name, 'a list of tensors');
  }

  int(name: string): number {
    return this.optionalInt(name) ?? this.#fail(name, 'an integer');
  }

  optionalInt(name: string): number | undefined {
    const attr = this.attr(name);
    if (attr === null) return undefined;
    return typeof attr === 'number' && Number.isInteger(attr) ? attr : this.#fail(name, 'an integer');
  }

  float(name: string): number {
    return this.optionalFloat(name) ?? this.#fail(name, 'a number');
  }

  optionalFloat(name: string): number | undefined {
    const attr = this.attr(name);
    if (attr === null) return undefined;
    if (typeof attr === 'number') return attr;
    if (typeof attr === 'boolean') return Number(attr);
    if (isScalar(attr)) return scalarNumber(attr);
    return (typeof attr === 'string' ? NON_FINITE[attr] : undefined) ?? this.#fail(name, 'a number');
  }

  bool(name: string): boolean {
    return this.optionalBool(name) ?? this.#fail(name, 'true or false');
  }

  optionalBool(name: string): boolean | undefined {
    const attr = this.attr(name);
    if (attr === null) return undefined;
    return typeof attr === 'boolean' ? attr : this.#fail(name, 'true or false');
  }

  string(name: string): string {
    return this.optionalString(name) ?? this.#fail(name, 'a string');
  }

  optionalString(name: string): string | undefined {
    const attr = this.attr(name);
    if (attr === null) return undefined;
    return typeof attr === 'string' ? attr : this.#fail(name, 'a string');
  }

  dtype(name = 'dtype'): DType | undefined {
    const attr = this.attr(name);
    if (attr === null) return undefined;
    return typeof attr === 'object' && 'dtype' in attr && isDType(attr.dtype)
      ? attr.dtype
      : this.#fail(name, 'a dtype');
  }

  scalar(name: string): ScalarRef {
    const attr = this.attr(name);
    if (isScalar(attr)) return attr;
    return typeof attr === 'number' || typeof attr === 'boolean' ? scalar(attr) : this.#fail(name, 'a number');
  }

  /** One dim or a list of dims; undefined for null. */
  dims(name: string): readonly number[] | undefined {
    const attr = this.attr(name);
    if (attr === null) return undefined;
    if (typeof attr === 'number') return [attr];
    return isAttrList(attr)
      ? attr.map((item) => (typeof item === 'number' ? item : this.#fail(name, 'a list of integers')))
      : this.#fail(name, 'an integer or a list of integers');
  }

  ints(name: string): readonly number[] {
    return this.dims(name) ?? this.#fail(name, 'a list of integers');
  }

  /** A list of `count` numbers; one number stands for all of them. */
  intsOf(name: string, count: number): readonly number[] {
    const items = this.ints(name);
    if (items.length !== 1 && items.length !== count) this.#fail(name, `one integer or ${String(count)} of them`);
    return items.length === count ? items : new Array<number>(count).fill(items[0] ?? 0);
  }

  sizes(name: string): readonly Index[] {
    const attr = this.attr(name);
    const items = isAttrList(attr) ? attr : [attr];
    return items.map((item) => this.#size(name, item));
  }

  size(name: string): Index {
    return this.#size(name, this.attr(name));
  }

  attr(name: string): Attr {
    const attr = this.attrs[name];
    if (attr !== undefined) return attr;
    return this.operator.parameters.find((parameter) => parameter.name === name)?.default ?? null;
  }

  #size(name: string, item: Attr): Index {
    if (typeof item === 'number' && Number.isInteger(item)) return int(item);
    if (isSizeAttr(item)) return item.size;
    return this.#fail(name, 'a size or a list of sizes');
  }

  #arg(name: string): Arg | undefined {
    const position = this.operator.parameters
      .filter(isTensorParameter)
      .findIndex((parameter) => parameter.name === name);
    const arg = this.args[position];
    if (arg !== undefined) return arg;
    const fallback = this.operator.parameters.find((parameter) => parameter.name === name)?.default;
    return isScalar(fallback) ? fallback : null;
  }

  #fail(name: string, wanted: string): never {
    throw argumentType(this.operator.name, name, wanted);
  }
}
