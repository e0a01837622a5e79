// Tensors in any nesting of arrays, records and instances, as arguments and results of transforms have them.
import { isFloat } from '@tsinductor/base';
import { isTensor } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';

/** What stands where `T` has tensors: a gradient for each tensor of floats, null for everything else. */
export type GradientOf<T> = T extends Tensor
  ? Tensor
  : T extends readonly unknown[]
    ? { -readonly [Position in keyof T]: GradientOf<T[Position]> }
    : T extends (...given: never[]) => unknown
      ? null
      : T extends object
        ? { -readonly [Name in keyof T]: GradientOf<T[Name]> }
        : null;

export const isArray = (value: unknown): value is readonly unknown[] => Array.isArray(value);

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !isTensor(value) && !ArrayBuffer.isView(value);

/** The same nesting with every tensor replaced; other leaves become what `other` gives, or stay. */
export function mapTensors(
  value: unknown,
  change: (tensor: Tensor) => unknown,
  other: (leaf: unknown) => unknown = (leaf) => leaf,
): unknown {
  if (isTensor(value)) return change(value);
  if (isArray(value)) return value.map((item) => mapTensors(item, change, other));
  if (!isRecord(value)) return other(value);
  const prototype: object | null = Object.getPrototypeOf(value) as object | null;
  const made = Object.create(prototype) as Record<string, unknown>;
  for (const [name, item] of Object.entries(value)) made[name] = mapTensors(item, change, other);
  return made;
}

/** Every tensor, in order. */
export function tensorsIn(value: unknown): readonly Tensor[] {
  const found: Tensor[] = [];
  mapTensors(value, (tensor) => found.push(tensor));
  return found;
}

export const floatsIn = (value: unknown): readonly Tensor[] => tensorsIn(value).filter(({ dtype }) => isFloat(dtype));

/** For every tensor of a nesting what stands at its place in another nesting, which may lack parts. */
export function partsOf(
  value: unknown,
  other: unknown,
): readonly { readonly tensor: Tensor; readonly part: unknown }[] {
  if (isTensor(value)) return [{ tensor: value, part: other }];
  const names = (other ?? {}) as Readonly<Record<string | number, unknown>>;
  if (isArray(value)) return value.flatMap((item, position) => partsOf(item, names[position]));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, item]) => partsOf(item, names[name]));
}
