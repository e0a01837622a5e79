// Accesses that are checked against what their buffers have, as a branch that ends the unit. The dialect says how it is found
// out, and where what is wrong is written down.
import type { BoundsStmt } from '@tsinductor/ir';
import type { Expression } from './dialect.ts';
import { printScalarIndex, printValue } from './print-value.ts';
import type { ValueContext } from './print-value.ts';

export function spellBounds(statement: BoundsStmt, context: ValueContext): Expression {
  const { access, count, mask, size, unit, site } = statement;
  const print = (index: BoundsStmt['size']): string => printScalarIndex(index, context);
  const offsets = access.offsets && { type: access.offsets.type, text: printValue(access.offsets, context).text };
  const isOutside = context.dialect.isOutside({
    run: { at: print(access.at), step: print(access.step), count: print(count) },
    offsets,
    mask: mask && { type: mask.type, text: printValue(mask, context).text },
    size: print(size),
    unit: print(unit),
    site,
  });
  return { ...isOutside, text: `if (${isOutside.text}) return` };
}
