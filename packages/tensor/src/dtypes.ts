// The dtypes by name, for `x.to(f32)`.

export const f64 = 'f64' as const;
export const f32 = 'f32' as const;
export const f16 = 'f16' as const;
export const bf16 = 'bf16' as const;
export const i64 = 'i64' as const;
export const i32 = 'i32' as const;
export const i16 = 'i16' as const;
export const i8 = 'i8' as const;
export const u8 = 'u8' as const;
export const bool = 'bool' as const;
