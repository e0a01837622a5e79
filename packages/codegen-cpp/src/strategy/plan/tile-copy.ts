// Tiles that nothing is computed with: what is read across the grain is written with it, as it is. In: the nodes and the accesses by
// tiles of a nest. Out: how a tile is copied from memory to memory by way of registers alone, where a tile of scratch between would be
// written and read again; nothing where something is computed.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { strideAlong } from '@tsinductor/codegen';
import { coefficientOf } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopNode } from '@tsinductor/ir';
import { isInMemory } from './planning.ts';
import type { Planning } from './planning.ts';
import type { TilePlan } from './tiles.ts';

/** A result that is what a load reads, each along an axis of its own. */
export interface TileCopy {
  readonly dtype: DType;
  readonly from: CopySide;
  readonly to: CopySide;
  /** The axes along which each is contiguous: of the load, and of the result. */
  readonly read: Axis;
  readonly written: Axis;
}

export interface CopySide {
  readonly buffer: BufferId;
  readonly position: Index;
  /** From one row of a tile to the next, which are points of the other side's axis. */
  readonly step: Index;
}

/** The copy that tiles are, if nothing is computed with what they read. */
export function planTileCopy(
  planning: Planning,
  nodes: readonly LoopNode[],
  { accesses, lane, across }: Pick<TilePlan, 'accesses' | 'lane' | 'across'>,
): TileCopy | undefined {
  const { memory } = planning;
  const sides = copiedSides(nodes);
  const [transposed, ...more] = accesses;
  if (sides === undefined || transposed === undefined || more.length > 0) return undefined;
  const [from, to] = sides;
  if (!sides.every(({ buffer }) => isInMemory(planning, buffer))) return undefined;
  const { dtype } = memory.decl(to.buffer);
  const [read, written] = transposed.store ? [lane, across] : [across, lane];
  const isAlong = strideAlong(from.position, read.name) === 1 && strideAlong(to.position, written.name) === 1;
  const [fromStep, toStep] = [coefficientOf(from.position, written), coefficientOf(to.position, read)];
  if (memory.decl(from.buffer).dtype !== dtype || !isAlong || fromStep === undefined || toStep === undefined)
    return undefined;
  return { dtype, from: { ...from, step: fromStep }, to: { ...to, step: toStep }, read, written };
}

/** What the only node loads and writes, if it does nothing else. */
function copiedSides([node, ...others]: readonly LoopNode[]): readonly [Place, Place] | undefined {
  if (node?.kind !== 'map' || others.length > 0 || node.outs.length !== 1) return undefined;
  const [load, ...rest] = node.body.nodes;
  if (load?.kind !== 'load' || load.mask !== undefined || rest.length > 0) return undefined;
  const to = { buffer: at(node.outs, 0), position: at(node.writes, 0) };
  return [{ buffer: load.buffer, position: load.at }, to];
}

type Place = Omit<CopySide, 'step'>;
