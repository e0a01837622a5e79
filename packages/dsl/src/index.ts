// The public API of @tsinductor/dsl: re-exports only.
export { defineKernel } from './define-kernel.ts';
export type { KernelDefinition } from './define-kernel.ts';
export type { Block, Language, Mask } from './language/signatures.ts';
export { coreLanguage, languageNames } from './language/table.ts';
export { lowerKernel } from './lower/lower-kernel.ts';
export type { ArgumentFacts } from './lower/lower-kernel.ts';
export type { AnyFunction, SourceStart } from './parse/kernel-source.ts';
export { cdiv, constexpr, isConstexpr, isPointer, nextPowerOf2, ptr } from './schema.ts';
export type {
  BodyArguments,
  Constexpr,
  LaunchArguments,
  MetaArguments,
  Pointer,
  Schema,
  SchemaEntry,
} from './schema.ts';
