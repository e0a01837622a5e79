// The program's own hooks in the scheduler: a pass over the nodes before fusion, one over the groups after it, and other
// choices. What they give is checked as if it came from a stranger: a schedule that is wrong must not come of them.
import type { Config, Hook } from '@tsinductor/config';
import { verifyProgram } from '@tsinductor/ir';
import type { BufferId, Group, LoopNode, LoopProgram } from '@tsinductor/ir';
import { defaultChoices } from './choices.ts';
import type { Choices } from './choices.ts';
import { badChoices, badCustomPass } from './errors.ts';

/** The nodes that are fused: as the setting's pass gives them. */
export function passedNodes(
  nodes: readonly LoopNode[],
  program: LoopProgram,
  { preFusionCustomPass: hook }: Pick<Config, 'preFusionCustomPass'>,
): readonly LoopNode[] {
  if (hook === null) return nodes;
  const given = listOf<LoopNode>(hook, nodes, '_pre_fusion_custom_pass');
  try {
    verifyProgram({ ...program, nodes: given });
  } catch (cause) {
    throw badCustomPass('_pre_fusion_custom_pass', 'the nodes that it gave are no program', cause);
  }
  return given;
}

/** The groups in the order that the setting's pass gives them. */
export function passedGroups(
  groups: readonly Group[],
  { postFusionCustomPass: hook }: Pick<Config, 'postFusionCustomPass'>,
): readonly Group[] {
  if (hook === null) return groups;
  const setting = '_post_fusion_custom_pass';
  const given = listOf<Group>(hook, groups, setting);
  const isSame = given.length === groups.length && groups.every((group) => given.includes(group));
  if (!isSame) throw badCustomPass(setting, 'it gave other groups than it was given');
  const late = new Set<BufferId>(groups.flatMap(({ writes }) => writes));
  for (const { name, reads, writes } of given) {
    if (reads.some((buffer) => late.has(buffer)))
      throw badCustomPass(setting, `${name} would run before what it reads is made`);
    for (const buffer of writes) late.delete(buffer);
  }
  return given.map((group, id) => ({ ...group, id }));
}

function listOf<T>({ run }: Hook, items: readonly T[], setting: string): readonly T[] {
  const given = (run as (items: readonly T[]) => unknown)([...items]);
  if (!Array.isArray(given)) throw badCustomPass(setting, 'it gave no array');
  return given as readonly T[];
}

/** The choices that the settings describe, with those of the program in their place. */
export function choicesOf(config: Config): Choices {
  const choices = defaultChoices(config);
  const hook = config.inductorChoicesClass;
  if (hook === null) return choices;
  const given = (hook.run as (defaults: Choices) => unknown)(choices);
  if (typeof given !== 'object' || given === null) throw badChoices('it gave no object');
  const members = Object.entries(given).filter(([, value]) => value !== undefined);
  const odd = members.find(
    ([name, value]) => name !== 'name' && (!Object.hasOwn(choices, name) || typeof value !== 'function'),
  );
  if (odd !== undefined) throw badChoices(`${odd[0]} is none of its functions`);
  return { ...choices, ...Object.fromEntries(members), name: hook.key };
}
