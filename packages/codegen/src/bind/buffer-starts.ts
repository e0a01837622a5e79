// Where a group begins to use each of its buffers. A kernel that only touches the fortieth row of an array is handed the address
// of that row, so that it is the kernel which touches any other row: steps of an unrolled loop, layers that share a table.
//
// Law: a start is a multiple of 64 bytes, so that what is known of the buffer's alignment holds there too.
import { at, dtypeInfo } from '@tsinductor/base';
import { bodiesOf, boundsOf, int, loadsOf, subtract } from '@tsinductor/ir';
import type { BufferDecl, BufferId, Group, Index } from '@tsinductor/ir';

const alignment = 64;

/** The elements of a buffer that a group uses: from `start`, which is not 0, and so many. */
export interface UsedPart {
  readonly start: number;
  readonly size: Index;
}

/** For buffers of which a group uses no beginning, what it uses. */
export function usedParts(
  group: Pick<Group, 'nodes'>,
  decl: (buffer: BufferId) => Pick<BufferDecl, 'dtype' | 'size'>,
): ReadonlyMap<BufferId, UsedPart> {
  const used = new Map<BufferId, UsedPart>();
  for (const [buffer, { low, high }] of rangesOf(group)) {
    const { dtype, size } = decl(buffer);
    const step = alignment / dtypeInfo[dtype].bytes;
    const start = Number.isFinite(low) ? Math.floor(low / step) * step : 0;
    if (start <= 0) continue;
    const rest = subtract(size, int(start));
    const isKnown = Number.isFinite(high) && rest.kind === 'int';
    used.set(buffer, { start, size: isKnown ? int(Math.min(rest.value, high + 1 - start)) : rest });
  }
  return used;
}

interface Range {
  readonly low: number;
  readonly high: number;
}

/** Between which elements a group's accesses to each buffer lie; of what it uses as a whole, all. */
function rangesOf({ nodes }: Pick<Group, 'nodes'>): ReadonlyMap<BufferId, Range> {
  const ranges = new Map<BufferId, Range>();
  const join = (buffer: BufferId, { low, high }: Range): void => {
    const known = ranges.get(buffer);
    ranges.set(
      buffer,
      known === undefined ? { low, high } : { low: Math.min(low, known.low), high: Math.max(high, known.high) },
    );
  };
  for (const node of nodes) {
    for (const load of bodiesOf(node).flatMap(loadsOf)) join(load.buffer, boundsOf(load.at));
    if (node.kind === 'contract') for (const { buffer, at: place } of [node.a, node.b]) join(buffer, boundsOf(place));
    node.outs.forEach((out, slot) => {
      join(out, node.kind === 'scatter' ? everything : boundsOf(at(node.writes, slot)));
    });
    if (node.kind === 'scatter' && node.initial !== undefined) join(node.initial, everything);
  }
  return ranges;
}

const everything: Range = { low: 0, high: Infinity };

/** A place in a buffer, counted from where the group begins to use that. */
export function placeFrom(parts: ReadonlyMap<BufferId, UsedPart>, buffer: BufferId, place: Index): Index {
  const part = parts.get(buffer);
  return part === undefined ? place : subtract(place, int(part.start));
}
