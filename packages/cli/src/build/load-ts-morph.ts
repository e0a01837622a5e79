// ts-morph, which has a TypeScript compiler in it: an optional package that this command alone loads, the project's own before ours.
import { createRequire } from 'node:module';
import type * as morph from 'ts-morph';
import { tsMorphMissing } from '../errors.ts';

export type Morph = typeof morph;

/** Throws UserError CLI_TS_MORPH where it is not installed. `from`: a file of the project. */
export function loadTsMorph(from: string): Morph {
  for (const place of [from, import.meta.url]) {
    try {
      return createRequire(place)('ts-morph') as Morph;
    } catch (error) {
      if ((error as { code?: unknown } | null)?.code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  throw tsMorphMissing();
}
