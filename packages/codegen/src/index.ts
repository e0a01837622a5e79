// The public API of @tsinductor/codegen: re-exports only.
export { compound, Definitions, operand, primary } from './dialect.ts';
export type {
  AccessText,
  ApplyText,
  CheckText,
  Definition,
  Dialect,
  Expression,
  ParallelText,
  StoreValue,
  TransposeText,
} from './dialect.ts';
export { commentText, originText, safeName, snakeCase } from './names.ts';
export { printKernel } from './print-kernel.ts';
export type { PrintedKernel, PrintOptions } from './print-kernel.ts';
export { printScalarIndex } from './print-value.ts';
export type { ValueContext } from './print-value.ts';
