// The sets of dtypes that entries name in `accepts`.
import type { DType } from '@tsinductor/base';

export const integers: readonly DType[] = ['i64', 'i32', 'i16', 'i8', 'u8'];
export const integersAndBool: readonly DType[] = [...integers, 'bool'];
export const floats: readonly DType[] = ['f64', 'f32', 'f16', 'bf16'];
/** All but bool. */
export const numbers: readonly DType[] = [...floats, ...integers];
