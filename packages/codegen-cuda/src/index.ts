// The public API of @tsinductor/codegen-cuda: re-exports only.
export { bindSchedule, generateCuda, generateCudaBatch } from './generate.ts';
export type { CudaArgument, CudaBatch, CudaKernel, CudaProgram } from './generate.ts';
export { kernelStages } from './kernel-stages.ts';
export { emulatedUnit, emulationFailed } from './emulated-unit.ts';
export type { Architecture, CudaTarget } from './target.ts';
export { refuseChain } from './strategy/attention/attention.ts';
export { generateCudaBlocks } from './block/generate-block.ts';
export type { BlockTarget } from './block/block-binder.ts';
