// Loop programs as golden cases, named for what makes them and its arguments.
import { stableStringify } from '@tsinductor/base';
import type { Case } from '@tsinductor/testing/loops';
import type { GoldenCase } from './golden-case.ts';

export const golden = (name: string, one: () => Case): GoldenCase => ({ name, schedules: () => [one().schedule] });

/** A case for each list of arguments. */
export const each = <Args extends readonly unknown[]>(
  name: string,
  make: (...args: Args) => Case,
  lists: readonly Readonly<Args>[],
): readonly GoldenCase[] =>
  lists.map((args) => golden(`${name} ${stableStringify(args).slice(1, -1).replaceAll('"', '')}`, () => make(...args)));
