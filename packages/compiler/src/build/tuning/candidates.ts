// The candidates of a group, in one library. In: a group of a schedule, and patches of choices. Out: which of them make kernels of their own,
// each with its entry; and the library.
import { at } from '@tsinductor/base';
import type { ChoicePatch } from '@tsinductor/codegen-cpp';
import type { Group, Schedule } from '@tsinductor/ir';
import { trialLibrary } from './trial-library.ts';
import type { TrialLibrary } from './trial-library.ts';
import { trialOf } from './trial-schedule.ts';
import type { Tuning } from './tune-groups.ts';

export interface Candidates extends Pick<TrialLibrary, 'library' | 'buffers'> {
  /** In the order of the patches, the first of those that make one kernel. */
  readonly distinct: readonly { readonly patch: ChoicePatch; readonly entry: string }[];
}

export function buildCandidates(
  { schedule, group }: { readonly schedule: Schedule; readonly group: Group },
  patches: readonly ChoicePatch[],
  tuning: Tuning,
): Candidates {
  const trials = patches.map((choices) => trialOf(schedule, { ...group, choices }));
  const { plans, library, buffers } = trialLibrary(trials, `candidates of ${group.name}`, tuning);
  const seen = new Set<string>();
  const distinct = plans.flatMap(({ entry, kernels }, place) => {
    if (seen.has(kernels)) return [];
    seen.add(kernels);
    return [{ patch: at(patches, place), entry }];
  });
  return { distinct, library, buffers };
}
