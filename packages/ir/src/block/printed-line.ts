// The lines that `print` writes, one for each element of each operand: `pid (0, 0, 0) idx (3) x = 2.5`. In: what stands in a
// line, as text or as values of a kernel. Out: its pieces in order, so that whatever runs a kernel writes the same.
import { at } from '@tsinductor/base';
import type { TileOp } from './block.ts';

interface PrintedElement<Item> {
  /** The instance's place in the grid. */
  readonly program: readonly Item[];
  /** The element's coordinates. */
  readonly place: readonly Item[];
  readonly value: Item;
}

type Print = TileOp & { readonly op: 'print' };

const listed = <Item>(items: readonly Item[]): readonly (string | Item)[] =>
  items.flatMap((item, position) => (position === 0 ? [item] : [', ', item]));

const headOf = <Item>({ program, place }: Omit<PrintedElement<Item>, 'value'>): readonly (string | Item)[] => [
  'pid (',
  ...listed(program),
  ') idx (',
  ...listed(place),
  ') ',
];

/** The line of an element of the operand `slot`. */
export function elementLine<Item>(
  { attrs, args }: Print,
  slot: number,
  element: PrintedElement<Item>,
): readonly (string | Item)[] {
  const operand = args.length === 1 ? '' : `(operand ${String(slot)}) `;
  return [...headOf(element), `${attrs.prefix}${operand}`, element.value];
}

/** The line of a print without operands. */
export const bareLine = <Item>({ attrs }: Print, program: readonly Item[]): readonly (string | Item)[] => [
  ...headOf({ program, place: [] }),
  attrs.prefix,
];

/** Coordinates of the element at `position` of a tile, row by row. */
export function coordinatesAt(position: number, shape: readonly number[]): readonly number[] {
  const coordinates = new Array<number>(shape.length);
  let rest = position;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    coordinates[axis] = rest % at(shape, axis);
    rest = Math.floor(rest / at(shape, axis));
  }
  return coordinates;
}
