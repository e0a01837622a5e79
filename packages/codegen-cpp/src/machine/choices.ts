// Every number that steers a choice, as one table. In: a target. Out: the values for it.
import { valueOf } from './choice.ts';
import type { ChoiceTable } from './choice.ts';
import { contractChoices } from './choices/contract.ts';
import type { ContractChoices } from './choices/contract.ts';
import { instructionChoices } from './choices/instructions.ts';
import type { InstructionChoices } from './choices/instructions.ts';
import { layoutChoices } from './choices/layout.ts';
import type { LayoutChoices } from './choices/layout.ts';
import { trafficChoices } from './choices/traffic.ts';
import type { TrafficChoices } from './choices/traffic.ts';
import { standardCaches } from './facts.ts';
import type { CpuTarget } from './target.ts';

export interface Choices extends TrafficChoices, LayoutChoices, ContractChoices, InstructionChoices {}

export const choiceTable: ChoiceTable<Choices> = {
  ...trafficChoices,
  ...layoutChoices,
  ...contractChoices,
  ...instructionChoices,
};

/** What of a target decides about choices. */
export type ChoiceTarget = Pick<CpuTarget, 'family' | 'caches'>;

/** The values of all choices for a target. */
export function choicesFor({ family = 'other', caches = standardCaches }: ChoiceTarget): Choices {
  const entries = Object.entries(choiceTable).map(([name, choice]) => [
    name,
    valueOf<unknown>(choice, family, { caches }),
  ]);
  return Object.fromEntries(entries) as Choices;
}

/** Other choices for one group; a register tile for some instruction sets. */
export type ChoicePatch = Partial<
  Omit<Choices, 'registerTiles'> & { readonly registerTiles: Partial<ContractChoices['registerTiles']> }
>;

/** The values for a group that has some of its own. */
export function choicesOfGroup(target: ChoiceTarget, patch: ChoicePatch = {}): Choices {
  const all = choicesFor(target);
  return { ...all, ...patch, registerTiles: { ...all.registerTiles, ...patch.registerTiles } };
}

/** Of an array next to the caches: so large that the last level may not have it, or that its results are written by non-temporal stores. */
export type Extent = 'large' | 'huge';

export function extentOf(
  bytes: number,
  { family = 'other', caches = standardCaches }: ChoiceTarget,
): Extent | undefined {
  const isFrom = (limit: 'nonTemporalBytes' | 'memoryBytes'): boolean =>
    bytes >= valueOf(choiceTable[limit], family, { caches });
  if (isFrom('nonTemporalBytes')) return 'huge';
  return isFrom('memoryBytes') ? 'large' : undefined;
}
