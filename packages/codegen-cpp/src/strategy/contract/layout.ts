// The blocks of a matrix product: what a block has of what is summed over, what of the operands is copied before it is used, and how many
// panels a unit has. In: the extents and the register tile. See Note [matrix products].
import { dtypeInfo } from '@tsinductor/base';
import { staticValue, typicalValue } from '@tsinductor/codegen';
import { extentOf } from '../../machine/choices.ts';
import type { Choices } from '../../machine/choices.ts';
import type { Planning } from '../plan/planning.ts';
import { isAlone, isInterleaved, stepAlong, typicalPoints } from './oriented.ts';
import type { Operand, Oriented } from './oriented.ts';
import type { Extents } from './units.ts';

export interface Layout {
  /** Points of k per block, and how many taps: more than one where all of k is in a block, or all taps are. */
  readonly depth: number;
  readonly taps: number;
  readonly packA: boolean;
  readonly packB: boolean;
  /** Panels that are packed before they are used, and that a unit has. */
  readonly panels: number;
}

interface Laying extends Blocking, Packing {
  /** Whether b is read along its rows, a few points of k at a time. */
  readonly streams: boolean;
}

/** What a block has of k, what is packed, and the panels of a unit. */
export function layoutOf(planning: Planning, oriented: Oriented, { streams, ...laying }: Laying): Layout {
  const { choices } = planning;
  const { extents, bytes, panelWidth } = laying;
  const packs = packing(choices, oriented, laying);
  if (streams) {
    // What a unit has of the second operand is not kept: its sums are.
    const panelBytes = extents.height * panelWidth * bytes;
    const most = panelsBeside(choices, packs, panelBytes);
    const panels = spreadPanels({ extents, panelWidth, most }, planning);
    return { depth: streamedDepthOf(planning, oriented), taps: 1, panels, packA: packs.packA, packB: false };
  }
  if (isWide(planning, oriented, laying)) {
    const { bytes: room, depth } = choices.wideUnit;
    const block = blockOf({ ...choices, contractDepth: depth }, oriented, laying);
    const most = Math.floor(room / (block.depth * panelWidth * bytes));
    const panels = spreadPanels({ extents, panelWidth, most }, planning);
    return { ...block, panels, packA: true, packB: true };
  }
  const block = blockOf(choices, oriented, laying);
  const fits = panelsBeside(choices, packs, block.depth * block.taps * panelWidth * bytes);
  return {
    ...block,
    ...packs,
    panels: spreadPanels({ extents, panelWidth, most: Math.min(choices.panels, fits) }, planning),
  };
}

function streamedDepthOf({ target, choices }: Planning, { b, n, k }: Oriented): number {
  const bytes = typicalPoints([n, k]) * dtypeInfo[b.dtype].bytes;
  return extentOf(bytes, target) === 'huge' ? choices.streamedDepth.memory : choices.streamedDepth.cached;
}

/**
 * Whether a has so many rows that no cache holds them from one unit to the next, and b several units: then a unit has as many columns as it can,
 * in short blocks, and packs rows, which lie in few sets of a cache where their step is a power of two (Goto and van de Geijn, Anatomy of
 * High-Performance Matrix Multiplication, 2008).
 */
function isWide(planning: Planning, { taps }: Oriented, { extents, panelWidth, bytes }: Laid): boolean {
  const { choices } = planning;
  const { height, width, length } = extents;
  const isLarge = height * length * bytes >= choices.wideUnitBytes && width > choices.panels * panelWidth;
  return isLarge && taps.length === 0 && isAlone(planning);
}

type Laid = Omit<Laying, 'streams'>;

/** Whether b lies across its columns, with the taps of each point of k side by side; or in one element, as interleaved ones do. */
export function hasTapsWithin(oriented: Oriented): boolean {
  const { b, n, k, taps, node } = oriented;
  if (isInterleaved(oriented)) return true;
  if (taps.length === 0 || b.element !== undefined || b.dtype !== node.accumulate || stepAlong(b, n) === 1)
    return false;
  const axes = [k, ...taps];
  const steps = axes.map((_, position) =>
    axes.slice(position + 1).reduce((step, { extent }) => step * (staticValue(extent) ?? NaN), 1),
  );
  return axes.every((axis, position) => stepAlong(b, axis) === steps[position]);
}

interface Blocking {
  readonly bytes: number;
  readonly tapsWithin: boolean;
  readonly panelWidth: number;
}

/** What a block has of k and of taps. */
function blockOf(
  choices: Choices,
  { b, k, taps }: Oriented,
  { bytes, tapsWithin, panelWidth }: Blocking,
): Pick<Layout, 'depth' | 'taps'> {
  // All rows of places use a panel, and sums of so many are large: the fewest blocks.
  const deep = depthFor(choices, undefined, bytes);
  const isComputed = b.element !== undefined;
  const points = isComputed ? deep : Math.max(deep, Math.floor(choices.windowBytes / panelWidth / bytes));
  if (tapsWithin) {
    const count = typicalPoints(taps);
    const most = Math.max(8, Math.floor(points / count));
    return { depth: evenDepth(typicalValue(k.extent), most, isComputed ? groupDepth : 8), taps: count };
  }
  const depth = depthFor(choices, staticValue(k.extent), bytes);
  const length = staticValue(k.extent);
  if (taps.length === 0 || length === undefined || length > depth) return { depth, taps: 1 };
  const fits = Math.max(1, Math.floor(points / length));
  return { depth: length, taps: Math.min(fits, typicalPoints(taps)) };
}

/** Points of k per block: blocks of about equal size. */
function depthFor({ contractDepth }: Choices, length: number | undefined, bytes: number): number {
  const most = bytes === 8 ? contractDepth / 2 : contractDepth;
  return length === undefined ? most : evenDepth(length, most);
}

function evenDepth(length: number, most: number, unit = 8): number {
  const blocks = Math.max(1, Math.ceil(length / most));
  return Math.max(unit, Math.ceil(Math.ceil(length / blocks) / unit) * unit);
}

/** A block of what is computed of groups with a scale each has whole groups, so that a vector has one scale. */
const groupDepth = 64;

interface Packing {
  readonly extents: Extents;
  readonly rows: number;
  readonly bytes: number;
}

/** What is copied before it is used: what must be widened, what lies across the grain, what is large. */
function packing(
  { packedBytes }: Choices,
  { node, a, b, n, k }: Oriented,
  { extents, rows, bytes }: Packing,
): Pick<Layout, 'packA' | 'packB'> {
  const { height, width, length } = extents;
  const isComputed = (operand: Operand): boolean => operand.element !== undefined || operand.dtype !== node.accumulate;
  const widens = isComputed(b);
  const inPlace = !widens && stepAlong(b, n) === 1;
  const isLarge = length * width * bytes > packedBytes && height > 2 * rows;
  const strides = stepAlong(a, k) !== 1 && length * height * bytes > packedBytes / 4;
  const reads = node.over.length > 1;
  return { packA: !reads && (isComputed(a) || strides), packB: inPlace ? isLarge : widens || height > rows };
}

/** How many panels there is room for beside a block of a. */
const panelsBeside = ({ panelBytes }: Choices, { packA }: Pick<Layout, 'packA'>, bytes: number): number =>
  Math.floor((packA ? panelBytes / 2 : panelBytes) / bytes);

interface Panels {
  readonly extents: Extents;
  readonly panelWidth: number;
  readonly most: number;
}

/** Panels per unit: as many as there may be, but not so many that threads go without a unit. */
function spreadPanels({ extents, panelWidth, most }: Panels, { target, choices }: Planning): number {
  const inAll = Math.ceil(extents.width / panelWidth);
  const spread = Math.floor((inAll * extents.batch) / Math.max(2, (target.threads * choices.unitsPerThread) / 2));
  return Math.max(1, Math.min(most, spread));
}
