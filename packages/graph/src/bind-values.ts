// Plain values of a user's call, read as graph data: numbers, dtypes, sizes, strings. Each reader gives undefined for a
// value that is none of its kind; the caller's own clothes for them are recognised by its BindingEnvironment.
import { isDType } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { scalar } from './argument-reader.ts';
import { scalarTooLarge } from './errors.ts';
import type { Attr, ScalarRef, ValueRef } from './graph.ts';
import type { Parameter } from './operator.ts';

/** How the caller's values look. */
export interface BindingEnvironment {
  isTensor(value: unknown): boolean;
  toValue(tensor: unknown): ValueRef;
  /** Numbers in the caller's own clothes (a float with an integral value); undefined for anything else. */
  toScalar?(value: unknown): ScalarRef | undefined;
  /** Dtypes in the caller's own clothes; undefined for anything else. Names such as 'f32' are known without it. */
  toDType?(value: unknown): DType | undefined;
  /** Symbolic sizes; undefined for anything else. */
  toSize?(value: unknown): Attr | undefined;
}

/** A number, bigint or boolean as a scalar. */
export function scalarOf(environment: BindingEnvironment, value: unknown): ScalarRef | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return scalar(value);
  if (typeof value === 'bigint') {
    if (BigInt.asIntN(64, value) !== value) throw scalarTooLarge(value);
    const small = Number.isSafeInteger(Number(value));
    return { kind: 'scalar', category: 'int', value: small ? Number(value) : { bigint: String(value) } };
  }
  return environment.toScalar?.(value);
}

/** A number without its category; those that JSON cannot write, as their names. */
export function plainNumber(environment: BindingEnvironment, value: unknown): Attr | undefined {
  const found = scalarOf(environment, value)?.value;
  return typeof found === 'boolean' ? Number(found) : typeof found === 'object' ? Number(found.bigint) : found;
}

export function dtypeOf(environment: BindingEnvironment, value: unknown): Attr | undefined {
  const dtype = environment.toDType?.(value) ?? (isDType(value) ? value : undefined);
  return dtype === undefined ? undefined : { dtype };
}

export const stringOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export const boolOf = ({ only }: Parameter, value: unknown): boolean | undefined =>
  typeof value === 'boolean' && (only === undefined || only === value) ? value : undefined;

/** An integer; booleans are none, bigints beyond 2^53 are held at the largest safe integer (bounds of slices). */
export function integerOf(environment: BindingEnvironment, value: unknown): number | undefined {
  if (typeof value === 'bigint') {
    const held = Number(value);
    return Math.max(Math.min(held, Number.MAX_SAFE_INTEGER), -Number.MAX_SAFE_INTEGER);
  }
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined;
  const found = environment.toScalar?.(value);
  return found?.category === 'int' && typeof found.value === 'number' ? found.value : undefined;
}

export function integerList(environment: BindingEnvironment, value: unknown): Attr | undefined {
  if (!Array.isArray(value)) return integerOf(environment, value);
  const items = value.map((item) => integerOf(environment, item));
  return items.every((item) => item !== undefined) ? items : undefined;
}

/** A number, or a list of numbers. */
export function numberList(environment: BindingEnvironment, value: unknown): Attr | undefined {
  if (!Array.isArray(value)) return plainNumber(environment, value);
  const items = value.map((item) => plainNumber(environment, item));
  return items.every((item) => item !== undefined) ? items : undefined;
}

/** An integer, or a symbolic size. */
export const sizeOf = (environment: BindingEnvironment, value: unknown): Attr | undefined =>
  environment.toSize?.(value) ?? integerOf(environment, value);

export function sizes(environment: BindingEnvironment, value: unknown): Attr | undefined {
  const items = (Array.isArray(value) ? (value as unknown[]) : [value]).map((item) => sizeOf(environment, item));
  return items.every((item) => item !== undefined) ? items : undefined;
}

export function plain(environment: BindingEnvironment, value: unknown): Attr | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => plain(environment, item));
    return items.every((item) => item !== undefined) ? items : undefined;
  }
  const dtype = dtypeOf(environment, value);
  if (dtype !== undefined) return dtype;
  const size = environment.toSize?.(value);
  if (size !== undefined) return size;
  return plainNumber(environment, value);
}
