// What a clock may choose among for a group with matrix products: other values of the choices that its plan goes by. In: a group, and how
// much is searched. Out: patches of `ContractChoices`; the first is empty. Many make the same kernel: who measures tells them by its text.
import { dtypeInfo } from '@tsinductor/base';
import { staticValue } from '@tsinductor/codegen';
import type { Group } from '@tsinductor/ir';
import { choicesFor } from '../../machine/choices.ts';
import type { ContractPatch } from '../../machine/choices.ts';
import type { RegisterTile } from '../../machine/choices/contract.ts';
import type { Isa } from '../../machine/isa.ts';
import type { CpuTarget } from '../../machine/target.ts';
import type { Contract } from './plan.ts';

/** How much is searched: each choice by itself, or tiles, packing and blocks of the reduced axis together as well. */
type SearchSpace = 'DEFAULT' | 'EXHAUSTIVE';

/** Tiles whose sums, a row of the second operand and an element of the first fit into the registers. */
const tiles: Readonly<Record<Isa, readonly RegisterTile[]>> = {
  avx512: [
    { rows: 9, vectors: 3 },
    { rows: 14, vectors: 2 },
    { rows: 5, vectors: 5 },
    { rows: 4, vectors: 6 },
    { rows: 8, vectors: 3 },
    { rows: 28, vectors: 1 },
  ],
  avx2: [
    { rows: 4, vectors: 3 },
    { rows: 3, vectors: 4 },
    { rows: 5, vectors: 2 },
    { rows: 12, vectors: 1 },
  ],
  neon: [
    { rows: 8, vectors: 3 },
    { rows: 4, vectors: 6 },
    { rows: 12, vectors: 2 },
  ],
  scalar: [],
};

/** Beyond any size: what is taken from it on is never taken. */
const never = 2 ** 52;

/** How many of the options are tried together with each other. */
const TOGETHER = 3;

/** Fewer products are done before a clock tells them apart. */
const LEAST_PRODUCTS = 1 << 18;

/** Empty for a group without products, of sizes that are not known, or too small to tell. */
export function contractCandidates(group: Group, target: CpuTarget, space: SearchSpace): readonly ContractPatch[] {
  const isLarge = volumesOf(group).some((volume) => volume !== undefined && volume >= LEAST_PRODUCTS);
  return isLarge ? candidatesOfAnySize(group, target, space) : [];
}

const productsOf = ({ nodes }: Group): readonly Contract[] => nodes.filter((node) => node.kind === 'contract');

const volumesOf = (group: Group): readonly (number | undefined)[] =>
  productsOf(group).map(({ axes, over }) => volumeOf([...axes, ...over]));

/** The same, for products that are too small for a clock as well: for tests. */
export function candidatesOfAnySize(group: Group, target: CpuTarget, space: SearchSpace): readonly ContractPatch[] {
  const volumes = volumesOf(group);
  if (volumes.length === 0 || volumes.includes(undefined)) return [];
  const options = parametersOf(productsOf(group), target).map(optionsOf);
  if (space === 'DEFAULT') return [{}, ...options.flat()];
  const together = options
    .slice(0, TOGETHER)
    .reduce<readonly ContractPatch[]>(
      (all, patches) => all.flatMap((patch) => [patch, ...patches.map((one) => ({ ...patch, ...one }))]),
      [{}],
    );
  return [...together, ...options.slice(TOGETHER).flat()];
}

/** One choice, with the values that there are in their order: patches, of which the one in use anyway is empty. */
export interface ContractParameter {
  readonly name: string;
  readonly values: readonly ContractPatch[];
  /** Where the empty one stands. */
  readonly usual: number;
}

/** What coordinate descent moves along. None where there are no candidates. */
export const contractParameters = (
  group: Group,
  target: CpuTarget,
  size: 'large' | 'of any size' = 'large',
): readonly ContractParameter[] => {
  const candidates = size === 'large' ? contractCandidates : candidatesOfAnySize;
  return candidates(group, target, 'DEFAULT').length === 0 ? [] : parametersOf(productsOf(group), target);
};

/** What is tried of a parameter by itself: every tile, and of numbers the next ones. */
const optionsOf = ({ name, values, usual }: ContractParameter): readonly ContractPatch[] =>
  values.filter((_, place) => (name === 'registerTiles' ? place !== usual : Math.abs(place - usual) === 1));

const volumeOf = (axes: Contract['axes']): number | undefined =>
  axes.reduce<number | undefined>((volume, { extent }) => {
    const size = staticValue(extent);
    return volume === undefined || size === undefined ? undefined : volume * size;
  }, 1);

function parametersOf(products: readonly Contract[], target: CpuTarget): readonly ContractParameter[] {
  const choices = choicesFor(target);
  const { contractDepth, panels, blockRows, chainBytes, dotRows, keptRowBytes, stateRows } = choices;
  const rows = Math.max(
    ...products.map(({ m, n }) => Math.min(staticValue(m.extent) ?? 1, staticValue(n.extent) ?? 1)),
  );
  const isFew = rows <= 4 * dotRows;
  const bytes = Math.max(...products.map(({ accumulate }) => dtypeInfo[accumulate].bytes));
  return [
    tileParameter(target, choices.registerTiles[target.isa]),
    parameter('packedBytes', [{ packedBytes: 0 }], [{ packedBytes: never }]),
    scaled('contractDepth', [4, 2, 0.5, 0.25], (factor) => ({ contractDepth: contractDepth / factor })),
    parameter(
      'panels',
      [{ panels: 1 }],
      [2, 4].map((factor) => ({ panels: factor * panels, panelBytes: (factor * bytes) << 16 })),
    ),
    scaled('blockRows', [0.25, 0.5, 2, 4], (factor) => ({
      blockRows: { packed: blockRows.packed * factor, inPlace: blockRows.inPlace * factor },
    })),
    scaled('keptRowBytes', [0.25, 4], (factor) => ({ keptRowBytes: keptRowBytes * factor })),
    parameter('prefetchedPanelRows', [{ prefetchedPanelRows: 0 }], [{ prefetchedPanelRows: never }]),
    ...(isFew
      ? [
          parameter('dotRows', [{ dotRows: 0 }], [{ dotRows: never }]),
          parameter('stateRows', [{ stateRows: 1 }], [{ stateRows: 2 * stateRows }]),
        ]
      : []),
    ...(products.length > 1 ? [scaled('chainBytes', [0.5, 2], (factor) => ({ chainBytes: chainBytes * factor }))] : []),
  ];
}

const parameter = (
  name: string,
  below: readonly ContractPatch[],
  above: readonly ContractPatch[],
): ContractParameter => ({ name, values: [...below, {}, ...above], usual: below.length });

/** `factors` are in order, half of them on either side of what is in use. */
function scaled(
  name: string,
  factors: readonly number[],
  patchOf: (factor: number) => ContractPatch,
): ContractParameter {
  const patches = factors.map(patchOf);
  return parameter(name, patches.slice(0, factors.length / 2), patches.slice(factors.length / 2));
}

/** Tiles by their rows. */
function tileParameter({ isa }: CpuTarget, usual: RegisterTile): ContractParameter {
  const patches = (isTall: boolean): readonly ContractPatch[] =>
    tiles[isa]
      .filter(({ rows }) => rows > usual.rows === isTall)
      .toSorted((a, b) => a.rows - b.rows)
      .map((tile) => ({ registerTiles: { [isa]: tile }, fewVectorsRows: {} }));
  return parameter('registerTiles', patches(false), patches(true));
}
