// What scatters do with memory as a whole: ranges of it that are written by vectors, and units that threads share.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { named } from '@tsinductor/codegen';
import { add, int } from '@tsinductor/ir';
import type { Index, Stmt, Value, ValueType } from '@tsinductor/ir';
import { lanesFor } from '../../machine/isa.ts';
import { vectorLoop, wholeRange } from './loops.ts';
import type { Range } from './loops.ts';
import type { Nest } from './nest.ts';

/** Elements of a buffer from `from` on. */
export interface Place {
  readonly buffer: string;
  readonly from: Index;
}

interface Elements extends Place {
  readonly dtype: DType;
  /** The elements of it that are written. */
  readonly range: Range;
}

export const flat = (size: Index): Range => wholeRange({ name: 'e', extent: size });

/** Whole vectors over a range of memory: `value` gives the elements from a place in it on. */
export function writeAll(
  nest: Nest,
  { buffer, from, dtype, range }: Elements,
  value: (access: Vectors) => Value,
): void {
  const { bytes } = dtypeInfo[dtype];
  const lanes = lanesFor(nest.target.isa, Math.max(4, bytes));
  vectorLoop(nest, { ...range, lanes, instances: 1, unroll: 4 }, (vectors) => {
    for (const { at: place, lane } of vectors) {
      const { count } = lane;
      const accessOf = (given: Place) => ({
        buffer: given.buffer,
        at: add(given.from, place),
        step: int(1),
        align: bytes,
        ...(count === undefined ? {} : { count }),
      });
      const load = (given: Place): Value =>
        nest.writer.define(
          { kind: 'load', type: { dtype, lanes }, access: accessOf(given) },
          'known',
          nest.writer.depth,
        );
      nest.writer.emit({
        kind: 'store',
        access: accessOf({ buffer, from }),
        value: value({ type: { dtype, lanes }, load }),
      });
    }
  });
}

/** What the value of a vector is made of: its type, and the elements of other memory at the same place. */
export interface Vectors {
  readonly type: ValueType;
  readonly load: (from: Place) => Value;
}

/**
 * A parallel loop over `total` units; `body` gets those of a thread, and `ordered`, in their order, those whose bodies are done and
 * before which no others are left.
 */
export function writeUnits(nest: Nest, { name, total, ordered }: Units, body: OfUnits): void {
  const { writer, memory } = nest;
  const [begin, end] = [writer.fresh('begin'), writer.fresh('end')];
  const extent = int(total);
  const blockOf = (write: OfUnits): readonly Stmt[] =>
    writer.sealedBlock([begin, end], () => {
      memory.scoped(() => {
        write({ axis: { name, extent }, from: named(begin, extent), to: named(end, int(total + 1)) });
      });
    });
  const loop = { kind: 'parallel', begin, end, total: extent, grain: int(1), body: blockOf(body) } as const;
  writer.emit(ordered === undefined ? loop : { ...loop, ordered: { turn: ordered.turn, body: blockOf(ordered.body) } });
}

type OfUnits = (units: Range) => void;

interface Ordered {
  /** A buffer of one i64 that is 0 before the loop. */
  readonly turn: string;
  readonly body: OfUnits;
}

interface Units {
  readonly name: string;
  readonly total: number;
  readonly ordered?: Ordered;
}
