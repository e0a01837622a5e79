// Names of other systems for which there is no setting, because there is no second way to choose.
import type { ExcusedName } from './known-name.ts';

export const oneWay: readonly ExcusedName[] = [
  {
    name: 'fallback_random',
    says: 'Compiled and eager execution draw the same numbers always: by seed, call and element.',
  },
  {
    name: 'fallback_by_default',
    says: 'There is no other implementation of operators to fall back to: eager execution interprets the loops that are compiled. `disable` keeps a part of a program out of compilation.',
  },
  {
    name: 'selective_decompose',
    says: 'As `fallback_by_default`: composites are their primitives in eager execution too.',
  },
  {
    name: 'cpp.fallback_scatter_reduce_sum',
    env: ['TORCHINDUCTOR_CPP_FALLBACK_SCATTER_REDUCE_SUM'],
    says: 'There is no library kernel to fall back to, and no atomic sum to avoid: each thread owns the rows that it adds to, in their order, so that results do not depend on threads.',
  },
  {
    name: 'assume_unaligned_fallback_output',
    env: ['TORCHINDUCTOR_ASSUME_UNALIGNED_FALLBACK_OUTPUT'],
    says: 'C++ assumes the alignment of one element of whatever it reads; on CUDA what is not aligned is copied for the call.',
  },
  {
    name: 'graph_partition',
    env: ['TORCHINDUCTOR_GRAPH_PARTITION'],
    says: 'A graph is cut where an op runs on the host, because it cannot run otherwise. Launches are not captured, so that nothing else cannot be.',
  },
  {
    name: 'custom_should_partition_ops',
    says: "As `graph_partition`: no op that is compiled has to stand alone. An op of the user's without a lowering is cut out always.",
  },
  {
    name: 'estimate_op_runtime',
    says: 'Nothing is ordered by estimates of time. Kernels run one after another, and decisions that time matters for are measured (`benchmarkFusion`, `benchmarkComboKernel`) or counted in bytes, which `explain` shows.',
  },
  { name: 'runtime_estimations_mms_benchmark', says: 'As `estimate_op_runtime`.' },
  {
    name: 'AIT_MULTISTREAM_MODE',
    env: ['AIT_MULTISTREAM_MODE'],
    says: 'Kernels of a graph run one after another, each on all threads or multiprocessors. Small independent ones share a kernel, which saves their launches too (`comboKernels`).',
  },
  {
    name: 'AIT_MULTISTREAM_EXTRA_STREAMS',
    env: ['AIT_MULTISTREAM_EXTRA_STREAMS'],
    says: 'As `AIT_MULTISTREAM_MODE`: a device has one stream, in whose order everything happens.',
  },
  {
    name: 'AIT_MULTISTREAM_MAX_MEM_PARALLEL_OPS',
    env: ['AIT_MULTISTREAM_MAX_MEM_PARALLEL_OPS'],
    says: 'As `AIT_MULTISTREAM_MODE`: no two kernels run at a time, so that none has to keep its memory from another.',
  },
  {
    name: 'TF_GPU_ALLOCATOR',
    env: ['TF_GPU_ALLOCATOR'],
    says: "Device memory has one allocator. It keeps what it got from the driver and asks again only to grow, so that the driver's stream-ordered pool would be asked as seldom.",
  },
  {
    name: 'cpp_wrapper',
    env: ['TORCHINDUCTOR_CPP_WRAPPER'],
    says: 'There is no other wrapper: what allocates nothing and calls the kernels of a graph is one native entry always, called once.',
  },
  {
    name: 'cpp_wrapper_build_separate',
    env: ['TORCHINDUCTOR_CPP_WRAPPER_BUILD_SEPARATE'],
    says: 'The entry is some lines at the end of the last unit. Kernels are spread over as many units as compilers may run at once (`compileThreads`).',
  },
  {
    name: 'cpp_cache_precompile_headers',
    says: 'Generated C++ includes no header: a unit has the few functions that its kernels use, and parsing them is not what takes time.',
  },
  {
    name: 'cpu_backend',
    says: "A back end of the program's own is given to `compile` as its `backend`, a function of the graph.",
  },
  {
    name: 'deterministic',
    env: ['TORCHINDUCTOR_DETERMINISTIC'],
    says: 'Results are the same bits at every run with the same threads on the same machine. A clock decides nothing unless `maxAutotune`, `maxAutotuneGemm`, `maxAutotunePointwise`, `benchmarkFusion`, `benchmarkComboKernel` or `autotune` asks for it.',
  },
  {
    name: 'autotune_in_subproc',
    env: ['TORCHINDUCTOR_AUTOTUNE_IN_SUBPROC'],
    says: 'What `maxAutotuneGemm` times runs in a process of its own always: one that crashes, or takes too long, is out of the question.',
  },
  {
    name: 'bundle_triton_into_fx_graph_cache',
    env: ['TORCHINDUCTOR_BUNDLE_TRITON_INTO_FX_GRAPH_CACHE'],
    says: 'An entry of the cache is whole: library, plan and source of a graph, or cubin, PTX and facts of a kernel.',
  },
  { name: 'ALLOW_FULL_CACHE', env: ['ALLOW_FULL_CACHE'], says: 'As `bundle_triton_into_fx_graph_cache`.' },
  {
    name: 'enable_caching_generated_triton_templates',
    says: 'A text is generated once always: groups of a graph that are equal but for their buffers are one kernel, and a graph that was compiled before is found by itself.',
  },
  {
    name: 'unsafe_skip_cache_dynamic_shape_guards',
    says: 'No entry on disk has guards: it is found by the graph itself, symbolic sizes and all. Guards stand before it, in memory.',
  },
  {
    name: 'unsafe_marked_cacheable_functions',
    says: 'Graphs around calls of the host are cached always: such a call is between two graphs, each under its own key, and is made at every call.',
  },
  {
    name: '_cache_config_ignore_prefix',
    says: 'The row of a setting says whether it is part of cache keys (`affects`), and a test holds it to that.',
  },
  {
    name: 'fx_wrapper',
    env: ['TORCHINDUCTOR_FX_WRAPPER'],
    says: 'The wrapper is data always: a plan beside the library, which is read and not run.',
  },
  {
    name: 'emulate_divison_rounding',
    env: ['TORCHINDUCTOR_EMULATE_DIVISION_ROUNDING'],
    says: "Division on CUDA devices is rounded correctly always (nvcc's -prec-div), so that both targets agree bit for bit.",
  },
  {
    name: 'use_static_cuda_launcher',
    env: ['TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER'],
    says: 'What a launch passes is laid out when a kernel is compiled, for generated and for hand-written kernels: there is no other launcher.',
  },
  {
    name: 'strict_static_cuda_launcher',
    env: ['TORCHINDUCTOR_STRICT_STATIC_CUDA_LAUNCHER'],
    says: 'As `use_static_cuda_launcher`: there is nothing to fall back to.',
  },
  {
    name: 'static_launch_user_defined_triton_kernels',
    env: ['TORCHINDUCTOR_STATIC_LAUNCH_USER_DEFINED_TRITON_KERNELS'],
    says: 'As `use_static_cuda_launcher`: there is nothing to fall back to.',
  },
  {
    name: 'enable_auto_functionalized_v2',
    env: ['TORCHDYNAMO_AUTO_FUNCTIONALIZED_V2'],
    says: 'A kernel writes to memory itself, and so does a custom op that writes to several views of one tensor, between two segments of the function: nothing is cloned.',
  },
  { name: 'cuda_backend', says: 'As `cpu_backend`.' },
  {
    name: 'AIT_USE_TANH_FOR_SIGMOID',
    env: ['AIT_USE_TANH_FOR_SIGMOID'],
    says: 'Every operator has one definition, which interpreter, C++ and CUDA share bit for bit.',
  },
  {
    name: 'triton.dense_indexing',
    says: 'Loops are bound to threads directly: no code in the kernel language is generated, so that there is no choice of its forms.',
  },
  {
    name: 'triton.use_block_ptr',
    says: 'Loops are bound to threads directly: no code in the kernel language is generated, so that there is no choice of its forms.',
  },
  {
    name: 'use_experimental_benchmarker',
    env: ['TORCHINDUCTOR_USE_EXPERIMENTAL_BENCHMARKER'],
    says: 'There is one timer, which estimates first and repeats within a budget (`doBench`).',
  },
  {
    name: 'EASYDEL_AUTO',
    env: ['EASYDEL_AUTO'],
    says: 'Nothing is written to the environment at import, and no default depends on who starts the process.',
  },
  {
    name: 'JAX_PLATFORMS',
    env: ['JAX_PLATFORMS'],
    says: 'A tensor says which device it is on. Workers run compilers alone, and never load a driver.',
  },
  {
    name: 'developer_warnings',
    says: 'There are no warnings for those who work on the compiler alone: what was decided is in `explain()`, and `debug` prints it.',
  },
  { name: 'is_nightly_or_source', says: 'As `developer_warnings`, of which it is the default.' },
  {
    name: 'comment_origin',
    says: 'Every statement of generated code names the lines of the program that it comes from, always; keys of the cache leave them out.',
  },
  {
    name: 'debug_ir_traceback',
    says: 'Every node has the file and line of its call always, in graphs, loops, kernels and errors.',
  },
  {
    name: 'debug_index_asserts',
    says: 'Indices are checked as `assertIndirectIndexing` says. Those that operators compute from sizes are proved, and `verify` runs the proofs.',
  },
  {
    name: 'cuda.compile_opt_level',
    says: 'CUDA code has no host code to optimise: kernels are launched through the driver.',
  },
  {
    name: 'alignment_asserts',
    env: ['TORCHINDUCTOR_ALIGNMENT_ASSERTS'],
    says: 'Code for the CPU relies on no alignment but that of an element, which every tensor has; on CUDA devices what is not aligned is copied for the call.',
  },
  {
    name: 'assume_aligned_inputs',
    says: 'As `alignment_asserts`: code for CUDA devices relies on aligned inputs always.',
  },
  {
    name: 'COMBINE_PROFILER_MULTI_SOURCES',
    env: ['COMBINE_PROFILER_MULTI_SOURCES'],
    says: 'All candidates of a product are one library always: those that come to the same kernel are in it once, and units are compiled in parallel.',
  },
  {
    name: 'FORCE_ONE_PROFILER_SOURCE_PER_TARGET',
    env: ['FORCE_ONE_PROFILER_SOURCE_PER_TARGET'],
    says: 'As `COMBINE_PROFILER_MULTI_SOURCES`.',
  },
  {
    name: 'max_epilogue_benchmarked_choices',
    says: 'What follows a product is decided before its candidates are (`benchmarkEpilogueFusion`), and each of them is timed with it.',
  },
  {
    name: 'max_autotune_allow_flexible_layouts',
    says: 'Tuning decides no layouts: operands are read where they lie, and packed by the kernel where a candidate wants them so.',
  },
  {
    name: 'max_autotune_prune_choices_based_on_shared_mem',
    env: ['TORCHINDUCTOR_MAX_AUTOTUNE_PRUNE_CHOICES_BASED_ON_SHARED_MEM'],
    says: 'Tiles that would take more shared memory than a block may have (`cuda.sharedMemoryLimit`) are left aside before anything is built, always: they could not run.',
  },
  {
    name: 'triton.autotune_cublasLt',
    says: "No vendor's library is called for a product, and so none is tried: the kernels are this compiler's own.",
  },
  {
    name: 'unbacked_symint_fallback',
    says: 'What is timed has known sizes: products whose sizes a call decides have the usual choices, and no number stands in for them.',
  },
];
