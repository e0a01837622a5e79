// What the settings say to the stages of the pipeline, in the words of each.
import type { Positions } from '@tsinductor/codegen';
import type { CpuTarget } from '@tsinductor/codegen-cpp';
import type { CudaTarget } from '@tsinductor/codegen-cuda';
import type { Config } from '@tsinductor/config';
import type { GraphPassName, OptimizeOptions } from '@tsinductor/graph';
import type { LoweringOptions } from '@tsinductor/lowering';
import type { NativeMachine } from './machine.ts';

/** What code is generated for, on a machine and under settings. */
export const targetOf = (machine: NativeMachine, config: Config): CpuTarget => ({
  isa: machine.isa,
  threads: machine.codeThreads,
  anyThreads: config.cpp.dynamicThreads,
  family: machine.family,
  caches: machine.caches,
  units: config.compileThreads,
  minChunk: config.cpp.minChunkSize,
  withoutRules: config.cpp.withoutTrafficRules,
  emptyLoops: !config.cpp.noRedundantLoops,
  decidesBounds: config.constantAndIndexPropagation,
  splitReductions: config.splitReductions,
  leastSplits: config.minNumSplit,
  sizeHints: config.multiKernelHints,
  positions: positionsOf(config),
});

/** What the settings say of the width of indices. */
const positionsOf = ({ assume32BitIndexing }: Config): Positions => (assume32BitIndexing ? 'assumed' : 'proven');

/** What the settings say of code for CUDA devices. */
export const cudaOptionsOf = (
  config: Config,
): Pick<CudaTarget, 'positions' | 'sizeHints' | 'matrix' | 'sharedLimit'> => {
  const { cutlassOpAllowlistRegex, cutlassOpDenylistRegex, cutlassBackendMinGemmSize, sharedMemoryLimit } = config.cuda;
  return {
    positions: positionsOf(config),
    sizeHints: config.multiKernelHints,
    matrix: {
      allow: cutlassOpAllowlistRegex ?? undefined,
      deny: cutlassOpDenylistRegex ?? undefined,
      leastVolume: cutlassBackendMinGemmSize,
    },
    ...(sharedMemoryLimit !== null && { sharedLimit: sharedMemoryLimit }),
  };
};

/** What the settings say of lowering. */
export const loweringOf = (config: Config): Omit<LoweringOptions, 'hasLanes'> => ({
  catInputs: config.forcePointwiseCat ? Infinity : config.maxPointwiseCatInputs,
  unrollBelow: config.unrollReductionsThreshold,
  checkIndices: config.assertIndirectIndexing,
  divideRows: config.conv1x1AsMm,
  channelsLast: !config.layoutOptimization ? 'never' : config.forceLayoutOptimization ? 'always' : 'whereItGains',
  keepOutputStrides: config.keepOutputStride,
});

/** Rows of this size leave the second-level cache before they are walked again. */
const LONG_ROW_BYTES = 1 << 20;

/** What the settings say of the passes that every graph of primitives goes through. */
export function optimizeOf({ useJointGraphPasses, jointGraphConstantFolding, useDce }: Config): OptimizeOptions {
  const without = new Set<GraphPassName>([
    ...(useJointGraphPasses ? [] : (['fold-constants', 'cancel-views', 'share-common'] as const)),
    ...(jointGraphConstantFolding ? [] : (['fold-constants'] as const)),
    ...(useDce ? [] : (['remove-dead'] as const)),
  ]);
  return without.size === 0 ? {} : { without };
}

/** Whether convolutions are computed with fewer multiplications. */
export const hasWinograd = ({ usePostGradPasses, patternMatcher, cpp }: Config): boolean =>
  usePostGradPasses && patternMatcher && cpp.winograd;

/** What the settings say of those that follow; `hasLanes`: for kernels in lanes. */
export function lateOf(config: Config, hasLanes: boolean): OptimizeOptions {
  if (!config.usePostGradPasses || !config.patternMatcher) return {};
  return {
    winograd: hasLanes && config.cpp.winograd,
    selectsForScatters: config.optimizeScatterUponConstTensor,
    ...(config.onlineSoftmax && { onlineSoftmax: { leastBytes: LONG_ROW_BYTES } }),
  };
}
