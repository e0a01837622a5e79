// The law of parts: where several maps write one buffer, they write different elements of it. Along some dim of the buffer
// they fall into runs that do not meet, as the pieces of a concatenation do, and so do the pieces of each run along another dim; or each two
// of a few are apart along one, as the borders of padding.
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

/** What one write has of a buffer: its coordinates along each dim. */
type Part = readonly Bounds[];

const areParts = (writes: readonly Index[], decl: BufferDecl): boolean =>
  areApart(writes.map((write) => decl.strides.map((_, dim) => boundsIn(write, decl, dim))));

/** Whether no two of them meet: those that meet along one dim have to be apart along others. */
function areApart(parts: readonly Part[]): boolean {
  for (const dim of at(parts, 0).keys()) {
    const runs = runsAlong(parts, dim);
    if (runs.length > 1) return runs.every((run) => run.length === 1 || areApart(run));
  }
  return parts.length <= FEW_WRITES && parts.every((one, place) => parts.slice(0, place).every(isApartFrom(one)));
}

const isApartFrom =
  (one: Part) =>
  (other: Part): boolean =>
    one.some(({ low, high }, dim) => low > at(other, dim).high || high < at(other, dim).low);

/** The parts in runs of those that meet along a dim, or are between two that do. */
function runsAlong(parts: readonly Part[], dim: number): readonly (readonly Part[])[] {
  const runs: Part[][] = [];
  let end = -Infinity;
  for (const part of parts.toSorted((one, other) => at(one, dim).low - at(other, dim).low)) {
    const { low, high } = at(part, dim);
    const last = runs.at(-1);
    if (last === undefined || low > end) runs.push([part]);
    else last.push(part);
    end = Math.max(end, high);
  }
  return runs;
}

/** The coordinates that a write has along a dim. */
const boundsIn = (write: Index, { shape, strides }: BufferDecl, dim: number): Bounds =>
  boundsOf(modulo(floorDivide(write, at(strides, dim)), at(shape, dim)));
