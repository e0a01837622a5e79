// Patches of choices as points of a grid: for each parameter which of its values a patch has.
import { stableHash } from '@tsinductor/base';
import type { ChoiceParameter, ChoicePatch } from '@tsinductor/codegen-cpp';
import type { GridPoint, Walk } from './coordinate-descent.ts';

/** The patch at a point. */
export const patchAt = (point: GridPoint, parameters: readonly ChoiceParameter[]): ChoicePatch =>
  Object.assign({}, ...parameters.map(({ values, usual }, place) => values[point[place] ?? usual])) as ChoicePatch;

/** Where a patch stands; what it says of no parameter is as usual. */
export const pointOf = (patch: ChoicePatch, parameters: readonly ChoiceParameter[]): GridPoint =>
  parameters.map(({ values, usual }) => {
    const place = values.findIndex((value) => Object.keys(value).length > 0 && has(patch, value));
    return place === -1 ? usual : place;
  });

/** Whether something read from a file is the patch at a point, and nothing else. */
export function isPoint(patch: unknown, parameters: readonly ChoiceParameter[]): boolean {
  if (typeof patch !== 'object' || patch === null) return false;
  return stableHash(patchAt(pointOf(patch, parameters), parameters)) === stableHash(patch);
}

const has = (patch: ChoicePatch, value: ChoicePatch): boolean =>
  Object.entries(value).every(
    ([name, own]) => stableHash(patch[name as keyof ChoicePatch] ?? null) === stableHash(own),
  );

/** The steps of a walk, for people. */
export const describeWalk = ({ steps }: Walk<number>, parameters: readonly ChoiceParameter[]): readonly string[] =>
  steps.map(({ moved, before, after }) => {
    const changes = moved.map(({ parameter, from, to }) => {
      const { name = '', values = [] } = parameters[parameter] ?? {};
      return `${name} from ${textOf(values[from])} to ${textOf(values[to])}`;
    });
    return `  step: ${changes.join(', ')}: ${before.toFixed(4)} to ${after.toFixed(4)} ms`;
  });

const textOf = (value: ChoicePatch = {}): string =>
  Object.keys(value).length === 0 ? 'the usual one' : JSON.stringify(value);
