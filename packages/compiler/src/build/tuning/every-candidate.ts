// What a clock may choose among, all of it: for tests, which run every candidate of every product and every loop and compare the results. In: a
// schedule. Out: the same with the choices of each candidate, once for each that makes code of its own.
import { candidatesOf, generateBatch } from '@tsinductor/codegen-cpp';
import type { ChoicePatch, CpuTarget } from '@tsinductor/codegen-cpp';
import type { Group, Schedule } from '@tsinductor/ir';
import { everyParameter } from './offered.ts';

/** Small products are tiles too, as large ones are: otherwise nothing that is chosen would matter to them. */
const asLarge: ChoicePatch = { plainVolume: 0 };

/** Empty where no group has known sizes. The first one has the usual choices; in each further one every group has its next candidate. */
export function everyCandidate(schedule: Schedule, target: CpuTarget): readonly Schedule[] {
  const candidates = schedule.groups.map((group) => patchesOf(group, target));
  const count = Math.max(0, ...candidates.map(({ length }) => length));
  if (count === 0) return [];
  const variants = Array.from({ length: count }, (_, position): Schedule => {
    const groups = schedule.groups.map((group, place): Group => {
      const own = candidates[place] ?? [];
      const choices = own[Math.min(position, own.length - 1)];
      return choices === undefined || position === 0 ? group : { ...group, choices };
    });
    return { ...schedule, groups };
  });
  const { programs } = generateBatch(variants, target);
  const texts = programs.map(({ kernels }) => kernels.map(({ name }) => name).join());
  return variants.filter((_, position) => texts.indexOf(texts[position] ?? '') === position);
}

const patchesOf = (group: Group, target: CpuTarget): readonly ChoicePatch[] => {
  const parameters = everyParameter(group, target);
  return parameters.length === 0 ? [] : [{}, ...candidatesOf(parameters).map((patch) => ({ ...asLarge, ...patch }))];
};
