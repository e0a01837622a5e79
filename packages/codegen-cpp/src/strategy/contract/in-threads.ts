// A loop over units that share nothing: by threads where there are several.
import { named } from '@tsinductor/codegen';
import { add, int } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { grainOf } from '../plan/chunks.ts';
import type { Nest } from '../write/nest.ts';

interface Units {
  readonly total: Index;
  /** About what one takes. */
  readonly cycles: number;
}

/** A part of an axis, or of units: [from, to). */
export interface AxisPart {
  readonly from: Index;
  readonly to: Index;
}

export function inThreads(nest: Nest, { total, cycles }: Units, write: (units: AxisPart) => void): void {
  const { writer } = nest;
  if (nest.target.threads === 1) {
    write({ from: int(0), to: total });
    return;
  }
  const [begin, end] = [writer.fresh('begin'), writer.fresh('end')];
  const body = writer.sealedBlock([begin, end], () => {
    write({ from: named(begin, total), to: named(end, add(total, int(1))) });
  });
  writer.emit({ kind: 'parallel', begin, end, total, grain: grainOf(nest, total, cycles), body });
}
