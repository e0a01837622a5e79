// Names of other systems for which there is no setting, and what there is instead.
import type { ExcusedName } from './known-name.ts';

export const otherwise: readonly ExcusedName[] = [
  {
    name: 'reorder_for_locality',
    says: 'The order of a graph says nothing of the order of its kernels: makers and users are joined where they can be, and kernels are ordered for the least memory (`reorderForPeakMemory`).',
  },
  {
    name: 'permute_fusion',
    env: ['TORCHINDUCTOR_PERMUTE_FUSION'],
    says: 'Products read transposed operands where they lie, and what transposes a result is a view of it: neither is a kernel that could be merged.',
  },
  {
    name: 'decompose_mem_bound_mm',
    says: 'A product has one form in a graph. How it is computed is decided when a kernel is made of it: one with few rows or columns is made of dot products, or a reduction, with what follows at its elements.',
  },
  {
    name: 'triton.autotune_at_compile_time',
    says: 'Graphs are always tuned while they are compiled, never by their first call.',
  },
  {
    name: 'can_inplace_pad_graph_input',
    says: "`inplacePadding` is for temporaries. What lies between the rows of an argument is the caller's, be it another tensor; and a result that lay in an argument's memory would change with it, which it does not in eager execution.",
  },
  {
    name: 'profile_bandwidth_with_do_bench_using_profiling',
    env: ['TORCHINDUCTOR_PROFILE_WITH_DO_BENCH_USING_PROFILING'],
    says: 'Clocks are in the entry, around each kernel: what JavaScript takes to call it is never in them. Kernels on CUDA devices have no clocks yet.',
  },
  {
    name: 'annotate_training',
    env: ['TORCHINDUCTOR_ANNOTATE_TRAINING'],
    says: "Compiled functions are not told whether they are a forward pass, a backward pass or an optimiser's step. `profilerMarkWrapperCall` marks the calls of each by its name.",
  },
  {
    name: 'trace.compile_profile',
    says: '`node --cpu-prof` profiles the compiler with the program, which it shares a thread with.',
  },
  {
    name: 'AIT_TIME_COMPILATION',
    env: ['AIT_TIME_COMPILATION'],
    says: '`explain` says how long each graph took to build. Node tells neither processor time nor memory of the compilers that it started.',
  },
  {
    name: 'EJKERNEL_OPS_STAMP',
    env: ['EJKERNEL_OPS_STAMP'],
    says: 'Kernels are called after their operators and a digest of what they compute, in the code, in `explain` and on the timeline (`cpp.enableKernelProfile`).',
  },
  {
    name: 'EJKERNEL_OPS_PREFIX',
    env: ['EJKERNEL_OPS_PREFIX'],
    says: 'As `EJKERNEL_OPS_STAMP`: there are no other labels to tell from.',
  },
  {
    name: '_save_config_ignore',
    says: 'A configuration is not written to a file by the program. The folders of `trace.enabled` have it as JSON, without the functions in it.',
  },
  {
    name: 'generate_intermediate_hooks',
    says: '`backend: "aot_eager"` gives what every node computes to compare with; the folders of `trace.enabled` have a graph that runs by itself.',
  },
];
