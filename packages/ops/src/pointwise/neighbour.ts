// The next representable value.
import type { DType } from '@tsinductor/base';
import { binary } from '../define.ts';
import type { Binary } from '../define.ts';
import { bitcast, bits } from '../term.ts';
import type { Term } from '../term.ts';
import { abs, add, copysign, sub } from './arithmetic.ts';
import { eq, gt, isnan, logicalOr, ne, where } from './comparison.ts';

/**
 * Of the bits as an integer, one step up is one value further from zero; `smallest` is the least positive value, whose bits
 * are the step.
 */
function step(x: Term, y: Term, smallest: Term): Term {
  const integer = smallest.kind === 'bits' && smallest.dtype === 'f64' ? 'i64' : 'i32';
  const floats: DType = integer === 'i64' ? 'f64' : 'f32';
  const [pattern, unit] = [bitcast(integer, abs(x)), bitcast(integer, smallest)];
  const isAway = ne(gt(x, y), gt(x, 0));
  const moved = bitcast(floats, where(isAway, add(pattern, unit), sub(pattern, unit)));
  const value = where(eq(x, 0), copysign(smallest, y), copysign(moved, x));
  return where(logicalOr(isnan(x), isnan(y)), NaN, where(eq(x, y), y, value));
}

export const nextafter: Binary = binary('nextafter', {
  doc: 'The representable value next to x in the direction of y.',
  rule: 'promote',
  exact: 'a step of the format itself',
  accepts: ['f64', 'f32'],
  standIns: { bf16: 'nextafterBfloat16' },
  traits: { cost: 10 },
  decompose: ({ x, y }, dtype) => step(x, y, bits(dtype, dtype === 'f64' ? '0000000000000001' : '00000001')),
  noGradient: 'it is a step of the format, not of a function',
});

export const nextafterBfloat16: Binary = binary('nextafterBfloat16', {
  doc: 'The bf16 value next to x in the direction of y, both being values of bf16.',
  rule: 'promote',
  accepts: ['f32', 'bf16'],
  internal: true,
  traits: { cost: 10 },
  decompose: ({ x, y }) => step(x, y, bits('f32', '00010000')),
});
