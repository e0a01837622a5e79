// The lower tier: what runs a graph when no native code does, or none does yet. In: a traced graph, and what `explain` says of it. Out: an
// executable that is there at once, and computes as eager mode does.
import type { Placement } from '@tsinductor/tensor/internal';
import type { TracedGraph } from '../request.ts';
import type { Executable } from './executable.ts';
import { generatedExecutable } from './loop-executable.ts';

/** How it is called where something is said of it. */
export const lowerTierName = 'generated JavaScript';

export const lowerTier = (traced: TracedGraph, runsOn: string, placement?: Placement): Executable =>
  generatedExecutable(traced, { runsOn, placement });
