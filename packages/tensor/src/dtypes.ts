// The dtypes by name, for `x.to(f32)`.
import type { DType } from '@tsinductor/base';

export const f64: DType = 'f64';
export const f32: DType = 'f32';
export const f16: DType = 'f16';
export const bf16: DType = 'bf16';
export const i64: DType = 'i64';
export const i32: DType = 'i32';
export const i16: DType = 'i16';
export const i8: DType = 'i8';
export const u8: DType = 'u8';
export const bool: DType = 'bool';
