// The public API of @tsinductor/dsl: re-exports only.
export { defineKernel } from './define-kernel.ts';
export type { DefineRequest, KernelDefinition } from './define-kernel.ts';
export { kernelErrorCodes } from './errors.ts';
export type { KernelErrorCode } from './errors.ts';
export { absentOperations } from './language/absent.ts';
export type { LanguageEntry } from './language/define.ts';
export type { Block, CoreLanguage, Language, Mask, Shape } from './language/signatures.ts';
export { coreLanguage, languageEntry, languageNames } from './language/table.ts';
export { lowerKernel } from './lower/lower-kernel.ts';
export type { ArgumentFacts, Specialisation } from './lower/lower-kernel.ts';
export { KernelSource } from './parse/kernel-source.ts';
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
