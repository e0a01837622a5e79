// Updates of single elements as one step each, which give what was there before: the machine's own where it has them, else a
// loop that compares and swaps the element's bits. What the new element is, the dialect says: nothing here spells an op.
import { dtypeInfo, invariant } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { primary } from '@tsinductor/codegen';
import type { Definition, Dialect, Expression, FetchText } from '@tsinductor/codegen';
import type { ValueType } from '@tsinductor/ir';
import { deviceFunction, elementDefinition, u64 } from './scalar-types.ts';

type Op = FetchText['op'];

/** On words of 32 bits; on words of 64 they take unsigned ones. */
const integers: Readonly<Partial<Record<Op, string>>> = {
  add: 'atomicAdd',
  bitwiseAnd: 'atomicAnd',
  bitwiseOr: 'atomicOr',
  bitwiseXor: 'atomicXor',
  exchange: 'atomicExch',
  compareExchange: 'atomicCAS',
};
const ordered: Readonly<Partial<Record<Op, string>>> = { minimum: 'atomicMin', maximum: 'atomicMax' };
const floats: Readonly<Partial<Record<Op, string>>> = { add: 'atomicAdd' };

interface Native {
  readonly name: string;
  readonly isUnsigned: boolean;
}

function nativeUpdate(op: Op, dtype: DType): Native | undefined {
  const isInteger = dtype === 'i32' || dtype === 'i64';
  const plain = isInteger ? ordered[op] : dtype === 'f32' || dtype === 'f64' ? floats[op] : undefined;
  if (plain !== undefined) return { name: plain, isUnsigned: false };
  const name = isInteger ? integers[op] : undefined;
  return name === undefined ? undefined : { name, isUnsigned: dtype === 'i64' };
}

/** `atomicAdd(p + i, value)`, `fetch_maximum_f32(p + i, value)`. */
export function fetchExpression({ op, type, buffer, at, value, expected }: FetchText, dialect: Dialect): Expression {
  const address = at === '0' ? buffer : `${buffer} + ${at}`;
  const native = nativeUpdate(op, type.dtype);
  if (native === undefined) {
    const definition = fetchFunction(op, type.dtype, dialect);
    const args = [address, value, ...(expected === undefined ? [] : [expected])];
    return primary(`${definition.name}(${args.join(', ')})`, [definition]);
  }
  const words = [...(expected === undefined ? [] : [expected]), value];
  if (!native.isUnsigned) return primary(`${native.name}(${[address, ...words].join(', ')})`);
  const unsigned = words.map((word) => `(u64)(${word})`);
  return primary(`(i64)${native.name}(${[`reinterpret_cast<u64 *>(${address})`, ...unsigned].join(', ')})`, [u64]);
}

/** What is compared and swapped, and the integer of the same width that a bit cast gives. */
const wordTypes: Readonly<Record<number, { readonly word: string; readonly bits: DType }>> = {
  2: { word: 'unsigned short', bits: 'i16' },
  4: { word: 'int', bits: 'i32' },
  8: { word: 'unsigned long long', bits: 'i64' },
};

function fetchFunction(op: Op, dtype: DType, dialect: Dialect): Definition {
  const element = elementDefinition(dtype);
  const words = wordTypes[dtypeInfo[dtype].bytes];
  invariant(words !== undefined && dtype !== 'bool', 'elements of one byte are not updated');
  const { word, bits } = words;
  const [own, asBits]: readonly [ValueType, ValueType] = [
    { dtype, lanes: 1 },
    { dtype: bits, lanes: 1 },
  ];
  const needs: Definition[] = [element];
  const old = dialect.bitcast(primary(`(${elementDefinition(bits).name})seen`), asBits, own);
  const next = nextElement(op, dtype, dialect);
  const back = dialect.bitcast(primary('next'), own, asBits);
  needs.push(elementDefinition(bits), ...old.needs, ...next.needs, ...back.needs);
  const body = [
    `${word} *const place = reinterpret_cast<${word} *>(p);`,
    `${word} seen = *(volatile ${word} *)place;`,
    'for (;;) {',
    `  const ${element.name} old = ${old.text};`,
    ...(op === 'compareExchange' ? ['  if (old != expected) return old;'] : []),
    `  const ${element.name} next = ${next.text};`,
    `  const ${word} found = atomicCAS(place, seen, (${word})${back.primary ? back.text : `(${back.text})`});`,
    '  if (found == seen) return old;',
    '  seen = found;',
    '}',
  ];
  const name = `fetch_${op.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}_${dtype}`;
  const extra = op === 'compareExchange' ? `, ${element.name} expected` : '';
  const parameters = `${element.name} *p, ${element.name} value${extra}`;
  return { name, text: deviceFunction({ returns: element.name, name, parameters }, body), needs };
}

/** The element that takes the place of `old`: computed in the compute dtype. */
function nextElement(op: Op, dtype: DType, dialect: Dialect): Expression {
  if (op === 'exchange' || op === 'compareExchange') return primary('value');
  const { compute } = dtypeInfo[dtype];
  const [own, wide]: readonly [ValueType, ValueType] = [
    { dtype, lanes: 1 },
    { dtype: compute, lanes: 1 },
  ];
  const args = [primary('old'), primary('value')].map((arg) =>
    dtype === compute ? arg : dialect.cast(arg, own, wide),
  );
  const result = dialect.apply({ op, type: wide, operands: [wide, wide], args });
  const rounded = dtype === compute ? result : dialect.cast(result, wide, own);
  return { ...rounded, needs: [...args.flatMap((arg) => arg.needs), ...result.needs, ...rounded.needs] };
}
