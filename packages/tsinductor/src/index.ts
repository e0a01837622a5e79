// tsinductor: what a user imports. Re-exports only.
//
// Operators are methods of tensors (`x.matmul(y)`) and functions (`matmul(x, y)`, `nn.functional.gelu(x)`); `docs/ops.md`
// lists them.
export { isTsInductorError, InternalError, ToolchainError, TsInductorError, UserError } from '@tsinductor/base';
export type { DType } from '@tsinductor/base';
export { compile, reset, setConfig } from '@tsinductor/compiler';
export type {
  Break,
  CacheInfo,
  CompiledFunction,
  CompiledMembers,
  CompileOptions,
  CustomBackend,
  Explanation,
  GraphReport,
  KernelReport,
  Mode,
} from '@tsinductor/compiler';
export type { Graph, GraphNode, Meta } from '@tsinductor/graph';
export * from '@tsinductor/tensor';
