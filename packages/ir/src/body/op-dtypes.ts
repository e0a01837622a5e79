// The dtypes of ops inside bodies, where operands were cast already: what an op computes in, and what it gives.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { PointwiseOp } from '@tsinductor/ops';
import { lawBroken } from '../errors.ts';

/** The dtype in which an op computes: that of its operands, the condition of a `select` apart. */
export function operandDType(entry: PointwiseOp, dtypes: readonly DType[]): DType {
  const values = entry.rule === 'select' ? dtypes.slice(1) : dtypes;
  const dtype = at(values, 0);
  const isTyped = values.every((other) => other === dtype) && (entry.rule !== 'select' || dtypes[0] === 'bool');
  if (!isTyped) throw lawBroken(`${entry.name}(${dtypes.join(', ')})`, 'operands must have one dtype');
  if (dtypeInfo[dtype].compute !== dtype)
    throw lawBroken(`${entry.name}(${dtypes.join(', ')})`, `${dtype} is not computed in`);
  return dtype;
}

const mantissa: Partial<Record<DType, number>> = { f64: 53, f32: 24, f16: 11, bf16: 8 };

/** Whether every value of `from` is one of `to`, so that casting there and back changes nothing. */
export function isExactCast(from: DType, to: DType): boolean {
  const [source, target] = [dtypeInfo[from], dtypeInfo[to]];
  if (from === 'bool') return true;
  if (to === 'bool') return false;
  if (source.category === 'float')
    return target.category === 'float' && (to === 'f64' || (to === 'f32' && target.bytes > source.bytes));
  const bits = source.bytes * 8 - (source.signed ? 1 : 0);
  if (target.category === 'float') return bits <= (mantissa[to] ?? 0) && to !== 'f16';
  return target.signed && target.bytes > source.bytes;
}
