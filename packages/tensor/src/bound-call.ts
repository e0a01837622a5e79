// From a user's call to an operator with arguments in graph form. Tensors stand in `args` as values of nodes 0, 1, 2 ...,
// which are positions in `tensors`, so that a call can be put into a graph whose placeholders come first as it is.
import { bindArguments, isScalar, operators } from '@tsinductor/graph';
import type { Arg, Attr, Attrs, BindingEnvironment, Operator, ScalarRef, ValueRef } from '@tsinductor/graph';
import { deviceOf } from './device.ts';
import type { Device } from './device.ts';
import { disposedTensor, unsupportedOperator } from './errors.ts';
import { symbolicSizes } from './symbolic-shape.ts';
import { isTensor } from './tensor.ts';
import type { Tensor } from './tensor.ts';

export interface BoundCall {
  readonly operator: Operator;
  readonly args: readonly Arg[];
  readonly attrs: Attrs;
  readonly tensors: readonly Tensor[];
  /** Where its results are. */
  readonly device: Device;
  /** The operator whose call takes this step: its code, and no expansion, decides with what numbers. */
  readonly stepOf?: string;
  /** What the program wrote, where that is the call and nothing else. */
  readonly given?: GivenCall;
}

/** A call as a program writes it. */
export interface GivenCall {
  readonly name: string;
  readonly positional: readonly unknown[];
  readonly named: Named;
}

export type Named = Readonly<Record<string, unknown>>;

/** The operator of a name, which must exist. */
export function operatorNamed(name: string): Operator {
  const operator = operators.get(name);
  if (operator === undefined) throw unsupportedOperator(name);
  return operator;
}

export function bindCall(operator: Operator, positional: readonly unknown[], named: Named): BoundCall {
  const environment = new Binding();
  const call = bindArguments(operator, positional.map(withSizes), { named: mapValues(named, withSizes), environment });
  const { tensors } = environment;
  const { args, attrs } = call;
  const given = { name: operator.name, positional, named };
  return { operator: call.operator, args, attrs, tensors, device: deviceOf(operator.name, tensors), given };
}

/** Tensors become references in the order in which they are met, each once. */
class Binding implements BindingEnvironment {
  readonly tensors: Tensor[] = [];

  isTensor(value: unknown): boolean {
    return isTensor(value);
  }

  toValue(value: unknown): ValueRef {
    const tensor = value as Tensor;
    if (tensor.backing.kind === 'disposed') throw disposedTensor(tensor.shape, tensor.dtype);
    const known = this.tensors.indexOf(tensor);
    return { kind: 'value', node: known === -1 ? this.tensors.push(tensor) - 1 : known, result: 0 };
  }

  toScalar(value: unknown): ScalarRef | undefined {
    return isScalar(value as Attr) ? (value as ScalarRef) : undefined;
  }

  toSize(value: unknown): Attr | undefined {
    const isSize = typeof value === 'object' && value !== null && 'size' in value && typeof value.size === 'object';
    return isSize ? (value as { readonly size: never }) : undefined;
  }
}

/** The shape of a traced tensor, handed on as a whole, stays symbolic. */
function withSizes(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return symbolicSizes(value) ?? value;
}

function mapValues(named: Named, change: (value: unknown) => unknown): Named {
  const keys = Object.keys(named);
  return keys.length === 0 ? named : Object.fromEntries(keys.map((key) => [key, change(named[key])]));
}

/** Of a call that gives none. */
export const noOptions: Named = Object.freeze({});

/** Splits trailing options off a call's arguments: `x.sum(1, { keepdim: true })`. */
export function splitOptions(given: readonly unknown[]): {
  readonly positional: readonly unknown[];
  readonly named: Named;
} {
  const last = given.at(-1);
  return isOptions(last) ? { positional: given.slice(0, -1), named: last } : { positional: given, named: noOptions };
}

/** A plain object that is neither a tensor, a scalar, nor an item of a subscript. */
function isOptions(value: unknown): value is Named {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isTensor(value)) return false;
  if ('slice' in value || 'ellipsis' in value || isScalar(value as Attr)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // Plain objects of other realms have another Object.prototype, whose own prototype is null all the same.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
