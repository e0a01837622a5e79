// Minimum and maximum of index expressions: flat, ordered, without items that ranges show to be dominated.
import { at } from '@tsinductor/base';
import type { Index } from '../index-expr.ts';
import { compareIndex, equal } from './order.ts';
import { isAtMost } from './range.ts';

type Extremum = 'min' | 'max';

export const minimum = (a: Index, b: Index): Index => extremum('min', a, b);
export const maximum = (a: Index, b: Index): Index => extremum('max', a, b);

function extremum(kind: Extremum, a: Index, b: Index): Index {
  if (a.kind === 'int' && b.kind === 'int') return a.value < b.value === (kind === 'min') ? a : b;
  const items = [...itemsOf(kind, a), ...itemsOf(kind, b)].sort(compareIndex);
  const distinct = items.filter((item, position) => position === 0 || !equal(item, at(items, position - 1)));
  const left = distinct.reduce<readonly Index[]>((kept, item) => {
    if (kept.some((other) => dominates(kind, other, item))) return kept;
    return [...kept.filter((other) => !dominates(kind, item, other)), item];
  }, []);
  return left.length === 1 ? at(left, 0) : { kind, items: left };
}

const itemsOf = (kind: Extremum, index: Index): readonly Index[] => (index.kind === kind ? index.items : [index]);

/** Whether `a` is always the one to take. */
const dominates = (kind: Extremum, a: Index, b: Index): boolean => (kind === 'min' ? isAtMost(a, b) : isAtMost(b, a));
