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
export type SearchSpace = 'DEFAULT' | 'EXHAUSTIVE';

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
  const products = productsOf(group);
  const options = optionsFor(products, target);
  if (space === 'DEFAULT') return [{}, ...options.flat()];
  const together = options
    .slice(0, TOGETHER)
    .reduce<readonly ContractPatch[]>(
      (all, patches) => all.flatMap((patch) => [patch, ...patches.map((one) => ({ ...patch, ...one }))]),
      [{}],
    );
  return [...together, ...options.slice(TOGETHER).flat()];
}

const volumeOf = (axes: Contract['axes']): number | undefined =>
  axes.reduce<number | undefined>((volume, { extent }) => {
    const size = staticValue(extent);
    return volume === undefined || size === undefined ? undefined : volume * size;
  }, 1);

/** Other values of each choice. */
function optionsFor(products: readonly Contract[], target: CpuTarget): readonly (readonly ContractPatch[])[] {
  const { contractDepth, panels, blockRows, chainBytes, dotRows } = choicesFor(target);
  const rows = Math.max(
    ...products.map(({ m, n }) => Math.min(staticValue(m.extent) ?? 1, staticValue(n.extent) ?? 1)),
  );
  const isFew = rows <= 4 * dotRows;
  const bytes = Math.max(...products.map(({ accumulate }) => dtypeInfo[accumulate].bytes));
  return [
    tiles[target.isa].map((tile) => ({ registerTiles: { [target.isa]: tile }, fewVectorsRows: {} })),
    [{ packedBytes: 0 }, { packedBytes: never }],
    [{ contractDepth: contractDepth / 2 }, { contractDepth: 2 * contractDepth }],
    [{ panels: 1 }, { panels: 2 * panels, panelBytes: bytes << 17 }],
    [0.5, 2].map((factor) => ({
      blockRows: { packed: blockRows.packed * factor, inPlace: blockRows.inPlace * factor },
    })),
    ...(isFew ? [[{ dotRows: 0 }, { dotRows: never }]] : []),
    ...(products.length > 1 ? [[{ chainBytes: chainBytes / 2 }, { chainBytes: 2 * chainBytes }]] : []),
  ];
}
