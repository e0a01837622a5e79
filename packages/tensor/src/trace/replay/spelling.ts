// How a program writes a call that was recorded: enough to know the same call again without binding its arguments. In: what
// was given, and the call that it was bound to. Out: a pattern of the arguments, in which tensors and numbers that are inputs
// stand for any; nothing where the arguments have a form that a pattern does not say.
import { at } from '@tsinductor/base';
import { isScalar, scalar, scalarNumber } from '@tsinductor/graph';
import type { ScalarRef } from '@tsinductor/graph';
import { noOptions } from '../../bound-call.ts';
import type { BoundCall, GivenCall } from '../../bound-call.ts';
import { symbolicSizes } from '../../symbolic-shape.ts';
import { isTensor } from '../../tensor.ts';
import type { Tensor } from '../../tensor.ts';

type Pattern =
  | { readonly kind: 'tensor'; readonly operand: number }
  | { readonly kind: 'number'; readonly lifted: number; readonly category: ScalarRef['category'] }
  | { readonly kind: 'plain'; readonly value: unknown }
  | { readonly kind: 'list'; readonly items: readonly Pattern[] };

export interface Spelling {
  readonly name: string;
  readonly positional: readonly Pattern[];
  readonly named: readonly (readonly [string, Pattern])[];
}

/** What stands in the places of a pattern. */
interface Filling {
  /** By position among the call's tensors. */
  readonly tensors: Tensor[];
  /** By position among its lifted numbers. */
  readonly numbers: number[];
}

/** `lifted` are positions among the call's arguments. */
export function spellingOf(
  { args, attrs, tensors, given }: BoundCall,
  lifted: readonly number[],
): Spelling | undefined {
  if (given === undefined || attrs['inplace'] === true) return undefined;
  const { name, positional, named } = given;
  const numbers = lifted.map((argument) => scalarNumber(at(args, argument) as ScalarRef));
  // A number that stands in two places could be either.
  const isOnce = numbers.every((number) => countOf(number, [positional, Object.values(named)]) === 1);
  if (!isOnce) return undefined;
  const patternOf = (value: unknown): Pattern | undefined => {
    if (isTensor(value)) return { kind: 'tensor', operand: tensors.indexOf(value) };
    if (Array.isArray(value)) {
      const items = symbolicSizes(value) === undefined ? patternsOf(value, patternOf) : undefined;
      return items && { kind: 'list', items };
    }
    if (typeof value === 'object' && value !== null) return undefined;
    const number = numbers.findIndex((candidate) => Object.is(candidate, value));
    return number === -1
      ? { kind: 'plain', value }
      : { kind: 'number', lifted: number, category: scalar(value as number).category };
  };
  const first = patternsOf(positional, patternOf);
  const values = patternsOf(Object.values(named), patternOf);
  if (first === undefined || values === undefined) return undefined;
  return { name, positional: first, named: Object.keys(named).map((key, position) => [key, at(values, position)]) };
}

function patternsOf(
  values: readonly unknown[],
  patternOf: (value: unknown) => Pattern | undefined,
): readonly Pattern[] | undefined {
  const patterns: Pattern[] = [];
  for (const value of values) {
    const pattern = patternOf(value);
    if (pattern === undefined) return undefined;
    patterns.push(pattern);
  }
  return patterns;
}

const countOf = (number: number, given: unknown): number =>
  Array.isArray(given) && symbolicSizes(given) === undefined
    ? given.reduce((count: number, item) => count + countOf(number, item), 0)
    : isScalar(given as ScalarRef) && scalarNumber(given as ScalarRef) === number
      ? 2
      : Number(Object.is(given, number));

/** Whether a call is written so; puts what stands for tensors and numbers into `filling`. */
export function isSpelled({ positional, named }: Spelling, given: GivenCall, filling: Filling): boolean {
  if (positional.length !== given.positional.length) return false;
  for (let i = 0; i < positional.length; i += 1)
    if (!fits(at(positional, i), given.positional[i], filling)) return false;
  if (given.named === noOptions) return named.length === 0;
  return (
    Object.keys(given.named).length === named.length &&
    named.every(([name, pattern]) => fits(pattern, given.named[name], filling))
  );
}

/** Whether it is bound as a number of that category: neither one that has a name instead of a value. */
const isAlike = (value: number, category: ScalarRef['category']): boolean => {
  const given = scalar(value);
  return typeof given.value === 'number' && given.category === category;
};

function fits(pattern: Pattern, value: unknown, filling: Filling): boolean {
  switch (pattern.kind) {
    case 'plain':
      return Object.is(value, pattern.value);
    case 'number':
      if (typeof value !== 'number' || !isAlike(value, pattern.category)) return false;
      filling.numbers[pattern.lifted] = value;
      return true;
    case 'tensor': {
      if (!isTensor(value)) return false;
      const known = filling.tensors[pattern.operand];
      filling.tensors[pattern.operand] = value;
      return known === undefined || known === value;
    }
    case 'list':
      return (
        Array.isArray(value) &&
        symbolicSizes(value) === undefined &&
        value.length === pattern.items.length &&
        pattern.items.every((item, position) => fits(item, value[position], filling))
      );
  }
}
