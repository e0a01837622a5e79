// Index expressions as C-like text with the parentheses that C needs, and no more: `i * 4096 + j`, `(i + j) / s0 % 4`. Divisions
// that round toward zero are `i quot 4` and `i rem 4`.
import { at } from '@tsinductor/base';
import type { Index } from '../index-expr.ts';
import type { ScalarId } from '../scalar.ts';

type PrintIndirect = (value: ScalarId) => string;

const level = { sum: 1, product: 2, atom: 3 } as const;
const percent: PrintIndirect = (value) => `%${String(value)}`;

/** The text of `index`; loaded indices by `indirect`, as `%7` without it. Equal expressions have equal texts. */
export const printIndex = (index: Index, indirect: PrintIndirect = percent): string => print(index, 0, indirect);

function print(index: Index, outer: number, indirect: PrintIndirect): string {
  switch (index.kind) {
    case 'int':
      return index.value < 0 && outer > level.sum ? `(${String(index.value)})` : String(index.value);
    case 'size':
      return index.name;
    case 'axis':
      return index.axis.name;
    case 'indirect':
      return indirect(index.value);
    case 'sum':
      return enclosed(printSum(index.items, indirect), level.sum, outer);
    case 'product':
      return printProduct(index.items, outer, indirect);
    case 'min':
    case 'max':
      return `${index.kind}(${index.items.map((item) => print(item, 0, indirect)).join(', ')})`;
    case 'floorDiv':
    case 'mod': {
      const [left, right] = [
        print(index.dividend, level.product, indirect),
        print(index.divisor, level.atom, indirect),
      ];
      return enclosed(`${left} ${signOf(index)} ${right}`, level.product, outer);
    }
  }
}

/** Quotients and remainders that round toward zero have names of their own, as in other languages. */
function signOf({ kind, rounding }: Index & { readonly kind: 'floorDiv' | 'mod' }): string {
  if (rounding === 'toZero') return kind === 'mod' ? 'rem' : 'quot';
  return kind === 'mod' ? '%' : '/';
}

const enclosed = (text: string, own: number, outer: number): string => (own < outer ? `(${text})` : text);

const coefficientOfItem = (item: Index): number => {
  const first = item.kind === 'product' ? at(item.items, 0) : item;
  return first.kind === 'int' ? first.value : 1;
};

/** A positive term goes first where there is one, so that a sum seldom begins with a sign. */
function printSum(items: readonly Index[], indirect: PrintIndirect): string {
  const lead = Math.max(
    0,
    items.findIndex((item) => coefficientOfItem(item) > 0),
  );
  const ordered = [at(items, lead), ...items.filter((_, position) => position !== lead)];
  return ordered
    .map((item, position) => {
      const text = print(item, position === 0 ? 0 : level.sum, indirect);
      if (position === 0) return text;
      return text.startsWith('-') ? ` - ${text.slice(1)}` : ` + ${text}`;
    })
    .join('');
}

/** Factors, then the coefficient: i * s0 * 4. Only the first factor may be a division without parentheses. */
function printProduct(items: readonly Index[], outer: number, indirect: PrintIndirect): string {
  const first = at(items, 0);
  const coefficient = first.kind === 'int' ? first.value : 1;
  const factors = first.kind === 'int' ? items.slice(1) : items;
  const texts = factors.map((item, position) => print(item, position === 0 ? level.product : level.atom, indirect));
  if (Math.abs(coefficient) !== 1) texts.push(String(Math.abs(coefficient)));
  const text = texts.join(' * ');
  const signed = coefficient < 0 ? `-${text}` : text;
  return enclosed(signed, coefficient < 0 ? level.sum : level.product, outer);
}
