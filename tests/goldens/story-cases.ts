// The programs of which the goldens show every stage, each with the processor that its C++ is for.
import type { CpuTarget } from '@tsinductor/codegen-cpp';
import { cat, nn } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import type { Given } from '../structure/expect-kernels.ts';
import type { Traced } from './golden-case.ts';

export type StoryCase = Traced & { readonly target: CpuTarget };

const { functional: F } = nn;

const zen = (threads: number): CpuTarget => ({ isa: 'avx512', family: 'zen', threads });
const rapids = (threads: number): CpuTarget => ({ isa: 'avx512', family: 'rapids', threads });
const other = (threads: number): CpuTarget => ({ isa: 'avx512', family: 'other', threads });
const on = (isa: CpuTarget['isa'], threads: number): CpuTarget => ({ isa, threads });

/** Rows of 4 KB, 64 MB in all: no cache holds them. */
const memory = [16384, 1024] as const;
const large: Given = [1 << 24];

function adam(...[parameter, gradient, first, second]: readonly Tensor[]): readonly Tensor[] {
  if (parameter === undefined || gradient === undefined || first === undefined || second === undefined) return [];
  const m = first.mul(0.9).add(gradient.mul(0.1));
  const v = second.mul(0.999).add(gradient.mul(gradient).mul(0.001));
  return [parameter.sub(m.mul(0.001).div(v.sqrt().add(1e-8))), m, v];
}

function rotary(x: Tensor, cosine: Tensor, sine: Tensor): Tensor {
  const [low, high] = [x.narrow(-1, 0, 64), x.narrow(-1, 64, 64)];
  return cat([low.mul(cosine).sub(high.mul(sine)), high.mul(cosine).add(low.mul(sine))], -1);
}

export const storyCases: Readonly<Record<string, StoryCase>> = {
  'pointwise-chain': {
    run: (x, z) => x.mul(1.25).add(0.5).gelu().mul(z.sigmoid()),
    inputs: [[1 << 16], [1 << 16]],
    target: other(2),
  },
  broadcast: {
    run: (x, row, column) => x.mul(row).add(column).relu(),
    inputs: [[256, 500], [500], [256, 1]],
    target: on('scalar', 2),
  },
  'softmax-of-memory': { run: (x) => x.softmax(-1), inputs: [memory], target: zen(2) },
  'layer-norm': {
    run: (x, weight, bias) => x.layerNorm([1000], weight, bias),
    inputs: [[256, 1000], [1000], [1000]],
    target: on('avx2', 1),
  },
  'column-sum': { run: (x) => x.sum(0), inputs: [memory], target: zen(2) },
  'row-argmax': { run: (x) => x.argmax(1), inputs: [memory], target: other(2) },
  'transpose-add': {
    run: (a, b) => a.t().add(b),
    inputs: [
      [4096, 4096],
      [4096, 4096],
    ],
    target: rapids(2),
  },
  cat: {
    run: (x, y) => cat([x, y], 1),
    inputs: [
      [4096, 1000],
      [4096, 24],
    ],
    target: other(1),
  },
  pad: { run: (x) => F.pad(x, [1, 2, 3, 0], { value: 0.5 }), inputs: [[64, 30, 29]], target: on('neon', 1) },
  'gather-rows': {
    run: (table, index) => table.indexSelect(0, index),
    inputs: [memory, { shape: [16384], dtype: 'i64' }],
    target: rapids(2),
  },
  'index-add': {
    run: (source, index) => source.newZeros([64, 1024]).indexAdd(0, index, source),
    inputs: [memory, { shape: [16384], dtype: 'i64' }],
    target: zen(2),
  },
  'cumulative-sum-of-a-long-row': { run: (x) => x.cumsum(0), inputs: [[1 << 20]], target: on('avx2', 2) },
  'cumulative-sum-of-columns': { run: (x) => x.cumsum(0), inputs: [[4096, 1024]], target: other(2) },
  'product-with-bias-and-relu': {
    run: (x, weight, bias) => x.matmul(weight).add(bias).relu(),
    inputs: [[200, 300], [300, 500], [500]],
    target: other(2),
  },
  'convolution-as-product': {
    run: (x, weight, bias) => F.conv2d(x, weight, bias),
    inputs: [[2, 8, 20, 20], [16, 8, 3, 3], [16]],
    target: on('avx2', 2),
  },
  'max-pool': { run: (x) => F.maxPool2d(x, 2), inputs: [[4, 8, 32, 32]], target: on('neon', 2) },
  'halved-image': {
    run: (x) => x.mean([1, 3]).div(255).sub(0.45).div(0.225),
    inputs: [[8192, 2, 512, 2]],
    target: rapids(2),
  },
  dropout: { run: (x) => x.dropout(0.1, true), inputs: [[1 << 16]], target: zen(1) },
  adam: { run: adam, inputs: [large, large, large, large], target: rapids(2) },
  'int8-to-f32': {
    run: (x, scale, zero) => x.to('f32').mul(scale).add(zero),
    inputs: [{ shape: memory, dtype: 'i8' }, [16384, 1], [16384, 1]],
    target: rapids(1),
  },
  'bf16-sum': {
    run: (x, y) => x.add(y).mul(0.5),
    inputs: [
      { shape: [1 << 24], dtype: 'bf16' },
      { shape: [1 << 24], dtype: 'bf16' },
    ],
    target: zen(2),
  },
  'heads-of-attention': {
    run: (x) => x.permute([0, 2, 1, 3]).contiguous(),
    inputs: [[8, 2048, 16, 64]],
    target: other(16),
  },
  'rotary-embedding': {
    run: rotary,
    inputs: [
      [256, 512, 128],
      [512, 64],
      [512, 64],
    ],
    target: zen(2),
  },
};
