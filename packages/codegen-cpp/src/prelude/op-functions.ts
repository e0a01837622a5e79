// The functions that the op table's `call` spellings name, for C++ scalars and vectors. Each gives exactly the bits that
// the table's evaluators give. Where one x86 instruction is the function, inline asm says so: the compiler does not find
// it without -ffast-math.
import { dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Definition } from '@tsinductor/codegen';
import type { ValueType } from '@tsinductor/ir';
import type { PreludeName } from '@tsinductor/ops';
import type { Isa } from '../machine/isa.ts';
import { inlineFunction, registerBytes, typeDefinition, typeName } from './vector-types.ts';

interface OpFunction {
  readonly name: PreludeName;
  readonly type: ValueType;
  readonly isa: Isa;
}

/** A body in terms of x, y, z for a type; `vector` says whether it is one. */
type Body = (request: OpFunction, arity: number) => readonly string[];

const intOf = (dtype: DType): DType => (dtypeInfo[dtype].bytes === 8 ? 'i64' : 'i32');
const intType = ({ dtype, lanes }: ValueType): ValueType => ({ dtype: intOf(dtype), lanes });
const isVector = ({ type }: OpFunction): boolean => type.lanes > 1;

/** Whether one register of the ISA holds the type, so that asm can name it. */
const fillsRegister = ({ type, isa }: OpFunction): boolean => {
  const bytes = registerBytes(type);
  return (isa === 'avx512' && [16, 32, 64].includes(bytes)) || (isa === 'avx2' && [16, 32].includes(bytes));
};

const suffix = (dtype: DType): string => (dtype === 'f64' ? 'pd' : 'ps');
const constraint = (isa: Isa): string => (isa === 'avx512' ? 'v' : 'x');

/** r := instruction(x, y), operands in Intel's order of sources. */
const asmBinary = (
  { type, isa }: OpFunction,
  mnemonic: string,
  [x, y]: readonly [string, string],
): readonly string[] => {
  const c = constraint(isa);
  return [`${typeName(type)} r;`, `__asm__("${mnemonic} %2, %1, %0" : "=${c}"(r) : "${c}"(${x}), "${c}m"(${y}));`];
};

const asmUnary = ({ type, isa }: OpFunction, mnemonic: string, immediate?: number): readonly string[] => {
  const c = constraint(isa);
  const operand = immediate === undefined ? '' : `$${String(immediate)}, `;
  return [`${typeName(type)} r;`, `__asm__("${mnemonic} ${operand}%1, %0" : "=${c}"(r) : "${c}m"(x));`];
};

/** Lane by lane through the scalar function. */
const lanewise = (request: OpFunction, arity: number): readonly string[] => {
  const { type, name } = request;
  const args = ['x', 'y', 'z'].slice(0, arity).map((arg) => `${arg}[lane]`);
  return [
    `${typeName(type)} r;`,
    `for (int lane = 0; lane < ${String(type.lanes)}; ++lane) r[lane] = ${name}${type.dtype}(${args.join(', ')});`,
    'return r;',
  ];
};

const builtin = (name: string, dtype: DType): string => `__builtin_${name}${dtype === 'f32' ? 'f' : ''}`;

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

/** x with the bits that `mask` keeps, and so on: integers of the same width. */
const signMask = (dtype: DType): string => (dtype === 'f64' ? '0x7fffffffffffffffL' : '0x7fffffff');

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

/** The layout of a float: bits of the fraction, bias of the exponent. */
const layout = (dtype: DType): { fraction: number; bias: number; suffix: string } =>
  dtype === 'f64' ? { fraction: 52, bias: 1023, suffix: 'L' } : { fraction: 23, bias: 127, suffix: '' };

/** 1.5 times the unit of the fraction: added to an integral float below half of it, it puts the integer into the lowest bits. */
const magic = (dtype: DType): { readonly float: string; readonly bits: string } =>
  dtype === 'f64' ? { float: '0x1.8p52', bits: '0x4338000000000000L' } : { float: '0x1.8p23f', bits: '0x4b400000' };

const leastNormal = (dtype: DType): string => (dtype === 'f64' ? '0x1p-1022' : '0x1p-126f');
/** What makes every subnormal number normal. */
const raising = (dtype: DType): { readonly float: string; readonly exponent: number } =>
  dtype === 'f64' ? { float: '0x1p53', exponent: 53 } : { float: '0x1p24f', exponent: 24 };

const scale: Body = (request) => {
  const { type } = request;
  const { fraction, bias } = layout(type.dtype);
  if (isVector(request)) {
    if (request.isa === 'avx512' && fillsRegister(request))
      return [...asmBinary(request, `vscalef${suffix(type.dtype)}`, ['x', 'y']), 'return r;'];
    const [float, int] = [typeName(type), typeName(intType(type))];
    const power = (exponent: string): string => `(${float})((${exponent} + ${String(bias)}) << ${String(fraction)})`;
    return [
      `const ${int} n = (${int})(y + ${magic(type.dtype).float}) - ${magic(type.dtype).bits}, half = n >> 1;`,
      `const ${float} r = x * ${power('half')} * ${power('(n - half)')};`,
      'return y != y ? y : r;',
    ];
  }
  const int = intOf(type.dtype);
  const power = (exponent: string): string => `((${int})(${exponent} + ${String(bias)}) << ${String(fraction)})`;
  return [
    'if (y != y) return y;',
    `const ${int} n = (${int})y, half = n >> 1;`,
    `const ${int} a = ${power('half')}, b = ${power('(n - half)')};`,
    `${type.dtype} first, second;`,
    '__builtin_memcpy(&first, &a, sizeof first);',
    '__builtin_memcpy(&second, &b, sizeof second);',
    'return x * first * second;',
  ];
};

/** `magnitude` is |x|, `bits` those of |x| made normal, and `part` their fraction. */
function takenApart({ type }: OpFunction): readonly string[] {
  const { fraction, suffix: long } = layout(type.dtype);
  const [float, int] = [typeName(type), typeName(intType(type))];
  return [
    `const ${float} magnitude = (${float})((${int})x & ${signMask(type.dtype)});`,
    `const ${int} subnormal = magnitude < ${leastNormal(type.dtype)};`,
    `const ${int} bits = (${int})(subnormal ? magnitude * ${raising(type.dtype).float} : magnitude);`,
    `const ${int} part = bits & ${String((1n << BigInt(fraction)) - 1n)}${long};`,
  ];
}

const upperHalf = (dtype: DType): string => {
  const { fraction, suffix: long } = layout(dtype);
  return `(part >= ${String((1n << BigInt(fraction)) >> 1n)}${long})`;
};

const significand: Body = (request) => {
  const { type } = request;
  const { fraction, bias, suffix: long } = layout(type.dtype);
  const infinity = `${builtin('inf', type.dtype)}()`;
  if (isVector(request)) {
    if (request.isa === 'avx512' && fillsRegister(request))
      return [...asmUnary(request, `vgetmant${suffix(type.dtype)}`, 7), 'return r;'];
    const float = typeName(type);
    return [
      ...takenApart(request),
      // A comparison that holds is -1.
      `const ${float} r = (${float})(part | (${upperHalf(type.dtype)} + ${String(bias)}) << ${String(fraction)});`,
      `const ${float} finite = (magnitude == 0) | (magnitude == ${infinity}) ? ${float}{} + 1 : r;`,
      'return x != x ? x : finite;',
    ];
  }
  const int = intOf(type.dtype);
  const one = 1n << BigInt(fraction);
  return [
    'if (x != x) return x;',
    `x = ${builtin('fabs', type.dtype)}(x);`,
    `if (x == 0 || x == ${infinity}) return 1;`,
    `if (x < ${leastNormal(type.dtype)}) x *= ${raising(type.dtype).float};`,
    `${int} bits;`,
    '__builtin_memcpy(&bits, &x, sizeof bits);',
    `bits &= ${String(one - 1n)}${long};`,
    `bits |= (${int})(bits >= ${String(one >> 1n)}${long} ? ${String(bias - 1)} : ${String(bias)}) << ${String(fraction)};`,
    '__builtin_memcpy(&x, &bits, sizeof bits);',
    'return x;',
  ];
};

const exponent: Body = (request) => {
  const { type, isa } = request;
  const { fraction, bias, suffix: long } = layout(type.dtype);
  const infinity = `${builtin('inf', type.dtype)}()`;
  const raised = String(raising(type.dtype).exponent);
  if (isVector(request)) {
    const float = typeName(type);
    if (isa !== 'avx512' || !fillsRegister(request)) {
      const { float: shift, bits } = magic(type.dtype);
      return [
        ...takenApart(request),
        // A comparison that holds is -1.
        `const ${typeName(intType(type))} e = (bits >> ${String(fraction)}) - ${String(bias)} - ${upperHalf(type.dtype)} - (subnormal & ${raised});`,
        `const ${float} r = (${float})(e + ${bits}) - ${shift};`,
        `const ${float} finite = magnitude == 0 ? ${float}{} - ${infinity} : magnitude == ${infinity} ? magnitude : r;`,
        'return x != x ? x : finite;',
      ];
    }
    const p = suffix(type.dtype);
    return [
      `${float} e, m, f;`,
      `__asm__("vgetexp${p} %1, %0" : "=v"(e) : "v"(x));`,
      `__asm__("vgetmant${p} $7, %1, %0" : "=v"(m) : "v"(x));`,
      `__asm__("vgetexp${p} %1, %0" : "=v"(f) : "v"(m));`,
      'return e - f;',
    ];
  }
  const int = intOf(type.dtype);
  const one = 1n << BigInt(fraction);
  return [
    'if (x != x) return x;',
    `x = ${builtin('fabs', type.dtype)}(x);`,
    `if (x == ${infinity}) return x;`,
    `if (x == 0) return -${infinity};`,
    `const bool subnormal = x < ${leastNormal(type.dtype)};`,
    `if (subnormal) x *= ${raising(type.dtype).float};`,
    `${int} bits;`,
    '__builtin_memcpy(&bits, &x, sizeof bits);',
    `const ${int} upper = (bits & ${String(one - 1n)}${long}) >= ${String(one >> 1n)}${long};`,
    `return (${type.dtype})((bits >> ${String(fraction)}) - ${String(bias)} + upper - (subnormal ? ${raised} : 0));`,
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
    const inside = `(y >= 0) & (y < ${width})`;
    if (top !== undefined) return [`return x >> ((${inside}) ? y : (y - y + ${top}));`];
    return [`return (${inside}) ? (x ${operator} (y & ${String(dtypeInfo[type.dtype].bytes * 8 - 1)})) : (x - x);`];
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
