// Places as text: a pointer for what is linear, and arithmetic on coordinates and loaded indices for the rest.
import { get } from '@tsinductor/base';
import { boundsOf } from '@tsinductor/ir';
import type { Index, ScalarId } from '@tsinductor/ir';
import type { Place } from './linear.ts';
import type { Nest, Placed } from './nest.ts';
import { literal } from './kernel-text.ts';

export interface IndexScope {
  readonly nest: Nest;
  /** The axes that stand by themselves. */
  readonly coordinates: ReadonlyMap<string, Placed>;
  readonly place: (index: Index) => Place;
  /** A loaded index as a number. */
  readonly indirect: (value: ScalarId) => Placed;
}

/** The value of an index expression. */
export function placedIndex(index: Index, scope: IndexScope): Placed {
  const { linear, rest, offset = 0 } = scope.place(index);
  const isNothing = linear.base === 0 && linear.strides.every((stride) => stride === 0);
  const parts = rest.map((part) => partText(part, scope));
  if (!isNothing || parts.length + offset === 0) parts.unshift(scope.nest.pointer(linear));
  if (offset !== 0) parts.push({ text: literal(offset), level: 0 });
  return joined(parts, (texts) => texts.join(' + '));
}

const joined = (parts: readonly Placed[], join: (texts: readonly string[]) => string): Placed => ({
  text: join(parts.map(({ text }) => text)),
  level: Math.max(0, ...parts.map(({ level }) => level)),
});

const bracketed = (parts: readonly Placed[], join: (texts: readonly string[]) => string): Placed =>
  joined(parts, (texts) => `(${join(texts)})`);

function partText(index: Index, scope: IndexScope): Placed {
  const part = (operand: Index): Placed => partText(operand, scope);
  switch (index.kind) {
    case 'int':
      return { text: literal(index.value), level: 0 };
    case 'size':
    case 'axis':
      return get(scope.coordinates, index.kind === 'size' ? index.name : index.axis.name);
    case 'indirect':
      return scope.indirect(index.value);
    case 'sum':
      return bracketed(index.items.map(part), (texts) => texts.join(' + '));
    case 'product':
      return bracketed(index.items.map(part), (texts) => texts.join(' * '));
    case 'min':
    case 'max':
      return bracketed(index.items.map(part), (texts) => `Math.${index.kind}(${texts.join(', ')})`);
    case 'floorDiv':
    case 'mod':
      return bracketed([part(index.dividend), part(index.divisor)], ([dividend = '', divisor = '']) =>
        divided(index, dividend, divisor),
      );
  }
}

/** Coordinates are rarely negative or large: then 32-bit arithmetic does. */
function divided(index: Extract<Index, { kind: 'floorDiv' | 'mod' }>, dividend: string, divisor: string): string {
  const { low, high } = boundsOf(index.dividend);
  const isSmall = low >= 0 && high < 2 ** 31;
  if (index.kind === 'floorDiv')
    return isSmall ? `${dividend} / ${divisor} | 0` : `Math.floor(${dividend} / ${divisor})`;
  return low >= 0 ? `${dividend} % ${divisor}` : `(${dividend} % ${divisor} + ${divisor}) % ${divisor}`;
}
