// The table of reductions, by name.
import type { ReductionOp } from '../reduction.ts';
import * as entries from './entries.ts';

export type ReductionName = keyof typeof entries;

export const reductions: Readonly<Record<ReductionName, ReductionOp>> = { ...entries };

/** Whether `name` is a reduction of the table. */
export const isReduction = (name: string): name is ReductionName => Object.hasOwn(reductions, name);
