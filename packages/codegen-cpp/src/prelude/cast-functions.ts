// Conversions between dtypes in registers. f16 and bf16 are bits there; rounding is to nearest, halves to even, and NaN
// stays a quiet NaN. Floats become integers as the op table's `castValue` says: by truncation, to the lowest integer where
// the value does not fit (which is what x86 does), and to narrow integers through i32.
import { dtypeInfo, isFloat, isInteger } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Definition } from '@tsinductor/codegen';
import type { ValueType } from '@tsinductor/ir';
import type { Isa } from '../machine/isa.ts';
import { inlineFunction, isBitsOnly, typeDefinition, typeName } from './vector-types.ts';

interface CastRequest {
  readonly from: ValueType;
  readonly to: ValueType;
  readonly isa: Isa;
}

const scalarOf = (type: ValueType): ValueType => ({ ...type, lanes: 1 });
const withDType = (type: ValueType, dtype: DType): ValueType => ({ ...type, dtype });

const functionName = ({ from, to }: CastRequest): string => `${typeName(to)}_from_${from.dtype}`;

/** The function for a conversion from or to f16 and bf16. */
function castFunction(request: CastRequest): Definition {
  const { from, to } = request;
  const name = functionName(request);
  const needs: Definition[] = [typeDefinition(from), typeDefinition(to)];
  const body = castBody(request, needs);
  const parameters = `${typeName(from)} x`;
  return { name, text: inlineFunction({ returns: typeName(to), name, parameters }, body), needs };
}

function castBody(request: CastRequest, needs: Definition[]): readonly string[] {
  const { from, to } = request;
  const through = (dtype: DType): readonly string[] => {
    const middle = withDType(from, dtype);
    needs.push(typeDefinition(middle));
    const first = conversion({ ...request, to: middle }, 'x', needs);
    return [`return ${conversion({ ...request, from: middle }, first, needs)};`];
  };
  if (isBitsOnly(from.dtype)) return to.dtype === 'f32' ? fromHalf(request, needs) : through('f32');
  return from.dtype === 'f32' ? toHalf(request, needs) : through('f32');
}

/** The text that converts `text`, by a function where it takes one. */
export function conversion(request: CastRequest, text: string, needs: Definition[]): string {
  const { from, to } = request;
  if (from.dtype === to.dtype) return text;
  if (isBitsOnly(from.dtype) || isBitsOnly(to.dtype)) {
    const definition = castFunction(request);
    needs.push(definition);
    return `${definition.name}(${text})`;
  }
  needs.push(typeDefinition(to));
  if (isNarrowInteger(from) && dtypeInfo[to.dtype].bytes >= 4) {
    const middle = withDType(from, 'i32');
    const wide = widened({ ...request, to: middle }, text, needs);
    return to.dtype === 'i32' ? wide : plainConversion({ ...request, from: middle }, wide);
  }
  if (!isFloat(from.dtype) || !isInteger(to.dtype)) return plainConversion(request, text);
  if (dtypeInfo[to.dtype].bytes >= 4) return truncation(request, text, needs);
  const middle = withDType(from, 'i32');
  needs.push(typeDefinition(middle));
  return plainConversion({ ...request, from: middle }, truncation({ ...request, to: middle }, text, needs));
}

const isNarrowInteger = ({ dtype, lanes }: ValueType): boolean =>
  lanes > 1 && dtype !== 'bool' && isInteger(dtype) && dtypeInfo[dtype].bytes < 4;

/** Vectors of bytes and half words as i32, by one instruction: compilers take what comes from memory apart, lane by lane. */
function widened(request: CastRequest, text: string, needs: Definition[]): string {
  const { from, to, isa } = request;
  needs.push(typeDefinition(to));
  const widths: Readonly<Record<string, string>> = { i8: 'sxbd', u8: 'zxbd', i16: 'sxwd' };
  const width = widths[from.dtype];
  const bytes = to.lanes * dtypeInfo[to.dtype].bytes;
  if (width === undefined || exactRegister[isa] < bytes || bytes < 32) return plainConversion(request, text);
  const name = `${typeName(to)}_widened_${from.dtype}`;
  const c = isa === 'avx512' ? 'v' : 'x';
  const body = [`${typeName(to)} r;`, `__asm__("vpmov${width} %1, %0" : "=${c}"(r) : "${c}m"(x));`, 'return r;'];
  const code = inlineFunction({ returns: typeName(to), name, parameters: `${typeName(from)} x` }, body);
  needs.push({ name, text: code, needs: [typeDefinition(from), typeDefinition(to)] });
  return `${name}(${text})`;
}

/** Bytes of the registers whose conversions give the lowest integer for what does not fit. */
const exactRegister: Readonly<Record<Isa, number>> = { avx512: 64, avx2: 32, neon: 0, scalar: 0 };

/**
 * A float as an i32 or i64. What does not fit is the lowest integer: x86 says so, elsewhere the text has to. To C++ such a
 * conversion is undefined, and a compiler that knows the value may make 0 of it: the empty `asm` keeps it from knowing.
 */
function truncation(request: CastRequest, text: string, needs: Definition[]): string {
  const { from, to, isa } = request;
  const isExact = from.lanes * dtypeInfo[from.dtype].bytes <= exactRegister[isa];
  const body = isExact
    ? ['asm("" : "+v"(x));', `return ${plainConversion(request, 'x')};`]
    : checkedTruncation(request);
  const name = `${typeName(to)}_truncated_${from.dtype}`;
  const code = inlineFunction({ returns: typeName(to), name, parameters: `${typeName(from)} x` }, body);
  needs.push({ name, text: code, needs: [typeDefinition(from), typeDefinition(to)] });
  return `${name}(${text})`;
}

function checkedTruncation({ from, to }: CastRequest): readonly string[] {
  const bits = dtypeInfo[to.dtype].bytes * 8 - 1;
  const [suffix, long] = [from.dtype === 'f64' ? '' : 'f', to.dtype === 'i64' ? 'L' : ''];
  const limit = `0x1p${String(bits)}${suffix}`;
  const lowest = `(-${String(2n ** BigInt(bits) - 1n)}${long} - 1)`;
  if (from.lanes === 1) return [`return x >= -${limit} && x < ${limit} ? (${typeName(to)})x : ${lowest};`];
  return [
    `const auto fits = (x >= -${limit}) & (x < ${limit});`,
    `const ${typeName(to)} lowest = ${typeName(to)}{} + ${lowest};`,
    `return __builtin_convertvector(fits, ${typeName(to)}) ? __builtin_convertvector(x, ${typeName(to)}) : lowest;`,
  ];
}

function plainConversion({ from, to }: CastRequest, text: string): string {
  const target = typeName(to);
  if (from.lanes === 1) {
    if (to.dtype === 'bool') return `(${text} != 0)`;
    return `(${target})${text}`;
  }
  if (to.dtype === 'bool') {
    return dtypeInfo[from.dtype].bytes === 4 ? `(${text} != 0)` : `__builtin_convertvector(${text} != 0, ${target})`;
  }
  if (from.dtype === 'bool')
    return to.dtype === 'i32' ? `(${text} & 1)` : `__builtin_convertvector(${text} & 1, ${target})`;
  return `__builtin_convertvector(${text}, ${target})`;
}

/** Whether one instruction takes so many halves, or gives them. */
const convertsHalves = (lanes: number, isa: Isa): boolean => lanes >= 4 && lanes * 4 <= exactRegister[isa];

const lanewise = ({ from, to }: CastRequest): readonly string[] => [
  `${typeName(to)} r;`,
  `for (int lane = 0; lane < ${String(from.lanes)}; ++lane) r[lane] = ${typeName(scalarOf(to))}_from_${from.dtype}(x[lane]);`,
  'return r;',
];

function fromHalf(request: CastRequest, needs: Definition[]): readonly string[] {
  const { from, to, isa } = request;
  const { lanes } = from;
  if (from.dtype === 'bf16') {
    if (lanes === 1) {
      return [
        'const unsigned bits = (unsigned)x << 16;',
        'f32 r;',
        '__builtin_memcpy(&r, &bits, sizeof r);',
        'return r;',
      ];
    }
    const bits = typeDefinition({ dtype: 'i32', lanes });
    needs.push(bits);
    if (isa === 'avx512' && lanes === 16)
      return [
        `${bits.name} r;`,
        '__asm__("vpmovzxwd %1, %0" : "=v"(r) : "vm"(x));',
        `return (${typeName(to)})(r << 16);`,
      ];
    return [`return (${typeName(to)})(__builtin_convertvector(x, ${bits.name}) << 16);`];
  }
  if (lanes === 1) {
    return [
      'const unsigned shifted = (unsigned)(x & 0x7fff) << 13, exponent = shifted & 0x0f800000;',
      'unsigned bits = shifted + 0x38000000;',
      'f32 r;',
      'if (exponent == 0x0f800000) bits += 0x38000000;',
      'if (exponent == 0) bits += 0x00800000;',
      '__builtin_memcpy(&r, &bits, sizeof r);',
      'if (exponent == 0) r -= 0x1p-14f;',
      '__builtin_memcpy(&bits, &r, sizeof r);',
      'bits |= (unsigned)(x & 0x8000) << 16;',
      'if (bits << 1 > 0xff000000u) bits |= 0x00400000;',
      '__builtin_memcpy(&r, &bits, sizeof r);',
      'return r;',
    ];
  }
  if (convertsHalves(lanes, isa)) {
    const c = isa === 'avx512' ? 'v' : 'x';
    return [`${typeName(to)} r;`, `__asm__("vcvtph2ps %1, %0" : "=${c}"(r) : "${c}m"(x));`, 'return r;'];
  }
  needs.push(castFunction({ ...request, from: scalarOf(from), to: scalarOf(to) }));
  return lanewise(request);
}

function toHalf(request: CastRequest, needs: Definition[]): readonly string[] {
  const { from, to, isa } = request;
  const { lanes } = from;
  if (to.dtype === 'bf16') return toBfloat(request, needs);
  if (lanes === 1) return scalarToHalf;
  if (convertsHalves(lanes, isa)) {
    const c = isa === 'avx512' ? 'v' : 'x';
    return [`${typeName(to)} r;`, `__asm__("vcvtps2ph $0, %1, %0" : "=${c}"(r) : "${c}"(x));`, 'return r;'];
  }
  needs.push(castFunction({ ...request, from: scalarOf(from), to: scalarOf(to) }));
  return lanewise(request);
}

function toBfloat({ from, to, isa }: CastRequest, needs: Definition[]): readonly string[] {
  const { lanes } = from;
  if (lanes === 1) return scalarToBfloat;
  const unsigned = `u32x${String(lanes)}`;
  const text = `typedef unsigned ${unsigned} __attribute__((vector_size(${String(lanes * 4)})));\n`;
  needs.push({ name: unsigned, text, needs: [] });
  const bits = `const ${unsigned} bits = (${unsigned})x;`;
  if (isa === 'avx512' && lanes === 16) return [bits, ...registerToBfloat];
  return [
    bits,
    `const ${unsigned} rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;`,
    `return __builtin_convertvector(x != x ? (bits >> 16) | 0x40 : rounded, ${typeName(to)});`,
  ];
}

/** Five instructions: `vfixupimmps` puts back what is NaN, quietly, and `vpermw` takes the upper halves. */
const registerToBfloat: readonly string[] = [
  'const u32x16 upper = {0x30001, 0x70005, 0xb0009, 0xf000d, 0x130011, 0x170015, 0x1b0019, 0x1f001d};',
  'unsigned short odd;',
  '__asm__("vptestmd %2, %1, %0" : "=Yk"(odd) : "v"(bits), "v"(u32x16{} + 0x10000));',
  'u32x16 rounded = bits + 0x7fff;',
  '__asm__("vpaddd %2, %1, %0%{%3%}" : "+v"(rounded) : "v"(bits), "v"(u32x16{} + 0x8000), "Yk"(odd));',
  '__asm__("vfixupimmps $0, %2, %1, %0" : "+v"(rounded) : "v"(x), "v"(u32x16{} + 0x22));',
  'bf16x16 r;',
  '__asm__("vpermw %1, %2, %g0" : "=v"(r) : "v"(rounded), "v"(upper));',
  'return r;',
];

const scalarToBfloat: readonly string[] = [
  'unsigned bits;',
  '__builtin_memcpy(&bits, &x, sizeof bits);',
  'if (x != x) return (bf16)((bits >> 16) | 0x40);',
  'return (bf16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);',
];

/** Rounds by an addition: to the unit of subnormal halves, or by carry out of the bits that are cut. */
const scalarToHalf: readonly string[] = [
  'unsigned bits;',
  '__builtin_memcpy(&bits, &x, sizeof bits);',
  'const unsigned sign = (bits >> 16) & 0x8000;',
  'bits &= 0x7fffffff;',
  'if (bits > 0x7f800000) return (f16)(sign | 0x7e00 | ((bits >> 13) & 0x3ff));',
  'if (bits >= 0x477ff000) return (f16)(sign | 0x7c00);',
  'if (bits < 0x38800000) {',
  '  f32 magnitude;',
  '  __builtin_memcpy(&magnitude, &bits, sizeof bits);',
  '  magnitude += 0.5f;',
  '  __builtin_memcpy(&bits, &magnitude, sizeof bits);',
  '  return (f16)(sign | (bits - 0x3f000000));',
  '}',
  'return (f16)(sign | ((bits + 0xc8000fffu + ((bits >> 13) & 1)) >> 13));',
];
