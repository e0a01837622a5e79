// The language as one table: what is written out in this folder, and the whole table of pointwise ops.
import { nearest } from '@tsinductor/base';
import { isPointwise, pointwise } from '@tsinductor/ops';
import { applyPointwise } from '../lower/pointwise.ts';
import { absentOperations } from './absent.ts';
import * as control from './control.ts';
import { entry } from './define.ts';
import type { LanguageEntry } from './define.ts';
import * as folds from './folds.ts';
import * as math from './math.ts';
import * as memory from './memory.ts';
import * as programs from './programs.ts';
import * as random from './random.ts';
import * as shapes from './shapes.ts';
import type { CoreLanguage } from './signatures.ts';

/** The operations beside the pointwise ones; one that is missing, or that has no signature, does not compile. */
export const coreLanguage: { readonly [Name in keyof CoreLanguage]: LanguageEntry } = {
  ...programs,
  ...shapes,
  ...memory,
  ...math,
  ...folds,
  ...random,
  ...control,
};

/** The entry of an operation, if there is one. */
export function languageEntry(name: string): LanguageEntry | undefined {
  if (Object.hasOwn(coreLanguage, name)) return coreLanguage[name as keyof CoreLanguage];
  if (!isPointwise(name) || pointwise[name].internal === true) return undefined;
  const op = pointwise[name];
  const parameters = ['x', 'y', 'z'].slice(0, op.arity);
  return entry(op.doc, parameters, (call) =>
    applyPointwise(
      name,
      parameters.map((parameter) => call.value(parameter)),
      call.site,
    ),
  );
}

/** Every operation by its name. */
export const languageNames: readonly string[] = [
  ...Object.keys(coreLanguage),
  ...Object.values(pointwise)
    .filter(({ name, internal }) => internal !== true && !Object.hasOwn(coreLanguage, name))
    .map(({ name }) => name),
];

/** What to do instead of an operation that is not there: the remedy of the list, or the nearest name. */
export function remedyFor(name: string): { readonly isAbsent: boolean; readonly hint: string } {
  const spelt = camelCase(name);
  const known = Object.hasOwn(absentOperations, spelt) ? absentOperations[spelt] : undefined;
  if (known !== undefined) return { isAbsent: true, hint: known };
  const near = languageNames.includes(spelt) ? spelt : nearest(spelt, languageNames);
  return {
    isAbsent: false,
    hint: near === undefined ? 'see the operations of the Language type' : `write tl.${near}`,
  };
}

/** A name of Python's as it is written here. */
const camelCase = (name: string): string =>
  name.replace(/_+([a-z0-9])/g, (_, character: string) => character.toUpperCase());
