// Conversions between dtypes in registers. f16 and bf16 are bits there; rounding is to nearest, halves to even, and NaN
// stays a quiet NaN. Floats become integers as the op table's `castValue` says: by truncation, to the lowest integer where
// the value does not fit (CUDA itself would saturate), and to narrow integers through i32.
import { dtypeInfo, isFloat, isInteger } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { compound, operand, primary } from '@tsinductor/codegen';
import type { Definition, Expression } from '@tsinductor/codegen';
import { deviceFunction, elementDefinition, isBitsOnly } from './scalar-types.ts';

/** `value` as another dtype. */
export function convert(value: Expression, from: DType, to: DType): Expression {
  if (from === to) return value;
  if (isBitsOnly(from)) return called(fromHalf(from), from, { value, to });
  if (isBitsOnly(to)) return callOn(toHalf(to), convert(value, from, 'f32'));
  if (to === 'bool') return primary(`(${operand(value)} != 0)`, value.needs);
  if (isFloat(from) && isInteger(to)) {
    if (dtypeInfo[to].bytes >= 4) return callOn(truncation(from, to), value);
    return convert(convert(value, from, 'i32'), 'i32', to);
  }
  return compound(`(${to})${operand(value)}`, [...value.needs, elementDefinition(to)]);
}

const callOn = (definition: Definition, value: Expression): Expression =>
  primary(`${definition.name}(${value.text})`, [...value.needs, definition]);

const called = (
  definition: Definition,
  from: DType,
  { value, to }: { readonly value: Expression; readonly to: DType },
): Expression => convert(callOn(definition, value), from === to ? to : 'f32', to);

const castDefinition = (
  { from, to }: { readonly from: DType; readonly to: DType },
  body: readonly string[],
): Definition => {
  const name = `${to}_from_${from}`;
  return {
    name,
    text: deviceFunction({ returns: to, name, parameters: `${from} x` }, body),
    needs: [elementDefinition(from), elementDefinition(to)],
  };
};

function truncation(from: DType, to: DType): Definition {
  const [lowest, limit] = to === 'i64' ? ['(-9223372036854775807LL - 1)', '0x1p63'] : ['(-2147483647 - 1)', '0x1p31'];
  const suffix = from === 'f32' ? 'f' : '';
  return castDefinition({ from, to }, [
    `return x >= -${limit}${suffix} && x < ${limit}${suffix} ? (${to})x : ${lowest};`,
  ]);
}

function fromHalf(from: DType): Definition {
  if (from === 'bf16') return castDefinition({ from, to: 'f32' }, ['return __int_as_float((int)((unsigned)x << 16));']);
  return castDefinition({ from, to: 'f32' }, [
    'const unsigned shifted = (unsigned)(x & 0x7fff) << 13, exponent = shifted & 0x0f800000;',
    'unsigned bits = shifted + 0x38000000;',
    'if (exponent == 0x0f800000) bits += 0x38000000;',
    'if (exponent == 0) bits = (unsigned)__float_as_int(__int_as_float((int)(bits + 0x00800000)) - 0x1p-14f);',
    'bits |= (unsigned)(x & 0x8000) << 16;',
    'if (bits << 1 > 0xff000000u) bits |= 0x00400000;',
    'return __int_as_float((int)bits);',
  ]);
}

/** Rounds by an addition: to the unit of subnormal halves, or by carry out of the bits that are cut. */
function toHalf(to: DType): Definition {
  if (to === 'bf16') {
    return castDefinition({ from: 'f32', to }, [
      'const unsigned bits = (unsigned)__float_as_int(x);',
      'if (x != x) return (bf16)((bits >> 16) | 0x40);',
      'return (bf16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);',
    ]);
  }
  return castDefinition({ from: 'f32', to }, [
    'const unsigned whole = (unsigned)__float_as_int(x), sign = (whole >> 16) & 0x8000, bits = whole & 0x7fffffff;',
    'if (bits > 0x7f800000) return (f16)(sign | 0x7e00 | ((bits >> 13) & 0x3ff));',
    'if (bits >= 0x477ff000) return (f16)(sign | 0x7c00);',
    'if (bits < 0x38800000)',
    '  return (f16)(sign | ((unsigned)__float_as_int(__int_as_float((int)bits) + 0.5f) - 0x3f000000));',
    'return (f16)(sign | ((bits + 0xc8000fffu + ((bits >> 13) & 1)) >> 13));',
  ]);
}

/** The same bits as another dtype of the same width. */
export function reinterpret(value: Expression, from: DType, to: DType): Expression {
  const call = bitFunctions[`${from} ${to}`];
  if (call !== undefined) return primary(`${call}(${value.text})`, value.needs);
  return compound(`(${to})${operand(value)}`, [...value.needs, elementDefinition(to)]);
}

const bitFunctions: Readonly<Partial<Record<string, string>>> = {
  'f32 i32': '__float_as_int',
  'i32 f32': '__int_as_float',
  'f64 i64': '__double_as_longlong',
  'i64 f64': '__longlong_as_double',
};
