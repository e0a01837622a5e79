// Index expressions as text of a C-like language: integer arithmetic with as few parentheses as it needs. With a
// lane axis the result is a vector, in which the lane axis counts up and other vectors stand under their names.
import { isSubtracted, negate } from '@tsinductor/ir';
import type { Index, ValueType } from '@tsinductor/ir';
import type { Definition, Dialect } from './dialect.ts';
import { safeName } from './names.ts';

interface IndexContext {
  readonly dialect: Dialect;
  readonly use: (needs: readonly Definition[]) => void;
  readonly type: ValueType;
  /** The axis that counts lanes. */
  readonly lane?: string | undefined;
  /** Whether a name stands for a vector. */
  readonly isVector: (name: string) => boolean;
}

const levels = { sum: 1, product: 2, primary: 3 } as const;

export const printIndexText = (index: Index, context: IndexContext): string => print(index, levels.sum, context);

const parenthesised = (text: string, own: number, outer: number): string => (own < outer ? `(${text})` : text);

function print(index: Index, level: number, context: IndexContext): string {
  switch (index.kind) {
    case 'int':
      return index.value < 0 ? `(${String(index.value)})` : String(index.value);
    case 'size':
      return scalar(safeName(index.name, context.dialect.reserved), context);
    case 'axis':
      return printName(index.axis.name, level, context);
    case 'indirect':
      return 'unbound';
    case 'sum':
      return parenthesised(printSum(index.items, context), levels.sum, level);
    case 'product':
      return parenthesised(printProduct(index.items, context), levels.product, level);
    case 'min':
    case 'max':
      return printExtreme(index.items, index.kind === 'min' ? 'minimum' : 'maximum', context);
    case 'floorDiv':
    case 'mod':
      return printDivision(index, level, context);
  }
}

const scalar = (text: string, context: IndexContext): string =>
  context.type.lanes === 1 ? text : context.dialect.indexScalar(text, context.type);

function printName(name: string, level: number, context: IndexContext): string {
  const text = safeName(name, context.dialect.reserved);
  if (context.type.lanes === 1 || context.isVector(name)) return text;
  if (name !== context.lane) return scalar(text, context);
  const ramp = context.dialect.ramp(context.type);
  context.use(ramp.needs);
  return parenthesised(`${ramp.text} + ${scalar(text, context)}`, levels.sum, level);
}

/** What is added, then what is subtracted. */
function printSum(items: readonly Index[], context: IndexContext): string {
  let text = '';
  for (const item of items) {
    if (isSubtracted(item)) continue;
    text += `${text === '' ? '' : ' + '}${print(item, levels.sum, context)}`;
  }
  for (const item of items) {
    if (!isSubtracted(item)) continue;
    text += text === '' ? print(item, levels.sum, context) : ` - ${print(negate(item), levels.product, context)}`;
  }
  return text;
}

/** Factors with their constant last, as one writes it: i * 4096. */
function printProduct(items: readonly Index[], context: IndexContext): string {
  const [first] = items;
  const ordered = first?.kind === 'int' ? [...items.slice(1), first] : items;
  return ordered.map((item) => print(item, levels.primary, context)).join(' * ');
}

function printExtreme(items: readonly Index[], name: 'minimum' | 'maximum', context: IndexContext): string {
  return items
    .map((item) => print(item, levels.sum, context))
    .reduce((left, right) => {
      const call = context.dialect.indexCall(name, [left, right], context.type);
      context.use(call.needs);
      return call.text;
    });
}

function printDivision(
  index: Index & { readonly kind: 'floorDiv' | 'mod' },
  level: number,
  context: IndexContext,
): string {
  const divides = index.kind === 'floorDiv';
  if (index.rounding === 'toZero') {
    const left = print(index.dividend, levels.product, context);
    const right = print(index.divisor, levels.primary, context);
    return parenthesised(`${left} ${divides ? '/' : '%'} ${right}`, levels.product, level);
  }
  const args = [index.dividend, index.divisor].map((item) => print(item, levels.sum, context));
  const call = context.dialect.indexCall(divides ? 'floorDivide' : 'modulo', args, context.type);
  context.use(call.needs);
  return call.text;
}
