// The law of parts: where several maps write one buffer, they write different elements of it. Along some dim of the buffer
// each has coordinates of its own, as the pieces of a concatenation have.
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
    if (decl?.strides.some((_, dim) => areApart(writes, decl, dim)) !== true)
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

/** Whether all writes have ranges of their own along a dim. */
function areApart(writes: readonly Index[], { shape, strides }: BufferDecl, dim: number): boolean {
  const ranges = writes.map((write) => boundsOf(modulo(floorDivide(write, at(strides, dim)), at(shape, dim))));
  ranges.sort((a, b) => a.low - b.low);
  return ranges.every(({ low }, position) => position === 0 || low > at(ranges, position - 1).high);
}
