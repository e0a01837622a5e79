// All suites by name, in the order in which they run.
import { standardSizes } from './array-sizes.ts';
import type { ArraySizes } from './array-sizes.ts';
import type { Workload } from './workload.ts';
import { attentionWorkloads } from './suites/attention.ts';
import { callWorkloads } from './suites/call.ts';
import { choiceWorkloads } from './suites/choices.ts';
import { convWorkloads } from './suites/conv.ts';
import { gemmWorkloads } from './suites/gemm.ts';
import { kernelWorkloads } from './suites/kernels.ts';
import { memoryBoundWorkloads } from './suites/memory-bound.ts';
import { modelWorkloads } from './suites/models.ts';
import { paddingWorkloads } from './suites/padding.ts';
import { pointwiseWorkloads } from './suites/pointwise.ts';
import { sortingWorkloads } from './suites/sorting.ts';
import { trainWorkloads } from './suites/train.ts';
import { trainingWorkloads } from './suites/training.ts';

export const suitesOf = (sizes: ArraySizes): Readonly<Record<string, readonly Workload[]>> => ({
  pointwise: pointwiseWorkloads,
  'memory-bound': memoryBoundWorkloads(sizes),
  padding: paddingWorkloads,
  kernels: kernelWorkloads,
  gemm: gemmWorkloads,
  conv: convWorkloads,
  attention: attentionWorkloads,
  models: modelWorkloads,
  call: callWorkloads,
  train: trainWorkloads,
  training: trainingWorkloads,
  choices: choiceWorkloads,
  sorting: sortingWorkloads,
});

export const suites: Readonly<Record<string, readonly Workload[]>> = suitesOf(standardSizes);
