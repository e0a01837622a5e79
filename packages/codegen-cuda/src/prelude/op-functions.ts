// The functions that the op table's `call` spellings name, as CUDA device functions on scalars. Each gives exactly the
// bits that the table's evaluators give: only correctly rounded or exact functions of CUDA occur, and integers wrap in
// unsigned arithmetic.
import { dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Definition } from '@tsinductor/codegen';
import { leastScale } from '@tsinductor/ops';
import type { PreludeName } from '@tsinductor/ops';
import { deviceFunction, elementDefinition, unsignedOf } from './scalar-types.ts';

type Body = (dtype: DType) => readonly string[];

/** A function of CUDA at a float: `floorf`. */
const cuda = (name: string, dtype: DType): string => `${name}${dtype === 'f32' ? 'f' : ''}`;

interface FloatLayout {
  readonly int: DType;
  readonly fraction: number;
  readonly bias: number;
  readonly suffix: string;
  readonly toBits: string;
  readonly fromBits: string;
  readonly infinity: string;
  /** The least normal number, and what lifts subnormal ones above it. */
  readonly normal: string;
  readonly lift: string;
  readonly lifted: number;
}

const layouts: Readonly<Record<'f32' | 'f64', FloatLayout>> = {
  f32: {
    int: 'i32',
    fraction: 23,
    bias: 127,
    suffix: '',
    toBits: '__float_as_int',
    fromBits: '__int_as_float',
    infinity: '__int_as_float(0x7f800000)',
    normal: '0x1p-126f',
    lift: '0x1p24f',
    lifted: 24,
  },
  f64: {
    int: 'i64',
    fraction: 52,
    bias: 1023,
    suffix: 'LL',
    toBits: '__double_as_longlong',
    fromBits: '__longlong_as_double',
    infinity: '__longlong_as_double(0x7ff0000000000000LL)',
    normal: '0x1p-1022',
    lift: '0x1p53',
    lifted: 53,
  },
};

const layoutOf = (dtype: DType): FloatLayout => layouts[dtype === 'f64' ? 'f64' : 'f32'];

/** `-x` without overflow. */
const negated = (dtype: DType, text: string): string => `(${dtype})(0 - (${unsignedOf(dtype).name})${text})`;

const extreme =
  (operator: string): Body =>
  () => [`return y ${operator} x ? y : x;`];

/** The same, but NaN of either wins. */
const extremeOrNaN =
  (operator: string): Body =>
  (dtype) =>
    isFloat(dtype) ? [`return y != y ? y : (y ${operator} x ? y : x);`] : [`return y ${operator} x ? y : x;`];

const absolute: Body = (dtype) => {
  if (isFloat(dtype)) return [`return ${cuda('fabs', dtype)}(x);`];
  return dtypeInfo[dtype].signed ? [`return x < 0 ? ${negated(dtype, 'x')} : x;`] : ['return x;'];
};

/** x 2^y. */
function scaled(dtype: DType): readonly string[] {
  const { int, fraction, bias, fromBits } = layoutOf(dtype);
  const power = (exponent: string): string =>
    `${fromBits}((${int})(${exponent} + ${String(bias)}) << ${String(fraction)})`;
  return [`const ${int} n = (${int})y, half = n >> 1;`, `return x * ${power('half')} * ${power('(n - half)')};`];
}

const scale: Body = (dtype) => ['if (y != y) return y;', ...scaled(dtype)];

const scaleOrZero: Body = (dtype) => {
  const least = dtype === 'f64' ? `${String(leastScale.f64)}.0` : `${String(leastScale.f32)}.0f`;
  return [`if (!(y >= ${least})) return y < ${least} ? 0 : y;`, ...scaled(dtype)];
};

const significand: Body = (dtype) => {
  const { int, fraction, bias, suffix, toBits, fromBits, infinity, normal, lift } = layoutOf(dtype);
  const one = 1n << BigInt(fraction);
  return [
    'if (x != x) return x;',
    `x = ${cuda('fabs', dtype)}(x);`,
    `if (x == 0 || x == ${infinity}) return 1;`,
    `if (x < ${normal}) x *= ${lift};`,
    `const ${int} bits = ${toBits}(x) & ${String(one - 1n)}${suffix};`,
    `const ${int} exponent = bits >= ${String(one >> 1n)}${suffix} ? ${String(bias - 1)} : ${String(bias)};`,
    `return ${fromBits}(bits | exponent << ${String(fraction)});`,
  ];
};

const exponent: Body = (dtype) => {
  const { int, fraction, bias, suffix, toBits, infinity, normal, lift, lifted } = layoutOf(dtype);
  const one = 1n << BigInt(fraction);
  return [
    'if (x != x) return x;',
    `x = ${cuda('fabs', dtype)}(x);`,
    `if (x == ${infinity}) return x;`,
    `if (x == 0) return -${infinity};`,
    `const bool subnormal = x < ${normal};`,
    `if (subnormal) x *= ${lift};`,
    `const ${int} bits = ${toBits}(x);`,
    `const ${int} upper = (bits & ${String(one - 1n)}${suffix}) >= ${String(one >> 1n)}${suffix};`,
    `return (${dtype})((bits >> ${String(fraction)}) - ${String(bias)} + upper - (subnormal ? ${String(lifted)} : 0));`,
  ];
};

/** Shifts outside [0, width) leave nothing, or the sign. */
const shift =
  (operator: '<<' | '>>'): Body =>
  (dtype) => {
    const { bytes, signed } = dtypeInfo[dtype];
    const inside = signed ? `y >= 0 && y < ${String(bytes * 8)}` : `y < ${String(bytes * 8)}`;
    if (operator === '<<') return [`return ${inside} ? (${dtype})((${unsignedOf(dtype).name})x << y) : 0;`];
    return [`return ${inside} ? (${dtype})(x >> y) : ${signed ? `(${dtype})(x >> ${String(bytes * 8 - 1)})` : '0'};`];
  };

const divide: Body = (dtype) => [
  'if (y == 0) return 0;',
  ...(dtypeInfo[dtype].signed ? [`if (y == -1) return ${negated(dtype, 'x')};`] : []),
  `return (${dtype})(x / y);`,
];

const remain: Body = (dtype) =>
  isFloat(dtype)
    ? [`return ${cuda('fmod', dtype)}(x, y);`]
    : [`if (y == 0${dtypeInfo[dtype].signed ? ' || y == -1' : ''}) return 0;`, `return (${dtype})(x % y);`];

const commonDivisor: Body = (dtype) => {
  const unsigned = unsignedOf(dtype).name;
  const magnitude = (name: string): string =>
    dtypeInfo[dtype].signed ? `${name} < 0 ? 0 - (${unsigned})${name} : (${unsigned})${name}` : name;
  return [
    `${unsigned} a = ${magnitude('x')}, b = ${magnitude('y')};`,
    'while (b != 0) {',
    `  const ${unsigned} rest = a % b;`,
    '  a = b;',
    '  b = rest;',
    '}',
    `return (${dtype})a;`,
  ];
};

const integerPower: Body = (dtype) => {
  const unsigned = unsignedOf(dtype).name;
  return [
    ...(dtypeInfo[dtype].signed
      ? [`if (y < 0) return x == 1 ? 1 : x == -1 ? (${dtype})((y & 1) != 0 ? -1 : 1) : 0;`]
      : []),
    `${unsigned} r = 1, b = (${unsigned})x;`,
    'for (; y != 0; y >>= 1, b *= b)',
    '  if ((y & 1) != 0) r *= b;',
    `return (${dtype})r;`,
  ];
};

const plain =
  (name: string): Body =>
  (dtype) => [`return ${cuda(name, dtype)}(x);`];

const bodies: Readonly<Record<Exclude<PreludeName, 'where_'>, Body>> = {
  abs_: absolute,
  max_: extremeOrNaN('>'),
  min_: extremeOrNaN('<'),
  atleast_: extreme('>'),
  atmost_: extreme('<'),
  sqrt_: (dtype) => [`return ${dtype === 'f32' ? '__fsqrt_rn' : '__dsqrt_rn'}(x);`],
  floor_: plain('floor'),
  ceil_: plain('ceil'),
  trunc_: plain('trunc'),
  round_: plain('rint'),
  copysign_: (dtype) => [`return ${cuda('copysign', dtype)}(x, y);`],
  fma_: (dtype) => [`return ${dtype === 'f32' ? '__fmaf_rn' : '__fma_rn'}(x, y, z);`],
  scalb_: scale,
  scalborzero_: scaleOrZero,
  exponent_: exponent,
  significand_: significand,
  div_: divide,
  rem_: remain,
  mulwords_: () => ['return (i64)((unsigned long long)(unsigned int)x * (unsigned int)y);'],
  shl_: shift('<<'),
  shr_: shift('>>'),
  gcd_: commonDivisor,
  pow_: integerPower,
};

/** The function of the prelude that `name` stands for at a dtype. */
export function opFunction(name: Exclude<PreludeName, 'where_'>, dtype: DType, arity: number): Definition {
  const parameters = ['x', 'y', 'z'].slice(0, arity).map((parameter) => `${dtype} ${parameter}`);
  const full = `${name}${dtype}`;
  const needs = [elementDefinition(dtype), isFloat(dtype) ? elementDefinition(layoutOf(dtype).int) : unsignedOf(dtype)];
  const signature = { returns: dtype, name: full, parameters: parameters.join(', ') };
  return { name: full, text: deviceFunction(signature, bodies[name](dtype)), needs };
}
