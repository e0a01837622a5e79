// Questions about an index expression's form: what it mentions, and where.
import type { Axis, Index } from '../index-expr.ts';
import type { ScalarId } from '../scalar.ts';
import { printIndex } from '../print/print-index.ts';

const none: readonly Index[] = [];

/** The expressions that `index` is directly made of. */
export function indexOperands(index: Index): readonly Index[] {
  switch (index.kind) {
    case 'int':
    case 'size':
    case 'axis':
    case 'indirect':
      return none;
    case 'sum':
    case 'product':
    case 'min':
    case 'max':
      return index.items;
    case 'floorDiv':
    case 'mod':
      return [index.dividend, index.divisor];
  }
}

function visit(index: Index, leaf: (index: Index) => void): void {
  const operands = indexOperands(index);
  if (operands.length === 0) leaf(index);
  for (const operand of operands) visit(operand, leaf);
}

/** The names of the axes that occur. */
export function freeAxes(index: Index): ReadonlySet<string> {
  const names = new Set<string>();
  addFreeAxes(index, names);
  return names;
}

/** Adds the names of the axes that occur to those that others have. */
export function addFreeAxes(index: Index, names: Set<string>): void {
  if (index.kind === 'axis') names.add(index.axis.name);
  else for (const operand of indexOperands(index)) addFreeAxes(operand, names);
}

/** The axes that occur, by name. */
export function axesOf(index: Index): ReadonlyMap<string, Axis> {
  const axes = new Map<string, Axis>();
  visit(index, (leaf) => {
    if (leaf.kind === 'axis') axes.set(leaf.axis.name, leaf.axis);
  });
  return axes;
}

/** The names of the sizes that occur (those in extents of axes apart). */
export function freeSizes(index: Index): ReadonlySet<string> {
  const names = new Set<string>();
  visit(index, (leaf) => {
    if (leaf.kind === 'size') names.add(leaf.name);
  });
  return names;
}

/** The loaded indices that occur, with the extents in which they lie. */
export function indirectsOf(index: Index): readonly (Index & { readonly kind: 'indirect' })[] {
  const found: (Index & { readonly kind: 'indirect' })[] = [];
  visit(index, (leaf) => {
    if (leaf.kind === 'indirect') found.push(leaf);
  });
  return found;
}

/** The body's nodes whose loaded values occur. */
export function freeIndirects(index: Index): ReadonlySet<ScalarId> {
  const values = new Set<ScalarId>();
  addFreeIndirects(index, values);
  return values;
}

function addFreeIndirects(index: Index, values: Set<ScalarId>): void {
  if (index.kind === 'indirect') values.add(index.value);
  else for (const operand of indexOperands(index)) addFreeIndirects(operand, values);
}

/** Whether a loaded value occurs. */
export function hasIndirects(index: Index): boolean {
  if (index.kind === 'indirect') return true;
  for (const operand of indexOperands(index)) if (hasIndirects(operand)) return true;
  return false;
}

/** The number that `index` is, where it is one. */
export const constantValue = (index: Index): number | undefined => (index.kind === 'int' ? index.value : undefined);

function mentions(index: Index, axis: string): boolean {
  if (index.kind === 'axis') return index.axis.name === axis;
  for (const operand of indexOperands(index)) if (mentions(operand, axis)) return true;
  return false;
}

/** What expressions of `axis` are divided by, in quotients and remainders, each once. */
export function divisorsOf(index: Index, axis: Axis): readonly Index[] {
  const divisors = new Map<string, Index>();
  const search = (part: Index): void => {
    const divides = part.kind === 'floorDiv' || part.kind === 'mod';
    if (divides && mentions(part.dividend, axis.name)) divisors.set(printIndex(part.divisor), part.divisor);
    for (const operand of indexOperands(part)) search(operand);
  };
  search(index);
  return [...divisors.values()];
}

/** Whether an item of a sum has a negative coefficient: it is written, and computed, behind a minus sign. */
export function isSubtracted(item: Index): boolean {
  const first = item.kind === 'product' ? item.items[0] : item;
  return first?.kind === 'int' && first.value < 0;
}
