// When temporaries live: from the group that makes them to the last that reads them, as positions in an order of groups. And
// what of that decides on peaks of memory.
import { at, dtypeInfo } from '@tsinductor/base';
import { add, evaluateIndex, int, multiply, subtract } from '@tsinductor/ir';
import type { BufferDecl, BufferId, Group, Index, LoopProgram } from '@tsinductor/ir';

export interface Lifetime {
  readonly decl: BufferDecl;
  readonly bytes: Index;
  /** Positions in the order of groups, both inclusive. */
  readonly first: number;
  readonly last: number;
}

/** A symbolic size counts as this where sizes have to be compared. */
const TYPICAL_SIZE = 256;

export const bytesOf = ({ size, dtype }: Pick<BufferDecl, 'size' | 'dtype'>): Index =>
  multiply(size, int(dtypeInfo[dtype].bytes));

/** A size as a number: itself, or what it typically is. */
export const typicalBytes = (bytes: Index, program: LoopProgram): number =>
  bytes.kind === 'int'
    ? bytes.value
    : evaluateIndex(bytes, { sizes: new Map(program.sizes.map((name) => [name, TYPICAL_SIZE])) });

/** Temporaries that some group stores, by the time of their first use. */
export function lifetimesOf(
  program: LoopProgram,
  groups: readonly Pick<Group, 'reads' | 'writes'>[],
): readonly Lifetime[] {
  const uses = new Map<BufferId, { first: number; last: number }>();
  groups.forEach(({ reads, writes }, position) => {
    for (const buffer of [...writes, ...reads]) {
      const known = uses.get(buffer);
      if (known === undefined) uses.set(buffer, { first: position, last: position });
      else known.last = position;
    }
  });
  return program.buffers
    .flatMap((decl) => {
      const use = decl.role === 'temporary' ? uses.get(decl.id) : undefined;
      return use === undefined ? [] : [{ decl, bytes: bytesOf(decl), ...use }];
    })
    .sort((a, b) => (a.first === b.first ? a.decl.id - b.decl.id : a.first - b.first));
}

/** The most bytes that live at the same time; with symbolic sizes, those that live when typical sizes are at their most. */
export function peakOf(lifetimes: readonly Lifetime[], program: LoopProgram): Index {
  const end = lifetimes.reduce((most, { last }) => Math.max(most, last + 1), 0);
  const changes = Array.from({ length: end + 1 }, () => ({ typical: 0, bytes: int(0) }));
  for (const { first, last, bytes } of lifetimes) {
    const typical = typicalBytes(bytes, program);
    const [birth, death] = [at(changes, first), at(changes, last + 1)];
    birth.typical += typical;
    birth.bytes = add(birth.bytes, bytes);
    death.typical -= typical;
    death.bytes = subtract(death.bytes, bytes);
  }
  let [live, most] = [0, 0];
  let [bytes, peak] = [int(0), int(0)];
  for (const change of changes) {
    live += change.typical;
    bytes = add(bytes, change.bytes);
    if (live > most) [most, peak] = [live, bytes];
  }
  return peak;
}
