// How primitives are spelled in C-like dialects, and the specification of the few functions that a dialect's prelude
// must provide: for scalars and, where the dialect has them, for vectors. Each is exact: one rounding at most, so that
// every dialect gives the bits that `evaluate` gives. Integer arithmetic wraps in all of them, and in the infix operators
// too (C++ needs -fwrapv or unsigned arithmetic; results of i8, i16 and u8 arithmetic are cut back to their width).
import type { DType } from '@tsinductor/base';
import type { Spelling } from './define.ts';

/** Binding strength of infix operators in C: a higher level binds tighter. */
export const levels = {
  bitOr: 6,
  bitXor: 7,
  bitAnd: 8,
  equal: 9,
  compare: 10,
  shift: 11,
  add: 12,
  multiply: 13,
  prefix: 14,
  call: 15,
} as const;

export const infix = (operator: string, level: number): Spelling => ({ kind: 'infix', operator, level });
export const prefix = (operator: string): Spelling => ({ kind: 'prefix', operator });

const floats: readonly DType[] = ['f32', 'f64'];
const integers: readonly DType[] = ['i64', 'i32', 'i16', 'i8', 'u8'];
const numbers: readonly DType[] = [...floats, ...integers];

interface PreludeFunction {
  readonly arity: 1 | 2 | 3;
  /** Compute dtypes at which the function must exist: arguments and result have the dtype. */
  readonly dtypes: readonly DType[];
  readonly doc: string;
}

export type PreludeName =
  | 'abs_'
  | 'max_'
  | 'min_'
  | 'atleast_'
  | 'atmost_'
  | 'sqrt_'
  | 'floor_'
  | 'ceil_'
  | 'trunc_'
  | 'round_'
  | 'copysign_'
  | 'fma_'
  | 'scalb_'
  | 'scalborzero_'
  | 'exponent_'
  | 'significand_'
  | 'where_'
  | 'div_'
  | 'rem_'
  | 'mulwords_'
  | 'shl_'
  | 'shr_'
  | 'gcd_'
  | 'pow_';

/** Every function that a `call` spelling may name. */
export const preludeFunctions: Readonly<Record<PreludeName, PreludeFunction>> = {
  abs_: { arity: 1, dtypes: [...floats, 'i64', 'i32', 'i16', 'i8'], doc: 'Absolute value; the lowest integer stays.' },
  max_: {
    arity: 2,
    dtypes: numbers,
    doc: 'y != y ? y : (y > x ? y : x): NaN of either wins; x where both are zeros. x86: maxps(y, x), then a blend.',
  },
  min_: {
    arity: 2,
    dtypes: numbers,
    doc: 'y != y ? y : (y < x ? y : x): NaN of either wins; x where both are zeros. x86: minps(y, x), then a blend.',
  },
  atleast_: {
    arity: 2,
    dtypes: floats,
    doc: 'y > x ? y : x: NaN of x comes through, NaN of y gives x. x86: the one instruction maxps(y, x).',
  },
  atmost_: {
    arity: 2,
    dtypes: floats,
    doc: 'y < x ? y : x: NaN of x comes through, NaN of y gives x. x86: the one instruction minps(y, x).',
  },
  sqrt_: { arity: 1, dtypes: floats, doc: 'Square root, correctly rounded.' },
  floor_: { arity: 1, dtypes: floats, doc: 'Largest integral value not above x; keeps -0.' },
  ceil_: { arity: 1, dtypes: floats, doc: 'Smallest integral value not below x; keeps -0.' },
  trunc_: { arity: 1, dtypes: floats, doc: 'Integral part; keeps the sign of zero.' },
  round_: { arity: 1, dtypes: floats, doc: 'Nearest integral value, halves to even; keeps the sign of zero.' },
  copysign_: { arity: 2, dtypes: floats, doc: 'Magnitude bits of x with the sign bit of y.' },
  fma_: { arity: 3, dtypes: floats, doc: 'x * y + z with one rounding.' },
  scalb_: {
    arity: 2,
    dtypes: floats,
    doc:
      'x * 2^y with one rounding, where y is integral. Callers keep to |y| <= 252 at f32, 2040 at f64, and to x for which ' +
      'the first of two multiplications, by 2^(y >> 1) and by 2^(y - (y >> 1)), is exact: so these two round once. ' +
      'A NaN of either gives NaN. x86: vscalefps.',
  },
  scalborzero_: {
    arity: 2,
    dtypes: floats,
    doc:
      '0 where y < -150 at f32, -1075 at f64, whatever x is; else x * 2^y with one rounding, where callers keep to what ' +
      'scalb_ asks for. y is NaN only where x is, and the result is. Processors take a hundred cycles for a product that ' +
      'underflows: nothing does below the limit. x86: vscalefps under a mask.',
  },
  exponent_: {
    arity: 1,
    dtypes: floats,
    doc:
      'The e, as a float, for which |x| = significand_(x) * 2^e; -inf at 0, +inf at infinities, NaN at NaN. ' +
      'x86: vgetexpps(x) - vgetexpps(significand_(x)).',
  },
  significand_: {
    arity: 1,
    dtypes: floats,
    doc:
      'The m in [0.75, 1.5) for which |x| = m * 2^e with an integer e, also for subnormal x; 1 at 0 and infinities, ' +
      'NaN at NaN. x86: vgetmantps with the interval [3/4, 3/2) and a positive sign (immediate 7).',
  },
  where_: { arity: 3, dtypes: numbers, doc: 'x ? y : z, where x is bool and y, z have the dtype.' },
  div_: { arity: 2, dtypes: integers, doc: 'Quotient truncated towards zero; x / 0 is 0; lowest / -1 wraps.' },
  rem_: {
    arity: 2,
    dtypes: numbers,
    doc: 'Remainder with the sign of x: on floats the exact fmod of C; on integers x % y, where x % 0 is 0.',
  },
  mulwords_: {
    arity: 2,
    dtypes: ['i64'],
    doc: 'The product of the lower 32 bits of x and y as unsigned numbers, as 64 bits. x86: vpmuludq.',
  },
  shl_: { arity: 2, dtypes: integers, doc: 'x << y, bits shifted out are lost; 0 where y is not in [0, width).' },
  shr_: {
    arity: 2,
    dtypes: integers,
    doc: 'x >> y (arithmetic; u8 fills with 0); as by width - 1 (u8: 0) where y is not in [0, width).',
  },
  gcd_: {
    arity: 2,
    dtypes: integers,
    doc: 'Greatest common divisor of the absolute values (wrapping); gcd(0, 0) is 0.',
  },
  pow_: {
    arity: 2,
    dtypes: integers,
    doc: 'x to the power of y by wrapping multiplication; y < 0: 1 at x = 1, 1 or -1 by parity at x = -1, else 0.',
  },
};

export const prelude = (name: PreludeName): Spelling => ({ kind: 'call', name });
