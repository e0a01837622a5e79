// A sort of a row as a call of the target's function for it: addresses and steps of what it reads and writes.
import { int, isAtMost } from '@tsinductor/ir';
import type { SortStmt, TileCorner } from '@tsinductor/ir';
import type { Expression, RowText } from './dialect.ts';
import { safeName } from './names.ts';
import { printScalarIndex } from './print-value.ts';
import type { ValueContext } from './print-value.ts';

export function spellSort(statement: SortStmt, context: ValueContext): Expression {
  const { dialect } = context;
  const { dtype, descending, keys, places, values, indices, scratch, threads, length, kept } = statement;
  const address = ({ buffer, at }: Pick<TileCorner, 'buffer' | 'at'>): string => {
    const place = printScalarIndex(at, context);
    const base = safeName(buffer, dialect.reserved);
    return place === '0' ? base : `${base} + ${place}`;
  };
  const row = (corner: TileCorner): RowText => ({
    address: address(corner),
    step: printScalarIndex(corner.step, context),
  });
  return dialect.sort({
    dtype,
    descending,
    keys: row(keys),
    places: places && row(places),
    values: values && row(values),
    indices: indices && row(indices),
    length: printScalarIndex(length, context),
    kept: printScalarIndex(kept, context),
    isLong: !isAtMost(length, int(2 ** 32 - 1)),
    scratch: address(scratch),
    threads,
  });
}
