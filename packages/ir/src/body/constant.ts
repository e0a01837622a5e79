// Constants of bodies: between JavaScript values, their JSON form, and bits.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { lawBroken } from '../errors.ts';
import type { ScalarConstant } from '../scalar.ts';

/** What a constant may be made from. */
export type ConstantLike = ScalarConstant | bigint | boolean;

/** The value as interpreters use it: bigint at i64, number elsewhere. */
export function constantToValue(value: ConstantLike, dtype: DType): number | bigint {
  const plain = typeof value === 'object' ? BigInt(value.bigint) : typeof value === 'string' ? Number(value) : value;
  if (dtype !== 'i64') return Number(plain);
  if (typeof plain === 'number' && !Number.isInteger(plain)) throw lawBroken(String(plain), 'is not a constant of i64');
  return BigInt.asIntN(64, BigInt(plain));
}

/** The one JSON form of a constant: floats rounded to f32 where they are f32, i64 as digits, what JSON lacks by name. */
export function toConstant(value: ConstantLike, dtype: DType): ScalarConstant {
  const plain = constantToValue(value, dtype);
  if (typeof plain === 'bigint') return { bigint: String(plain) };
  if (dtypeInfo[dtype].category === 'bool') return plain === 0 ? 0 : 1;
  if (dtypeInfo[dtype].category === 'integer') return plain + 0;
  const rounded = dtype === 'f64' ? plain : Math.fround(plain);
  if (Object.is(rounded, -0)) return '-0';
  if (Number.isNaN(rounded)) return 'NaN';
  if (!Number.isFinite(rounded)) return rounded > 0 ? 'Infinity' : '-Infinity';
  return rounded;
}
