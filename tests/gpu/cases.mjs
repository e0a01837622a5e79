// Functions whose kernels are compared between a device and the emulation: one or more for every strategy, at the dtypes
// and sizes where they differ. In: nothing. Out: name, function, inputs.
import { arange, manualSeed, nn, randint, randn } from 'tsinductor';

export function cases() {
  manualSeed(1);
  const x = randn([37, 70]);
  const wide = randn([5, 3000]);
  const vector = randn([20_001]);
  const index = randint(0, 37, [64]);
  return [
    { name: 'pointwise f32', run: (a, b) => a.mul(b).exp().add(1).log(), inputs: [x, x] },
    { name: 'pointwise f16', run: (a) => a.sigmoid().mul(a), inputs: [x.to('f16')] },
    { name: 'pointwise bf16', run: (a) => a.tanh().add(a), inputs: [x.to('bf16')] },
    { name: 'pointwise f64', run: (a) => a.sin().mul(a.cos()), inputs: [x.to('f64')] },
    { name: 'integers', run: (a, b) => a.mul(b).bitwiseXor(a).remainder(7), inputs: [index, index] },
    { name: 'transposed', run: (a, b) => a.t().add(b), inputs: [x, randn([70, 37])] },
    { name: 'strided', run: (a) => a.slice(1, 1, 60, 3).neg(), inputs: [x] },
    { name: 'short rows', run: (a) => a.sum(-1), inputs: [randn([300, 7])] },
    { name: 'rows', run: (a) => a.softmax(-1), inputs: [x] },
    { name: 'long rows', run: (a) => nn.functional.layerNorm(a, [3000]), inputs: [wide] },
    { name: 'columns', run: (a) => a.amax(0), inputs: [wide] },
    { name: 'columns in pieces', run: (a) => a.sum(0).add(a.varMean(0)[0]), inputs: [randn([3000, 130])] },
    { name: 'split reduction', run: (a) => a.sum(), inputs: [vector] },
    { name: 'argmax', run: (a) => a.argmax(-1), inputs: [wide] },
    { name: 'scan', run: (a) => a.cumsum(-1), inputs: [wide] },
    { name: 'gather', run: (a, i) => a.indexSelect(0, i), inputs: [x, index] },
    { name: 'scatter', run: (a, i) => a.indexAdd(0, i, a.indexSelect(0, i)), inputs: [x, index] },
    { name: 'matmul', run: (a, b) => a.matmul(b).relu(), inputs: [x, randn([70, 50])] },
    {
      name: 'convolution',
      run: (a, w) => nn.functional.conv2d(a, w),
      inputs: [randn([2, 3, 12, 12]), randn([4, 3, 3, 3])],
    },
    {
      name: 'attention',
      run: (q, k, v) => nn.functional.scaledDotProductAttention(q, k, v, { isCausal: true }),
      inputs: [randn([2, 70, 16]), randn([2, 150, 16]), randn([2, 150, 24])],
    },
    { name: 'iota', run: (a) => a.add(arange(70, { dtype: 'f32' }).to(a.device)), inputs: [x] },
  ];
}
