// The least and greatest values of a dtype: where searches for a maximum or minimum start.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { bits, literal } from '../term.ts';
import type { Term } from '../term.ts';

/** The lowest value: -Infinity at floats. */
export function lowest(dtype: DType): Term {
  const { category, signed, bytes } = dtypeInfo[dtype];
  if (category === 'float') return literal(-Infinity);
  return signed ? bits(dtype, `8${'0'.repeat(2 * bytes - 1)}`) : literal(0);
}

/** The highest value: Infinity at floats. */
export function highest(dtype: DType): Term {
  const { category, signed, bytes } = dtypeInfo[dtype];
  if (category === 'float') return literal(Infinity);
  if (category === 'bool') return literal(1);
  return bits(dtype, `${signed ? '7' : 'f'}${'f'.repeat(2 * bytes - 1)}`);
}
