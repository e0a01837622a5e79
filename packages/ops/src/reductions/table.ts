// The table of reductions, by name.
import type { ReductionOp } from '../reduction.ts';
import * as entries from './entries.ts';

export type ReductionName = keyof typeof entries;

export const reductions: Readonly<Record<ReductionName, ReductionOp>> = { ...entries };

/** The reductions that have one, by the primitives that give them after each element. */
export const scans: Readonly<Record<string, ReductionOp>> = Object.fromEntries(
  Object.values(reductions).flatMap((op) => (op.scan === undefined ? [] : [[op.scan, op] as const])),
);

/** Whether `name` is a reduction of the table. */
export const isReduction = (name: string): name is ReductionName => Object.hasOwn(reductions, name);
