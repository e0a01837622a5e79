// What a clock may choose among, as parameters: each is one choice of the target, or some that go together, with the values that are tried.
import { staticValue } from '@tsinductor/codegen';
import type { Axis } from '@tsinductor/ir';
import type { ChoicePatch } from '../../machine/choices.ts';

/** How much is searched: each choice by itself, or tiles, packing and blocks of the reduced axis together as well. */
export type SearchSpace = 'DEFAULT' | 'EXHAUSTIVE';

/** One choice, with the values that there are in their order: patches, of which the one in use anyway is empty. */
export interface ChoiceParameter {
  readonly name: string;
  readonly values: readonly ChoicePatch[];
  /** Where the empty one stands. */
  readonly usual: number;
  /** Every value is tried, as they are few and in no order; else the next ones on either side. */
  readonly triesAll?: true;
}

/** Beyond any size: what is taken from it on is never taken. */
export const never: number = 2 ** 52;

/** How many parameters are tried together with each other. */
const TOGETHER = 3;

/** The first one is empty. */
export function candidatesOf(
  parameters: readonly ChoiceParameter[],
  space: SearchSpace = 'DEFAULT',
): readonly ChoicePatch[] {
  const options = parameters.map(({ values, usual, triesAll }) =>
    values.filter((_, place) => (triesAll ? place !== usual : Math.abs(place - usual) === 1)),
  );
  if (space === 'DEFAULT') return [{}, ...options.flat()];
  const together = options
    .slice(0, TOGETHER)
    .reduce<readonly ChoicePatch[]>(
      (all, patches) => all.flatMap((patch) => [patch, ...patches.map((one) => ({ ...patch, ...one }))]),
      [{}],
    );
  return [...together, ...options.slice(TOGETHER).flat()];
}

export const parameter = (
  name: string,
  below: readonly ChoicePatch[],
  above: readonly ChoicePatch[],
): ChoiceParameter => ({ name, values: [...below, {}, ...above], usual: below.length });

/** Values in no order. */
export const anyOf = (name: string, patches: readonly ChoicePatch[]): ChoiceParameter => ({
  ...parameter(name, [], patches),
  triesAll: true,
});

/** `factors` are in order, half of them on either side of what is in use. */
export function scaled(
  name: string,
  factors: readonly number[],
  patchOf: (factor: number) => ChoicePatch,
): ChoiceParameter {
  const patches = factors.map(patchOf);
  return parameter(name, patches.slice(0, factors.length / 2), patches.slice(factors.length / 2));
}

/** Points of some axes, where all sizes are known. */
export const volumeOf = (axes: readonly Axis[]): number | undefined =>
  axes.reduce<number | undefined>((volume, { extent }) => {
    const size = staticValue(extent);
    return volume === undefined || size === undefined ? undefined : volume * size;
  }, 1);
