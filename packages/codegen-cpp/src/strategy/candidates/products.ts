// What a clock may choose among for a group with matrix products: other values of the choices that its plan goes by, and plain loops. In:
// a group, and how much is searched. Out: patches of the table of choices; the first is empty. Many make the same kernel: who measures
// tells them by its text.
import { dtypeInfo } from '@tsinductor/base';
import { staticValue } from '@tsinductor/codegen';
import type { Group } from '@tsinductor/ir';
import { choicesFor } from '../../machine/choices.ts';
import type { ChoicePatch } from '../../machine/choices.ts';
import type { RegisterTile } from '../../machine/choices/contract.ts';
import type { Isa } from '../../machine/isa.ts';
import type { CpuTarget } from '../../machine/target.ts';
import { stepAlong } from '../contract/oriented.ts';
import type { Contract } from '../contract/oriented.ts';
import { anyOf, candidatesOf, never, parameter, scaled, volumeOf } from './parameter.ts';
import type { ChoiceParameter, SearchSpace } from './parameter.ts';

/** Who computes a product: the strategy for products, or the loops that define it, each sum in its order. */
export type ProductProvider = 'tiles' | 'loops';

interface Trying {
  readonly space?: SearchSpace;
  /** Of a group with one product; several that are one kernel are always left to the strategy. Default: all. */
  readonly providers?: readonly ProductProvider[];
  /** Default: those that a clock tells apart. */
  readonly size?: 'large' | 'any';
}

const allProviders: readonly ProductProvider[] = ['tiles', 'loops'];

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

/** Fewer products are done before a clock tells them apart. */
const LEAST_PRODUCTS = 1 << 18;

/** Plain loops of more products than this are tried only where there is nothing else: they take far longer than tiles. */
const MOST_PLAIN = 1 << 27;

const plainLoops: ChoicePatch = { plainVolume: never };

const productsOf = ({ nodes }: Group): readonly Contract[] => nodes.filter((node) => node.kind === 'contract');

/** What a group has of products: one, a convolution, or several; undefined where it has none. */
export function productKind(group: Group): 'product' | 'convolution' | 'several' | undefined {
  const [first, ...others] = productsOf(group);
  if (first === undefined) return undefined;
  if (others.length > 0) return 'several';
  const { over, a, b } = first;
  // Both operands of a convolution go on along its window; of elements that lie interleaved in one operand, that one does not.
  const isWindow = over.slice(0, -1).some((tap) => [a, b].every((operand) => stepAlong(operand, tap) !== 0));
  return isWindow ? 'convolution' : 'product';
}

/** Empty for a group without products, of sizes that are not known, or too small to tell; without plain loops, the first is empty. */
export function contractCandidates(group: Group, target: CpuTarget, trying: Trying = {}): readonly ChoicePatch[] {
  const parameters = contractParameters(group, target, trying);
  if (parameters.length === 0) return [];
  return hasTiles(productsOf(group), trying) ? candidatesOf(parameters, trying.space) : [plainLoops];
}

const hasTiles = (products: readonly Contract[], { providers = allProviders }: Trying): boolean =>
  products.length > 1 || providers.includes('tiles');

/** What coordinate descent moves along. None where there are no candidates. */
export function contractParameters(group: Group, target: CpuTarget, trying: Trying = {}): readonly ChoiceParameter[] {
  const { providers = allProviders, size = 'large' } = trying;
  const products = productsOf(group);
  const volumes = products.map(({ axes, over }) => volumeOf([...axes, ...over]));
  const known = volumes.filter((volume) => volume !== undefined);
  const largest = Math.max(...known);
  if (known.length < volumes.length || largest < (size === 'any' ? 0 : LEAST_PRODUCTS)) return [];
  const tiles = hasTiles(products, trying) ? parametersOf(products, target) : [];
  const mayBePlain =
    products.length === 1 && providers.includes('loops') && (tiles.length === 0 || largest <= MOST_PLAIN);
  return [...tiles, ...(mayBePlain ? [anyOf('plainVolume', [plainLoops])] : [])];
}

function parametersOf(products: readonly Contract[], target: CpuTarget): readonly ChoiceParameter[] {
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
    parameter('wideUnitBytes', [{ wideUnitBytes: 0 }], [{ wideUnitBytes: never }]),
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

/** Tiles by their rows. */
function tileParameter({ isa }: CpuTarget, usual: RegisterTile): ChoiceParameter {
  const patches = (isTall: boolean): readonly ChoicePatch[] =>
    tiles[isa]
      .filter(({ rows }) => rows > usual.rows === isTall)
      .toSorted((a, b) => a.rows - b.rows)
      .map((tile) => ({ registerTiles: { [isa]: tile }, fewVectorsRows: {} }));
  return { ...parameter('registerTiles', patches(false), patches(true)), triesAll: true };
}
