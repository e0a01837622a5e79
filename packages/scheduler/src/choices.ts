// What the scheduler prefers: when a value is computed again instead of stored, which legal groups are good ones, which
// independent groups share a kernel. Nothing here decides what is correct: whatever these functions answer, the schedule is
// legal. They are one small object, so that another cost model is another object of this type.
import type { Config } from '@tsinductor/config';
import type { Cluster } from './cluster.ts';
import { weighInlining } from './inline-policy.ts';
import type { Candidate, Verdict } from './inline-policy.ts';
import { mixedTilings, unprofitable } from './profit.ts';
import type { Stage } from './stages.ts';

/** Two clusters that would share a loop though neither uses what the other makes. */
interface Siblings {
  readonly nodes: number;
  /** Bytes that both read at the same points; Infinity where that depends on sizes. */
  readonly sharedBytes: number;
}

/** Groups that are independent of each other and would be one kernel. */
interface Combination {
  readonly buffers: number;
  /** Whether all compute the same, over other buffers or sizes. */
  readonly isAlike: boolean;
  readonly isOneSize: boolean;
  /** Whether sizes of some are known only when they run. */
  readonly isSymbolic: boolean;
}

/** Each function answers why not; undefined: it may be done. */
export interface Choices {
  /** Stands for the object in cache keys: two that choose differently have different names. */
  readonly name: string;
  /** Whether a value is computed inside its readers, where that is possible. */
  inline(candidate: Candidate): Verdict;
  /** Whether a legal group had better not be. */
  refuseGroup(cluster: Cluster, stages: readonly Stage[]): string | undefined;
  refuseSiblings(siblings: Siblings): string | undefined;
  refuseCombination(combination: Combination): string | undefined;
}

/** The choices that the settings describe. */
export const defaultChoices = (config: Config): Choices => ({
  name: 'default',
  inline: (candidate) =>
    weighInlining(candidate, {
      reads: config.realizeReadsThreshold,
      operations: config.realizeOpcountThreshold,
      gatheredReads: config.realizeAccReadsThreshold,
      gatheredBytes: config.realizeAccReadsSizeThreshold ?? Infinity,
    }),
  refuseGroup: (cluster, stages) =>
    unprofitable(cluster, stages, { mayWalkColumns: !config.triton.tilingPreventsReductionFusion }) ??
    (config.triton.tilingPreventsPointwiseFusion ? mixedTilings(cluster) : undefined),
  refuseSiblings: ({ nodes, sharedBytes }) => {
    const { maxHorizontalFusionSize } = config.cpp;
    if (nodes > maxHorizontalFusionSize)
      return `more than ${String(maxHorizontalFusionSize)} nodes would share a loop only for what they read`;
    const isWorthwhile = config.aggressiveFusion || sharedBytes >= config.scoreFusionMemoryThreshold;
    return isWorthwhile ? undefined : `they read only ${String(sharedBytes)} bytes in common`;
  },
  refuseCombination: ({ buffers, isAlike, isOneSize, isSymbolic }) => {
    if (buffers > config.comboKernelMaxNumArgs)
      return `the kernel would take more than ${String(config.comboKernelMaxNumArgs)} buffers`;
    if (!isAlike && !config.comboKernels) return 'they compute different things';
    if (isSymbolic && !config.comboKernelForeachDynamicShapes) return 'their sizes are symbolic';
    const mayMix = config.comboKernelAllowMixedSizes >= (isAlike ? 1 : 2);
    return isOneSize || mayMix ? undefined : 'their sizes differ';
  },
});
