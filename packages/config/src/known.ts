// Names of the systems that we follow which are no settings here: what to answer when one is set. Every such name is in one of
// the tables in `known/`; `known/foreign.ts` has those that are nobody's business.
import { existsSync } from 'node:fs';
import { foreignVariables } from './known/foreign.ts';
import { ignored } from './known/ignored.ts';
import type { ExcusedName, KnownName } from './known/known-name.ts';
import { oneWay } from './known/one-way.ts';
import { otherwise } from './known/otherwise.ts';
import { waiting } from './known/waiting.ts';
import type { Part } from './known/waiting.ts';

/**
 * What becomes of a name that is set: it is ignored with a warning; it has no setting, because there is another way or only one;
 * or it waits for a part of the product.
 */
export type Absent =
  | (ExcusedName & { readonly kind: 'ignored' | 'one way' | 'otherwise' })
  | (KnownName & { readonly kind: 'waiting'; readonly part: Part });

const parts = Object.keys(waiting) as readonly Part[];

/** Every name that is known and no setting, by kind and in the order of its table. */
export const absentNames: readonly Absent[] = [
  ...ignored.map((row) => ({ kind: 'ignored' as const, ...row })),
  ...oneWay.map((row) => ({ kind: 'one way' as const, ...row })),
  ...otherwise.map((row) => ({ kind: 'otherwise' as const, ...row })),
  ...parts.flatMap((part) => waiting[part].map((row) => ({ kind: 'waiting' as const, part, ...row }))),
];

/** What is known of a name that a program gave, in torch's spelling or in camel case. */
export const findAbsent = (name: string): Absent | undefined =>
  absentNames.find((absent) => absent.name === name || camelCase(absent.name) === name);

/** What is known of a variable, where saying so is worth a word on this machine. */
export function findAbsentVariable(variable: string): Absent | undefined {
  const found = absentNames.find(({ env = [] }) => env.includes(variable));
  const unless = found !== undefined && 'unless' in found ? found.unless : undefined;
  return unless !== undefined && machineFacts[unless]() ? undefined : found;
}

export const isForeign = (variable: string): boolean => foreignVariables.includes(variable);

/** Every variable that some system reads and this one answers. */
export const absentVariables: readonly string[] = absentNames.flatMap(({ env }) => env ?? []);

const machineFacts: Readonly<Record<NonNullable<ExcusedName['unless']>, () => boolean>> = {
  nvidiaDriver: () => existsSync('/proc/driver/nvidia/version'),
};

/** `max_autotune` as TypeScript writes it; a leading underscore stays. */
export const camelCase = (name: string): string =>
  name.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
