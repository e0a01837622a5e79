// The functions that the op table's `call` spellings name, for C++ scalars and vectors. Each gives exactly the bits that
// the table's evaluators give. Where one x86 instruction is the function, inline asm says so: the compiler does not find
// it without -ffast-math.
import { dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Definition } from '@tsinductor/codegen';
import type { ValueType } from '@tsinductor/ir';
import type { PreludeName } from '@tsinductor/ops';
import { exponent, scale, scaleOrZero, significand } from './float-part-functions.ts';
import {
  asmBinary,
  asmUnary,
  builtin,
  constraint,
  fillsRegister,
  intOf,
  intType,
  isVector,
  lanewise,
  signMask,
  suffix,
} from './op-body.ts';
import type { Body, OpFunction } from './op-body.ts';
import { inlineFunction, registerBytes, typeDefinition, typeName } from './vector-types.ts';

/** maxps and its kin: `y > x ? y : x`. */
const extreme =
  (mnemonic: string, operator: string): Body =>
  (request) => {
    if (isVector(request) && isFloat(request.type.dtype) && fillsRegister(request))
      return [...asmBinary(request, `v${mnemonic}${suffix(request.type.dtype)}`, ['y', 'x']), 'return r;'];
    return [`return y ${operator} x ? y : x;`];
  };

/** The same, but NaN of either wins. */
const extremeOrNaN =
  (mnemonic: string, operator: string): Body =>
  (request, arity) => {
    if (!isFloat(request.type.dtype)) return [`return y ${operator} x ? y : x;`];
    if (isVector(request) && fillsRegister(request))
      return [...asmBinary(request, `v${mnemonic}${suffix(request.type.dtype)}`, ['y', 'x']), 'return y != y ? y : r;'];
    const plain = extreme(mnemonic, operator)(request, arity);
    if (isVector(request))
      return [`const ${typeName(request.type)} r = y ${operator} x ? y : x;`, 'return y != y ? y : r;'];
    return [`return y != y ? y : (y ${operator} x ? y : x);`, ...plain.slice(1)];
  };

/** vrndscale (AVX-512) or vround with an immediate; a builtin on scalars. */
const rounding =
  (name: string, immediate: number): Body =>
  (request, arity) => {
    const { type, isa } = request;
    if (!isVector(request)) return [`return ${builtin(name, type.dtype)}(x);`];
    if (!fillsRegister(request)) return lanewise(request, arity);
    const mnemonic = isa === 'avx512' ? 'vrndscale' : 'vround';
    return [...asmUnary(request, `${mnemonic}${suffix(type.dtype)}`, immediate), 'return r;'];
  };

const absolute: Body = (request) => {
  const { type } = request;
  if (!isFloat(type.dtype)) return [`return x < 0 ? ${narrowed(type, '-x')} : x;`];
  if (!isVector(request)) return [`return ${builtin('fabs', type.dtype)}(x);`];
  return [`return (${typeName(type)})((${typeName(intType(type))})x & ${signMask(type.dtype)});`];
};

const narrowed = (type: ValueType, text: string): string => (type.lanes === 1 ? `(${typeName(type)})(${text})` : text);

const copySign: Body = (request) => {
  const { type } = request;
  if (!isVector(request)) return [`return ${builtin('copysign', type.dtype)}(x, y);`];
  const int = typeName(intType(type));
  const mask = signMask(type.dtype);
  return [`return (${typeName(type)})(((${int})x & ${mask}) | ((${int})y & ~${mask}));`];
};

const fused: Body = (request, arity) => {
  const { type, isa } = request;
  if (!isVector(request)) return [`return ${builtin('fma', type.dtype)}(x, y, z);`];
  if (!fillsRegister(request)) return lanewise(request, arity);
  const p = suffix(type.dtype);
  const bytes = registerBytes(type);
  const call =
    bytes === 64
      ? `__builtin_ia32_vfmadd${p}512_mask(x, y, z, -1, 4)`
      : `__builtin_ia32_vfmadd${p}${bytes === 32 ? '256' : ''}(x, y, z)`;
  const c = constraint(isa);
  return [
    '#ifdef __clang__',
    `__asm__("vfmadd231${p} %2, %1, %0" : "+${c}"(z) : "${c}"(x), "${c}m"(y));`,
    'return z;',
    '#else',
    `return ${call};`,
    '#endif',
  ];
};

const squareRoot: Body = (request, arity) => {
  const { type } = request;
  if (!isVector(request)) return [`return ${builtin('sqrt', type.dtype)}(x);`];
  if (!fillsRegister(request)) return lanewise(request, arity);
  return [...asmUnary(request, `vsqrt${suffix(type.dtype)}`), 'return r;'];
};

const scalarOnly =
  (lines: (type: ValueType) => readonly string[]): Body =>
  (request, arity) =>
    isVector(request) ? lanewise(request, arity) : lines(request.type);

const widthOf = (dtype: DType): string => String(dtypeInfo[dtype].bytes * 8);

/** The 16-bit words that a vector of bytes is made of. */
const wordsOf = ({ lanes }: ValueType): ValueType => ({ dtype: 'i16', lanes: lanes / 2 });

/**
 * Bytes that are all shifted by one number, known where this is inlined: as words, of which what comes from the neighbour is masked. x86
 * shifts no bytes, and a compiler would take them one by one.
 */
function shiftedAlike(operator: '<<' | '>>', type: ValueType): readonly string[] {
  const isAlike = Array.from({ length: type.lanes - 1 }, (_, lane) => `y[0] == y[${String(lane + 1)}]`).join(' && ');
  const element = type.dtype === 'u8' ? 'unsigned char' : 'signed char';
  const words = `((${typeName(type)})((${typeName(wordsOf(type))})x ${operator} (y[0] & 7)) & (${element})(255 ${operator} (y[0] & 7)))`;
  const sign = `(${element})(128 >> (y[0] & 7))`;
  const isSigned = operator === '>>' && type.dtype === 'i8';
  return [
    `const bool isAlike = ${isAlike};`,
    'if (__builtin_constant_p(isAlike) && __builtin_constant_p(y[0]) && isAlike && y[0] >= 0 && y[0] < 8)',
    `  return ${isSigned ? `(${words} ^ ${sign}) - ${sign}` : words};`,
  ];
}

/** y in [0, width), as a lane mask or a bool; vectors of small elements compare in their own width. */
const shift =
  (operator: '<<' | '>>'): Body =>
  ({ type }) => {
    const width = widthOf(type.dtype);
    const name = typeName(type);
    const top = operator === '<<' || type.dtype === 'u8' ? undefined : String(dtypeInfo[type.dtype].bytes * 8 - 1);
    if (type.lanes === 1) {
      const outside = top === undefined ? '0' : `(${name})(x >> ${top})`;
      return [`return y >= 0 && y < ${width} ? (${name})(x ${operator} y) : ${outside};`];
    }
    const alike = dtypeInfo[type.dtype].bytes === 1 && type.lanes >= 4 ? shiftedAlike(operator, type) : [];
    const inside = `(y >= 0) & (y < ${width})`;
    if (top !== undefined) return [...alike, `return x >> ((${inside}) ? y : (y - y + ${top}));`];
    return [
      ...alike,
      `return (${inside}) ? (x ${operator} (y & ${String(dtypeInfo[type.dtype].bytes * 8 - 1)})) : (x - x);`,
    ];
  };

/** Products of lower halves: one instruction on x86, where a whole product of i64 is three or more. */
const multiplyWords: Body = (request) => {
  if (!isVector(request)) return ['return (i64)((unsigned long)(unsigned int)x * (unsigned int)y);'];
  if (fillsRegister(request)) return [...asmBinary(request, 'vpmuludq', ['x', 'y']), 'return r;'];
  return ['return (x & 0xffffffff) * (y & 0xffffffff);'];
};

const divide = scalarOnly((type) => [
  'if (y == 0) return 0;',
  ...(dtypeInfo[type.dtype].signed ? [`if (y == -1) return (${typeName(type)})-x;`] : []),
  `return (${typeName(type)})(x / y);`,
]);

const remain = scalarOnly((type) =>
  isFloat(type.dtype)
    ? [`return ${builtin('fmod', type.dtype)}(x, y);`]
    : [
        `if (y == 0${dtypeInfo[type.dtype].signed ? ' || y == -1' : ''}) return 0;`,
        `return (${typeName(type)})(x % y);`,
      ],
);

const commonDivisor = scalarOnly((type) => {
  const name = typeName(type);
  const unsigned = dtypeInfo[type.dtype].signed ? `unsigned ${type.dtype === 'i64' ? 'long' : 'int'}` : 'unsigned int';
  return [
    `${unsigned} a = x < 0 ? -(${unsigned})x : (${unsigned})x, b = y < 0 ? -(${unsigned})y : (${unsigned})y;`,
    `while (b != 0) { const ${unsigned} t = a % b; a = b; b = t; }`,
    `return (${name})a;`,
  ];
});

const integerPower = scalarOnly((type) => {
  const name = typeName(type);
  const negative = dtypeInfo[type.dtype].signed
    ? [`if (y < 0) return x == 1 ? 1 : x == -1 ? (${name})((y & 1) ? -1 : 1) : 0;`]
    : [];
  const wide = type.dtype === 'i64' ? 'unsigned long' : 'unsigned int';
  return [
    ...negative,
    `${wide} r = 1, b = (${wide})x;`,
    'for (; y != 0; y >>= 1, b *= b) if (y & 1) r *= b;',
    `return (${name})r;`,
  ];
});

const bodies: Readonly<Record<Exclude<PreludeName, 'where_'>, Body>> = {
  abs_: absolute,
  max_: extremeOrNaN('max', '>'),
  min_: extremeOrNaN('min', '<'),
  atleast_: extreme('max', '>'),
  atmost_: extreme('min', '<'),
  sqrt_: squareRoot,
  floor_: rounding('floor', 9),
  ceil_: rounding('ceil', 10),
  trunc_: rounding('trunc', 11),
  round_: rounding('rint', 8),
  copysign_: copySign,
  fma_: fused,
  scalb_: scale,
  scalborzero_: scaleOrZero,
  exponent_: exponent,
  significand_: significand,
  div_: divide,
  rem_: remain,
  mulwords_: multiplyWords,
  shl_: shift('<<'),
  shr_: shift('>>'),
  gcd_: commonDivisor,
  pow_: integerPower,
};

/** The function of the prelude that `name` stands for at a type. */
export function opFunction(
  request: OpFunction & { readonly name: Exclude<PreludeName, 'where_'> },
  arity: number,
): Definition {
  const { name, type } = request;
  const text = typeName(type);
  const parameters = ['x', 'y', 'z'].slice(0, arity).map((parameter) => `${text} ${parameter}`);
  const body = bodies[name](request, arity);
  const full = `${name}${text}`;
  const scalar = body.some((line) => line.includes(`${name}${type.dtype}(`)) && type.lanes > 1;
  const needs = [
    typeDefinition(type),
    ...((name === 'shl_' || name === 'shr_') && dtypeInfo[type.dtype].bytes === 1 && type.lanes >= 4
      ? [typeDefinition(wordsOf(type))]
      : []),
    ...(isFloat(type.dtype)
      ? [typeDefinition(intType(type)), typeDefinition({ dtype: intOf(type.dtype), lanes: 1 })]
      : []),
    ...(scalar ? [opFunction({ ...request, type: { ...type, lanes: 1 } }, arity)] : []),
  ];
  return {
    name: full,
    text: inlineFunction({ returns: text, name: full, parameters: parameters.join(', ') }, body),
    needs,
  };
}
