// The law of parts: where several maps write one buffer, they write different elements of it. Along some dim of the buffer
// each has coordinates of its own, as the pieces of a concatenation have; or each two of a few have, as the borders of padding.
import { at } from '@tsinductor/base';
import { floorDivide, modulo } from '../arithmetic/divide.ts';
import { boundsOf } from '../arithmetic/range.ts';
import { lawBroken } from '../errors.ts';
import type { Index } from '../index-expr.ts';
import type { BufferDecl, LoopNode } from '../loop.ts';
import type { BufferId } from '../scalar.ts';

/** Throws unless the writers of every buffer are one node, or maps that are known to write apart. */
export function verifyParts(
  nodes: readonly LoopNode[],
  { buffers }: { readonly buffers: ReadonlyMap<BufferId, BufferDecl> },
): void {
  for (const [buffer, writers] of writersOf(nodes)) {
    if (writers.length < 2) continue;
    const decl = buffers.get(buffer);
    const where = `buffer ${decl?.name ?? String(buffer)}`;
    if (writers.some(({ node }) => node.kind !== 'map')) throw lawBroken(where, 'is written by two nodes');
    const writes = writers.map(({ write }) => write);
    if (decl === undefined || !areParts(writes, decl))
      throw lawBroken(where, 'is written by nodes that are not known to write apart');
  }
}

interface Writer {
  readonly node: LoopNode;
  readonly write: Index;
}

function writersOf(nodes: readonly LoopNode[]): ReadonlyMap<BufferId, readonly Writer[]> {
  const writers = new Map<BufferId, Writer[]>();
  for (const node of nodes) {
    node.outs.forEach((out, slot) => {
      const writer = { node, write: at(node.writes, slot) };
      const known = writers.get(out);
      if (known === undefined) writers.set(out, [writer]);
      else known.push(writer);
    });
  }
  return writers;
}

/** More writes than this are not compared two by two. */
const FEW_WRITES = 32;

type Bounds = ReturnType<typeof boundsOf>;

function areParts(writes: readonly Index[], decl: BufferDecl): boolean {
  const boundsAlong = decl.strides.map((_, dim) => writes.map((write) => boundsIn(write, decl, dim)));
  if (boundsAlong.some(areApart)) return true;
  const isApart = (one: number, other: number): boolean =>
    boundsAlong.some((bounds) => areApart([at(bounds, one), at(bounds, other)]));
  return (
    writes.length <= FEW_WRITES &&
    writes.every((_, one) => writes.slice(0, one).every((__, other) => isApart(one, other)))
  );
}

/** The coordinates that a write has along a dim. */
const boundsIn = (write: Index, { shape, strides }: BufferDecl, dim: number): Bounds =>
  boundsOf(modulo(floorDivide(write, at(strides, dim)), at(shape, dim)));

/** Whether all have ranges of their own. */
function areApart(bounds: readonly Bounds[]): boolean {
  const ranges = bounds.toSorted((a, b) => a.low - b.low);
  return ranges.every(({ low }, position) => position === 0 || low > at(ranges, position - 1).high);
}
