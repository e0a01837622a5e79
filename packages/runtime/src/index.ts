// The public API of @tsinductor/runtime: re-exports only.
export { openBridge } from './bridge.ts';
export type { AddressableArray, Bridge, EntryId, NativeBlock, TableCounts } from './bridge.ts';
export { buildBridge } from './build-bridge.ts';
export type { BridgeBuildOptions } from './build-bridge.ts';
export { compileUnits, compileUnitsSync } from './compile-units.ts';
export type { BuildResult, CompileOptions, CompileUnit } from './compile-units.ts';
export { codeFlags, linkFlags } from './flags.ts';
export { compileConcurrency, cpuCount, hostResources } from './host.ts';
export type { HostResources, ReadText } from './host.ts';
export { cpuIdentity, probeIsa } from './isa.ts';
export type { Isa, IsaReport, ProbedIsa, ProbeOptions } from './isa.ts';
export type { CandidateOrigin, LocateOptions } from './locate-compilers.ts';
export { createStoragePool, sizeClassOf } from './storage-pool.ts';
export type { Block, MemoryStats, StoragePool, StoragePoolOptions } from './storage-pool.ts';
export { describePlace, findToolchain, requireToolchain } from './toolchain.ts';
export type {
  CandidateOutcome,
  CompilerFamily,
  CompilerFingerprint,
  SearchedPlace,
  Toolchain,
  ToolchainOptions,
  ToolchainReport,
} from './toolchain.ts';
