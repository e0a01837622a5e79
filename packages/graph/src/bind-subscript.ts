// Subscripts as graph data: x[2, 1:, null, index] becomes a list of items and the list of tensors that they mention.
//
//   2          an integer               ['slice', start, stop, step]   null where left out
//   null       a new axis               ['tensor', k]                  the k-th tensor of the list
//   'ellipsis' as many axes as fit      ['list', 0, 2]                 a list of integers
import type { Arg, Attr } from './graph.ts';
import { integerOf } from './bind-values.ts';
import type { BindingEnvironment } from './bind-values.ts';

export function encodeSubscript(environment: BindingEnvironment, value: unknown): { arg: Arg; attr: Attr } | undefined {
  const tensors: unknown[] = [];
  const encode = (item: unknown): Attr | undefined => {
    if (item === null || item === 'ellipsis') return item;
    if (environment.isTensor(item)) return ['tensor', tensors.push(item) - 1];
    if (Array.isArray(item)) return listOf(environment, item);
    if (isRecord(item) && 'ellipsis' in item) return 'ellipsis';
    if (isRecord(item) && Array.isArray(item['slice'])) return sliceOf(environment, item['slice']);
    return integerOf(environment, item);
  };
  const items = (Array.isArray(value) ? (value as unknown[]) : [value]).map(encode);
  if (!items.every((item) => item !== undefined)) return undefined;
  return { arg: tensors.map((tensor) => environment.toValue(tensor)), attr: items };
}

const isRecord = (item: unknown): item is Record<string, unknown> => typeof item === 'object' && item !== null;

function listOf(environment: BindingEnvironment, items: readonly unknown[]): Attr | undefined {
  const numbers = items.map((item) => integerOf(environment, item));
  return numbers.every((item) => item !== undefined) ? ['list', ...numbers] : undefined;
}

function sliceOf(environment: BindingEnvironment, bounds: readonly unknown[]): Attr | undefined {
  const numbers = [bounds[0], bounds[1], bounds[2]].map((bound) =>
    bound === null || bound === undefined ? null : (environment.toSize?.(bound) ?? integerOf(environment, bound)),
  );
  return numbers.every((bound) => bound !== undefined) ? ['slice', ...numbers] : undefined;
}
