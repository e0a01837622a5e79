// Second names of operators: the same entry under another name, as PyTorch has them.
import { alias } from '../define.ts';
import type { Entry } from '../define.ts';
import { dataPrimitives } from './data-primitives.ts';
import { joiningEntries } from './joining.ts';
import { pointwiseEntries } from './pointwise.ts';
import { pointwiseForms } from './pointwise-forms.ts';
import { viewEntries } from './views.ts';

const ALIASES: Readonly<Record<string, readonly string[]>> = {
  sub: ['subtract'],
  mul: ['multiply'],
  neg: ['negative'],
  abs: ['absolute'],
  acos: ['arccos'],
  acosh: ['arccosh'],
  asin: ['arcsin'],
  asinh: ['arcsinh'],
  atan: ['arctan'],
  atanh: ['arctanh'],
  atan2: ['arctan2'],
  trunc: ['fix'],
  gt: ['greater'],
  ge: ['greaterEqual'],
  lt: ['less'],
  le: ['lessEqual'],
  ne: ['notEqual'],
  clamp: ['clip'],
  div: ['divide', 'trueDivide'],
  cat: ['concat', 'concatenate'],
  transpose: ['swapaxes', 'swapdims'],
  movedim: ['moveaxis'],
  vstack: ['rowStack'],
};

const named = [...pointwiseForms, ...pointwiseEntries, ...dataPrimitives, ...joiningEntries, ...viewEntries];

export const aliasEntries: readonly Entry[] = Object.entries(ALIASES).flatMap(([name, others]) => {
  const entry = named.find((each) => each.name === name && each.levels.includes('public'));
  return entry === undefined ? [] : others.map((other) => alias(other, entry));
});
