// The settings under which results must be what they are without them: each a whole way of compiling that the defaults do not
// take on the machine that runs the tests.
export const variants = {
  'fusion off': { maxFusionSize: 1 },
  'loop reordering off': { pickLoopOrders: false, loopOrderingAfterFusion: false, loopIndexInversionInFusion: false },
  'padding on': { disablePaddingCpu: false, paddingStrideThreshold: 0, padDynamicShapes: true },
  'batches and padded products': {
    forceShapePad: true,
    postGradFusionOptions: [
      'linear_post_grad',
      ...['tanh', 'sigmoid', 'relu', 'add', 'sub', 'mul', 'div'].map((name) => `aten_${name}`),
    ].map((name) => `batch_${name}`),
  },
  'pooled planning: none': { memoryPlanning: true, memoryPool: 'none' },
  'pooled planning: intermediates': { memoryPlanning: true, memoryPool: 'intermediates' },
  'pooled planning: outputs': { memoryPlanning: true, memoryPool: 'outputs' },
  'pooled planning: combined': { memoryPlanning: true, memoryPool: 'combined' },
  'kernels for sizes': { multiKernelHints: [4, 16, 1024] },
  '1 thread': { cpp: { threads: 1 } },
  '2 threads': { cpp: { threads: 2, minChunkSize: 64 } },
  'AVX2 only': { cpp: { simdlen: 256 } },
  'scalar only': { cpp: { simdlen: 1 } },
};
