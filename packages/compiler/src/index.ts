// The public API of @tsinductor/compiler: re-exports only.
export { compileGraphs } from './compile-graphs.ts';
export type { CompiledGraph } from './compile-graphs.ts';
export { compile } from './compile.ts';
export type { CompiledFunction, CompiledMembers } from './compile.ts';
export type { AnyFunction, CacheInfo } from './compiled-code.ts';
export { defaultSession, reset, setConfig } from './default-compiler.ts';
export type { Executable } from './executable.ts';
export { openMachine } from './machine.ts';
export type { InterpretingMachine, Machine, NativeMachine } from './machine.ts';
export type { CompileOptions, CustomBackend, Mode } from './options.ts';
export type { Break, Explanation, GraphReport, KernelReport } from './report.ts';
export { Session } from './session.ts';
export type { PrepareRequest, Voice } from './session.ts';
