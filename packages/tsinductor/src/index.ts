// tsinductor: what a user imports. Re-exports only.
//
// Operators are methods of tensors (`x.matmul(y)`) and functions (`matmul(x, y)`, `nn.functional.gelu(x)`); `docs/ops.md`
// lists them.
export { isTsInductorError, InternalError, ToolchainError, TsInductorError, UserError } from '@tsinductor/base';
export type { DType } from '@tsinductor/base';
export {
  allowInGraph,
  checkOp,
  compile,
  disable,
  graphPass,
  loadCacheArtifacts,
  replacement,
  reset,
  saveCacheArtifacts,
  setConfig,
  setStance,
} from '@tsinductor/compiler';
export type {
  Backend,
  Break,
  CacheInfo,
  CheckName,
  CheckOptions,
  CheckReport,
  CheckVerdict,
  CompiledFunction,
  CompiledMembers,
  CompileOptions,
  CustomBackend,
  DisableOptions,
  Explanation,
  FunctionOptions,
  GraphPass,
  GraphReport,
  KernelReport,
  Mode,
  PassContext,
  PatternArguments,
  Replacement,
  ReplacementOptions,
  SavedArtifact,
  SavedArtifacts,
  Stance,
  StanceOptions,
} from '@tsinductor/compiler';
export type { Graph, GraphNode, Meta } from '@tsinductor/graph';
export * from '@tsinductor/tensor';
