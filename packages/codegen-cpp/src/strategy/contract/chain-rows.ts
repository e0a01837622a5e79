// Where the rows of a block lie that one step of a chain leaves for another (see chain.ts): on the stack of a thread; or, where
// they are long or a call says how long they are, in workspace, of which every part of the blocks has as much as one of them needs.
import { get, invariant } from '@tsinductor/base';
import { staticValue, typicalValue } from '@tsinductor/codegen';
import { add, floorDivide, int, minimum, multiply, subtract } from '@tsinductor/ir';
import type { BufferId, Index } from '@tsinductor/ir';
import { scalarLoop } from '../write/loops.ts';
import type { Nest } from '../write/nest.ts';
import type { Chain } from './chain-plan.ts';
import { inThreads } from './in-threads.ts';
import type { AxisPart } from './in-threads.ts';
import { nameBelow } from './points.ts';

/** Parts of the blocks at most: where the number of threads is not known, and for each thread where it is. */
const [PARTS, PARTS_OF_THREAD] = [64, 4];

/** The most bytes of a block's rows on the stack of a thread. */
export const MOST_STACK: number = 1 << 20;

/** Where rows of a buffer lie: a place in memory by that name. */
interface Place {
  readonly name: string;
  readonly base: Index;
}

/** What lies in workspace, for one part of the blocks. */
export type RowPlaces = ReadonlyMap<BufferId, Place>;

/** A buffer in workspace, of which each part has so many elements. */
interface RowSpace {
  readonly buffer: BufferId;
  readonly name: string;
  readonly size: Index;
}

interface Blocks {
  readonly chain: Chain;
  readonly total: Index;
  /** About what one takes. */
  readonly cycles: number;
}

/** Writes all blocks, or points with all their blocks, as threads share them. */
export function inRowSpace(
  nest: Nest,
  { chain, total, cycles }: Blocks,
  write: (blocks: AxisPart, places: RowPlaces) => void,
): void {
  const parts = minimum(total, int(nest.target.anyThreads === true ? PARTS : PARTS_OF_THREAD * nest.target.threads));
  const spaces = spacesFor(nest, chain, parts);
  if (spaces.length === 0) {
    inThreads(nest, { total, cycles }, (blocks) => {
      write(blocks, new Map());
    });
    return;
  }
  const perPart = (cycles * typicalValue(total)) / Math.max(1, typicalValue(parts));
  inThreads(nest, { total: parts, cycles: Math.max(1, perPart) }, (range) => {
    const all = nameBelow(nest, { name: 'all_blocks', extent: add(total, int(1)) }, total);
    const each = nameBelow(nest, { name: 'parts', extent: add(parts, int(1)) }, parts);
    const edge = (part: Index): Index =>
      nameBelow(nest, { name: 'edge', extent: add(total, int(1)) }, floorDivide(multiply(part, all), each));
    scalarLoop(nest, { axis: { name: 'part', extent: parts }, ...range }, (part) => {
      const places = spaces.map(({ buffer, name, size }) => {
        const extent = multiply(parts, size);
        return [
          buffer,
          { name, base: nameBelow(nest, { name: `${name}_start`, extent }, multiply(part, size)) },
        ] as const;
      });
      write({ from: edge(part), to: edge(add(part, int(1))) }, new Map(places));
    });
  });
}

/**
 * Of what one step leaves for another a block has some rows; of what loops leave for one another, one at a time. None where a thread's stack has
 * room for all of it.
 */
function spacesFor({ memory, group, choices }: Nest, chain: Chain, parts: Index): readonly RowSpace[] {
  const { rows, kept, over, sums } = chain;
  // Their rows are short, and are read as if each block had them to itself.
  if (sums) return [];
  const inBlock = [...kept].map(([buffer, row]) => ({ buffer, size: multiply(rows, row) }));
  const inRow = group.locals.filter(({ kind, buffer }) => kind === 'row' && !kept.has(buffer));
  const bytesOf = ({ buffer, size }: { readonly buffer: BufferId; readonly size: Index }): number =>
    (staticValue(size) ?? Infinity) * memory.bytesOf(buffer);
  const all = [...inBlock.filter(({ buffer }) => !over.has(buffer)), ...inRow];
  const areFew = all.reduce((sum, one) => sum + bytesOf(one), 0) <= MOST_STACK;
  if (areFew && inRow.every((one) => bytesOf(one) <= choices.stackScratchBytes)) return [];
  return all.map(({ buffer, size }) => {
    const { name, dtype } = memory.decl(buffer);
    return { buffer, size, name: memory.workspace(`${name}_rows`, dtype, multiply(parts, size)).name };
  });
}

interface Keeping {
  readonly places: RowPlaces;
  /** The first row of the block. */
  readonly from: Index;
}

/** What stands for the rows of a block: those that one step leaves for another count from the first of the block. */
export function keepRows({ memory, writer }: Nest, chain: Chain, { places, from }: Keeping): void {
  const { batch, m, rows, kept, over } = chain;
  const outside = new Set(batch.map(({ name }) => name));
  const onStack = (buffer: BufferId, size: number): Place => {
    const { name, dtype } = memory.decl(buffer);
    const scratch = writer.fresh(`${name}_rows`);
    writer.emit({ kind: 'scratch', name: scratch, dtype, size });
    return { name: scratch, base: int(0) };
  };
  const own = new Map<BufferId, Place>();
  for (const [buffer, row] of kept)
    if (!over.has(buffer)) own.set(buffer, places.get(buffer) ?? onStack(buffer, knownSize(multiply(rows, row))));
  for (const [buffer, row] of kept) {
    const { name, base } = get(own, over.get(buffer) ?? buffer);
    memory.setRow(buffer, { name, lanes: 1, outside, base: subtract(base, multiply(from, row)) });
  }
  for (const [buffer, place] of places)
    if (!kept.has(buffer)) memory.setRow(buffer, { ...place, lanes: 1, outside: new Set([...outside, m.name]) });
}

function knownSize(size: Index): number {
  const known = staticValue(size);
  invariant(known !== undefined, 'rows on the stack have a known length');
  return known;
}
