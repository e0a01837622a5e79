// How matrices that stay as they are are packed for products, once for all calls. In: a target. Out: how many columns a panel has, and
// which products are over panels.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { choicesFor } from './choices.ts';
import { lanesFor } from './isa.ts';
import type { CpuTarget } from './target.ts';

interface KeptPanels {
  /** Columns of a panel of elements of a dtype; undefined: the matrix stays as it is. */
  readonly panelColumns: (dtype: DType) => number | undefined;
  /** The fewest rows of a product that is over panels. */
  readonly leastRows: number;
}

export function keptPanels(target: Pick<CpuTarget, 'isa' | 'family' | 'caches'>): KeptPanels {
  const { panelVectors, panelRows } = choicesFor(target);
  return {
    panelColumns: (dtype) => {
      const lanes = lanesFor(target.isa, dtypeInfo[dtype].bytes);
      // Half floats are widened when they are packed, once for many rows of a call: panels of them would be widened for each.
      return lanes > 1 && dtypeInfo[dtype].compute === dtype ? panelVectors * lanes : undefined;
    },
    leastRows: panelRows,
  };
}
