// What a clock may choose among for a group, as the settings ask for it. In: a group, and the settings. Out: patches of choices, and the
// parameters that they are values of; nothing where no clock is to decide of the group.
import { candidatesOf, contractCandidates, contractParameters, loopParameters } from '@tsinductor/codegen-cpp';
import { packKind, productKind } from '@tsinductor/codegen-cpp';
import type { ChoiceParameter, ChoicePatch, CpuTarget, ProductProvider } from '@tsinductor/codegen-cpp';
import { settings } from '@tsinductor/config';
import type { Config } from '@tsinductor/config';
import type { Group } from '@tsinductor/ir';
import { noProvider } from '../../errors.ts';
import type { Tuning } from './tune-groups.ts';

export interface Offered {
  /** The first is what all groups have, and empty; one that is not is the only one. */
  readonly patches: readonly ChoicePatch[];
  readonly parameters: readonly ChoiceParameter[];
}

export function offeredOf(group: Group, tuning: Tuning): Offered | undefined {
  const { config } = tuning;
  const kind = productKind(group);
  if (kind === undefined)
    return config.maxAutotunePointwise && tunesPack(group, config) ? ofLoops(group, tuning) : undefined;
  return config.maxAutotuneGemm ? ofProducts(group, kind, tuning) : undefined;
}

function ofLoops(group: Group, { config, target }: Tuning): Offered | undefined {
  const parameters = loopParameters(group, target, { tiles: config.triton.autotunePointwise });
  return parameters.length === 0 ? undefined : { parameters, patches: candidatesOf(parameters) };
}

function tunesPack(group: Group, { comboKernelsAutotune }: Config): boolean {
  const kind = packKind(group);
  return kind === undefined || comboKernelsAutotune >= (kind === 'alike' ? 2 : 1);
}

type ProductKind = NonNullable<ReturnType<typeof productKind>>;

function ofProducts(group: Group, kind: ProductKind, tuning: Tuning): Offered | undefined {
  const { config, target } = tuning;
  // Of sizes that are not tuned, nobody asks who would compute them.
  if (contractParameters(group, target).length === 0) return undefined;
  const space = kind === 'several' ? config.maxAutotuneFlexSearchSpace : config.maxAutotuneGemmSearchSpace;
  const trying = { space, providers: providersOf(kind, tuning) };
  return {
    patches: contractCandidates(group, target, trying),
    parameters: contractParameters(group, target, trying),
  };
}

/** Who stands on processors for the providers that the settings list. */
const providers: Readonly<Partial<Record<string, ProductProvider>>> = { ATEN: 'loops', CPP: 'tiles' };

/** Warns of what is listed, other than by default, and has no candidates. Throws UserError AUTOTUNE_BACKENDS where that is all. */
function providersOf(kind: ProductKind, { config, builder }: Tuning): readonly ProductProvider[] {
  const setting = kind === 'convolution' ? 'maxAutotuneConvBackends' : 'maxAutotuneGemmBackends';
  const given = config[setting];
  const found = given.flatMap((word) => providers[word] ?? []);
  if (found.length === 0 && kind !== 'several') throw noProvider(setting, given);
  if (given.join() === settings[setting].default.join()) return found;
  for (const word of given)
    if (providers[word] === undefined)
      builder.announcer.warnOnce(`AUTOTUNE_BACKENDS ${word}`, `${setting}: ${word} has no candidates on processors`);
  return found;
}

/** All that may be chosen for a group, by whom ever. */
export const everyParameter = (group: Group, target: CpuTarget): readonly ChoiceParameter[] =>
  productKind(group) === undefined
    ? loopParameters(group, target, { tiles: true, size: 'any' })
    : contractParameters(group, target, { size: 'any' });
