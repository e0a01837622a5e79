// Updates of single elements as one step each, between threads of a parallel loop: a compare-and-swap loop on the element's
// bits, which is what the machine has for floats and for minimum and maximum, and no slower than its own where nobody
// competes. What the new element is, the dialect says: the functions here spell no op.
import { dtypeInfo, invariant } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { primary } from '@tsinductor/codegen';
import type { Definition, Dialect, Expression, FetchText } from '@tsinductor/codegen';
import { elementDefinition, inlineFunction } from './vector-types.ts';

/** The integer whose bits are compared. */
const wordOf: Readonly<Record<number, DType>> = { 1: 'u8', 2: 'i16', 4: 'i32', 8: 'i64' };

/** `fetch_add_f32(p + i, value)`: gives the element as it was. */
export function fetchExpression({ op, type, buffer, at, value, expected }: FetchText, dialect: Dialect): Expression {
  const definition = fetchFunction(op, type.dtype, dialect);
  const address = at === '0' ? buffer : `${buffer} + ${at}`;
  const args = [address, value, ...(expected === undefined ? [] : [expected])];
  return primary(`${definition.name}(${args.join(', ')})`, [definition]);
}

function fetchFunction(op: FetchText['op'], dtype: DType, dialect: Dialect): Definition {
  const element = elementDefinition(dtype);
  const word = elementDefinition(wordOf[dtypeInfo[dtype].bytes] ?? 'i32');
  const needs: Definition[] = [element, word];
  const name = `fetch_${op.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}_${element.name}_${dtype}`;
  const isCompare = op === 'compareExchange';
  const next = nextElement(op, dtype, { dialect, needs });
  const body = [
    `${word.name} seen = __atomic_load_n((${word.name} *)p, __ATOMIC_RELAXED);`,
    'for (;;) {',
    `  ${element.name} old;`,
    `  __builtin_memcpy(&old, &seen, ${String(dtypeInfo[dtype].bytes)});`,
    ...(isCompare ? ['  if (old != expected) return old;'] : []),
    `  const ${element.name} next = ${next};`,
    `  ${word.name} wanted;`,
    `  __builtin_memcpy(&wanted, &next, ${String(dtypeInfo[dtype].bytes)});`,
    `  if (__atomic_compare_exchange_n((${word.name} *)p, &seen, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return old;`,
    '}',
  ];
  const extra = isCompare ? `, ${element.name} expected` : '';
  const parameters = `${element.name} *p, ${element.name} value${extra}`;
  return { name, text: inlineFunction({ returns: element.name, name, parameters }, body), needs };
}

/** The element that takes the place of `old`: computed in the compute dtype. */
function nextElement(
  op: FetchText['op'],
  dtype: DType,
  { dialect, needs }: { readonly dialect: Dialect; readonly needs: Definition[] },
): string {
  if (op === 'exchange' || op === 'compareExchange') return 'value';
  const { compute } = dtypeInfo[dtype];
  const [own, wide] = [
    { dtype, lanes: 1 },
    { dtype: compute, lanes: 1 },
  ];
  invariant(dtype !== 'bool', 'elements of bool are not updated');
  const widened = [primary('old'), primary('value')].map((arg) =>
    dtype === compute ? arg : dialect.cast(arg, own, wide),
  );
  const result = dialect.apply({ op, type: wide, operands: [wide, wide], args: widened });
  const rounded = dtype === compute ? result : dialect.cast(result, wide, own);
  needs.push(...widened.flatMap((arg) => arg.needs), ...result.needs, ...rounded.needs);
  return rounded.text;
}
