// The public API of @tsinductor/runtime: re-exports only.
export { openBridge } from './bridge.ts';
export type { AddressableArray, Bridge, EntryId, NativeBlock, TableCounts } from './bridge.ts';
export { buildBridge, isBridgeBuilt } from './build-bridge.ts';
export type { BridgeBuildOptions } from './build-bridge.ts';
export { compileUnits, compileUnitsSync } from './compile-units.ts';
export type { BuildResult, CompileOptions, CompileUnit } from './compile-units.ts';
export { compileCuda, compileCudaSync, cudaFlags } from './compile-cuda.ts';
export type { CudaBuild, CudaCompileOptions, CudaSource } from './compile-cuda.ts';
export { findCudaToolkit, requireCudaToolkit } from './cuda-toolkit.ts';
export type { CudaToolkit, CudaToolkitOptions, CudaToolkitReport, SearchedToolkit } from './cuda-toolkit.ts';
export { parsePtxasFacts } from './ptxas-facts.ts';
export type { KernelFacts } from './ptxas-facts.ts';
export { CudaDevice, CudaEvent, CudaModule, deviceFacts } from './cuda-device.ts';
export type { DeviceFacts, KernelArgument, LaunchGeometry, Place } from './cuda-device.ts';
export { CudaDriver } from './cuda-driver.ts';
export type { CudaDriverOptions } from './cuda-driver.ts';
export { DeviceMemory, deviceSizeClass } from './cuda-memory.ts';
export type { DeviceBlock, DeviceMemoryStats } from './cuda-memory.ts';
export { cudaEmulationHeader } from './cuda-emulation.ts';
export { codeFlags, linkFlags } from './flags.ts';
export { limitEntries, machineLimitsUnit } from './machine-limits.ts';
export { cpuCaches } from './cpu-caches.ts';
export type { CpuCaches } from './cpu-caches.ts';
export { compileConcurrency, cpuCount, hostResources } from './host.ts';
export type { HostResources, ReadText } from './host.ts';
export { assertedIsa, probeIsa, scalarIsa } from './isa.ts';
export type { Isa, IsaReport, ProbedIsa, ProbeOptions } from './isa.ts';
export type { CandidateOrigin, LocateOptions } from './locate-compilers.ts';
export { createStoragePool, sizeClassOf } from './storage-pool.ts';
export type { Block, MemoryStats, StoragePool, StoragePoolOptions } from './storage-pool.ts';
export { Reclaimer } from './reclaimer.ts';
export { createWatcher } from './watcher.ts';
export type { Watcher, WatchListener } from './watcher.ts';
export { describePlace, findToolchain, requireToolchain, withFlags } from './toolchain.ts';
export type {
  CandidateOutcome,
  CompilerFamily,
  CompilerFingerprint,
  SearchedPlace,
  Toolchain,
  ToolchainOptions,
  ToolchainReport,
} from './toolchain.ts';
