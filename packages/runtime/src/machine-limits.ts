// The source of the entries that do what a machine is measured by: a text for the compiler of generated code, which needs no
// file beside it.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { CompileUnit } from './compile-units.ts';

/** The entries' symbols; their buffers and sizes are said in the source. */
export const limitEntries = { pass: 'passArrays', multiplyAdd: 'multiplyAddChains' } as const;

const sourceNames = ['abi.h', 'limit-loops.h', 'machine-limits.cc'] as const;

export function machineLimitsUnit(): CompileUnit {
  const texts = sourceNames.map((name) =>
    readFileSync(fileURLToPath(new URL(`../native/${name}`, import.meta.url)), 'utf8'),
  );
  const source = texts.join('\n').replace(/^#(pragma once|include ".*")\n/gm, '');
  return { name: 'machine_limits', source };
}
