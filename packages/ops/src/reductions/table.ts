// The table of reductions, by name.
import type { ReductionOp } from '../reduction.ts';
import * as entries from './entries.ts';

export type ReductionName = keyof typeof entries;

export const reductions: Readonly<Record<ReductionName, ReductionOp>> = { ...entries };

/** What joins elements in the primitives that give a reduction after each of them, by these primitives. */
export const scans: Readonly<Record<string, ReductionOp>> = Object.fromEntries(
  Object.values(reductions).flatMap((op) => (op.scan === undefined ? [] : [[op.scan, op.running ?? op] as const])),
);

/** Whether `name` is a reduction of the table. */
export const isReduction = (name: string): name is ReductionName => Object.hasOwn(reductions, name);
