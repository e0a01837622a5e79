// tsinductor/dsl: hand-written kernels. Re-exports only.
export { doBench, Kernel, kernel } from '@tsinductor/compiler';
export type {
  AutotuneOptions,
  BenchOptions,
  GridLike,
  KernelInspection,
  KernelOptions,
  LaunchOptions,
  TunedKernel,
  TuningResult,
} from '@tsinductor/compiler';
export { cdiv, constexpr, nextPowerOf2, ptr } from '@tsinductor/dsl';
export type {
  Block,
  BodyArguments,
  Constexpr,
  Language,
  LaunchArguments,
  Mask,
  Pointer,
  Schema,
} from '@tsinductor/dsl';
export { bf16, bool, f16, f32, f64, i16, i32, i64, i8, u8 } from '@tsinductor/tensor';
