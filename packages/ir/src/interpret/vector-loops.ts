// What primitives compute, over whole vectors. Numbers of every dtype but i64 lie in Float64Arrays as exact values of
// their dtype, i64 in BigInt64Arrays. The loops of hot primitives are written out, found by how the op is spelled in
// C-like dialects (a prelude function has one meaning, see `preludeFunctions`); any other primitive goes through its
// evaluator. A test compares both.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { fma32, fma64, pointwise, primitive } from '@tsinductor/ops';
import type { PointwiseName, Spelling } from '@tsinductor/ops';

export type Vector = Float64Array | BigInt64Array;
/** Computes out[from .. to) from the operands' elements there. */
export type VectorLoop = (out: Vector, args: readonly Vector[], range: Range) => void;

export interface Range {
  from: number;
  to: number;
}

// Element reads are in bounds by construction: `+` and `!` would cost time here, so these loops say `as number`.
// Operands are parameters, not a record, so that a call allocates nothing.
/* eslint-disable @typescript-eslint/non-nullable-type-assertion-style, max-params -- hot loops: `as number` is free, a record of operands is not */

type Numbers = (o: Float64Array, a: Float64Array, b: Float64Array, range: Range) => void;
type Bigints = (o: BigInt64Array, a: BigInt64Array, b: BigInt64Array, range: Range) => void;

const f64Loops: Readonly<Record<string, Numbers>> = {
  '+': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = (a[k] as number) + (b[k] as number);
  },
  '-': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = (a[k] as number) - (b[k] as number);
  },
  '*': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = (a[k] as number) * (b[k] as number);
  },
  '/': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = (a[k] as number) / (b[k] as number);
  },
};

const f32Loops: Readonly<Record<string, Numbers>> = {
  '+': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = Math.fround((a[k] as number) + (b[k] as number));
  },
  '-': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = Math.fround((a[k] as number) - (b[k] as number));
  },
  '*': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = Math.fround((a[k] as number) * (b[k] as number));
  },
  '/': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = Math.fround((a[k] as number) / (b[k] as number));
  },
  sqrt_: (o, a, _b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = Math.fround(Math.sqrt(a[k] as number));
  },
};

/** Exact at every float dtype: no rounding. */
const floatLoops: Readonly<Record<string, Numbers>> = {
  'prefix -': (o, a, _b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = -(a[k] as number);
  },
  abs_: (o, a, _b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = Math.abs(a[k] as number);
  },
  floor_: (o, a, _b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = Math.floor(a[k] as number);
  },
  ceil_: (o, a, _b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = Math.ceil(a[k] as number);
  },
  trunc_: (o, a, _b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = Math.trunc(a[k] as number);
  },
  atleast_: (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = (b[k] as number) > (a[k] as number) ? (b[k] as number) : (a[k] as number);
  },
  atmost_: (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = (b[k] as number) < (a[k] as number) ? (b[k] as number) : (a[k] as number);
  },
};

/** The same at every number dtype. */
const numberLoops: Readonly<Record<string, Numbers>> = {
  '<': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = (a[k] as number) < (b[k] as number) ? 1 : 0;
  },
  '<=': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = (a[k] as number) <= (b[k] as number) ? 1 : 0;
  },
  '>': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = (a[k] as number) > (b[k] as number) ? 1 : 0;
  },
  '>=': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = (a[k] as number) >= (b[k] as number) ? 1 : 0;
  },
  '==': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = (a[k] as number) === (b[k] as number) ? 1 : 0;
  },
  '!=': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = (a[k] as number) !== (b[k] as number) ? 1 : 0;
  },
  '&': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = (a[k] as number) & (b[k] as number);
  },
  '|': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = (a[k] as number) | (b[k] as number);
  },
  '^': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = (a[k] as number) ^ (b[k] as number);
  },
  'prefix !': (o, a, _b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = 1 - (a[k] as number);
  },
  max_: (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) {
      const [x, y] = [a[k] as number, b[k] as number];
      o[k] = y !== y || y > x ? y : x;
    }
  },
  min_: (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) {
      const [x, y] = [a[k] as number, b[k] as number];
      o[k] = y !== y || y < x ? y : x;
    }
  },
};

const i32Loops: Readonly<Record<string, Numbers>> = {
  '+': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = ((a[k] as number) + (b[k] as number)) | 0;
  },
  '-': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = ((a[k] as number) - (b[k] as number)) | 0;
  },
  '*': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = Math.imul(a[k] as number, b[k] as number);
  },
};

const bigintLoops: Readonly<Record<string, Bigints>> = {
  '+': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = BigInt.asIntN(64, (a[k] as bigint) + (b[k] as bigint));
  },
  '-': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = BigInt.asIntN(64, (a[k] as bigint) - (b[k] as bigint));
  },
  '*': (o, a, b, { from, to }) => {
    for (let k = from; k < to; k += 1) o[k] = BigInt.asIntN(64, (a[k] as bigint) * (b[k] as bigint));
  },
};

/**
 * The product of two f32 is exact in double precision, so x * y + z is rounded twice. That differs from one rounding only
 * where the double lies half way between two f32, r and 2 s - r: there, the exact function decides.
 */
const fmaF32: VectorLoop = (out, args, { from, to }) => {
  const [a, b, c] = args as readonly [Float64Array, Float64Array, Float64Array];
  for (let k = from; k < to; k += 1) {
    const sum = (a[k] as number) * (b[k] as number) + (c[k] as number);
    const rounded = Math.fround(sum);
    const other = 2 * sum - rounded;
    const isHalfWay = rounded !== sum && Math.fround(other) === other;
    out[k] = isHalfWay ? fma32(a[k], b[k], c[k]) : rounded;
  }
};

const fmaF64: VectorLoop = (out, args, { from, to }) => {
  const [a, b, c] = args as readonly [Float64Array, Float64Array, Float64Array];
  for (let k = from; k < to; k += 1) out[k] = fma64(a[k], b[k], c[k]);
};

/** c ? a : b. */
const select: VectorLoop = (out, args, { from, to }) => {
  const [c, a, b] = args as readonly [Float64Array, Float64Array, Float64Array];
  for (let k = from; k < to; k += 1) out[k] = (c[k] as number) !== 0 ? (a[k] as number) : (b[k] as number);
};

const spelled = (c: Spelling | undefined): string =>
  c === undefined ? '' : c.kind === 'call' ? c.name : c.kind === 'prefix' ? `prefix ${c.operator}` : c.operator;

function writtenOut(name: string, dtype: DType): VectorLoop | undefined {
  if (dtype === 'i64') return asBigints(bigintLoops[name]);
  if (name === 'where_') return select;
  if (name === 'fma_' && isFloat(dtype)) return dtype === 'f32' ? fmaF32 : fmaF64;
  const rounded = dtype === 'f32' ? f32Loops[name] : dtype === 'f64' ? f64Loops[name] : undefined;
  const whole = dtype === 'i32' ? i32Loops[name] : isFloat(dtype) ? floatLoops[name] : undefined;
  return asLoop(rounded ?? whole ?? numberLoops[name]);
}

const asLoop = (loop: Numbers | undefined): VectorLoop | undefined =>
  loop &&
  ((out, args, range) => {
    const [a, b = a] = args as readonly [Float64Array, Float64Array?];
    loop(out as Float64Array, a, b, range);
  });

const asBigints = (loop: Bigints | undefined): VectorLoop | undefined =>
  loop &&
  ((out, args, range) => {
    const [a, b] = args as readonly [BigInt64Array, BigInt64Array];
    loop(out as BigInt64Array, a, b, range);
  });

/** The loop of a primitive op that computes in `dtype` (bigints at i64, where operands and result are i64). */
export function vectorLoop(op: PointwiseName, dtype: DType): VectorLoop {
  const entry = pointwise[op];
  return writtenOut(spelled(entry.c), dtype) ?? evaluatorLoop(op, dtype);
}

/** The loop through the op's evaluator. */
function evaluatorLoop(op: PointwiseName, dtype: DType): VectorLoop {
  const entry = pointwise[op];
  const run = primitive(entry, dtype) as (...operands: unknown[]) => number;
  if (entry.arity === 1) {
    return (out, [a], { from, to }) => {
      for (let k = from; k < to; k += 1) out[k] = run(a?.[k]);
    };
  }
  if (entry.arity === 2) {
    return (out, [a, b], { from, to }) => {
      for (let k = from; k < to; k += 1) out[k] = run(a?.[k], b?.[k]);
    };
  }
  return (out, [a, b, c], { from, to }) => {
    for (let k = from; k < to; k += 1) out[k] = run(a?.[k], b?.[k], c?.[k]);
  };
}
