// What wrong calls are answered with: the operator that was called, sizes, dtypes, indices, and what to do. The same eager, and in a
// compiled function.
import { describe, expect, test } from '@jest/globals';
import {
  arange,
  bincount,
  bmm,
  cat,
  cdist,
  compile,
  dot,
  einsum,
  linalg,
  linspace,
  matmul,
  nn,
  outer,
  randn,
} from 'tsinductor';
import { searchsorted, stack, tensor, tensordot, unique, where, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

const F = nn.functional;
const x = (): Tensor => randn([2, 3]);
const i = (...values: number[]): Tensor => tensor(values, { dtype: 'i64' });
const b = (): Tensor => tensor([true, false]);

/** The message of what is thrown, without the place. */
function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as Error).message.replace(/, at [^;]*:\d+(?=;|$)/, '');
  }
  return 'no error';
}

const wrong: readonly (readonly [call: () => unknown, message: string])[] = [
  [
    () => x().add(randn([4])),
    'add: cannot broadcast [2, 3] with [4]: axis 1 is 3 and 4; insert a reshape or an expand',
  ],
  [() => i(1, 2).gelu(), 'gelu does not take i64; cast the operands to one of f64, f32, f16, bf16'],
  [() => F.layerNorm(x(), [4]), 'layerNorm over [4] of [2, 3]; normalizedShape must be the last sizes of the tensor'],
  [
    () => x().linear(randn([4, 5])),
    'linear: the last sizes of the input [2, 3] and the weight [4, 5] differ; the weight is [outputs, inputs]',
  ],
  [
    () => x().matmul(randn([4, 5])),
    'matmul of [2, 3] and [4, 5]: the inner sizes are 3 and 4; the last axis of the first must equal the second to last of the second',
  ],
  [
    () => x().matmul(zeros([3, 2], { dtype: 'f64' })),
    'matmul: the operands are f32 and f64; cast one of them to the dtype of the other',
  ],
  [
    () => bmm(randn([2, 3, 4]), randn([3, 4, 5])),
    'bmm of [2, 3, 4] and [3, 4, 5]; the shapes must be [B, M, K] and [B, K, N]',
  ],
  [
    () => x().mv(randn([4])),
    'mv: matmul of [2, 3] and [4]: the inner sizes are 3 and 4; the last axis of the first must equal the second to last of the second',
  ],
  [
    () => dot(randn([3]), randn([4])),
    'dot: matmul of [3] and [4]: the inner sizes are 3 and 4; the last axis of the first must equal the second to last of the second',
  ],
  [() => x().softmax(2), 'softmax: dim 2 of a tensor of rank 2; use -2 to 1'],
  [() => i(1, 2).softmax(0), 'softmax does not take i64; cast the operands to one of f64, f32, f16, bf16'],
  [() => i(1, 2).logSoftmax(0), 'logSoftmax does not take i64; cast the operands to one of f64, f32, f16, bf16'],
  [
    () => F.crossEntropy(randn([4, 3]), i(0, 1)),
    'crossEntropy: the target is [2], not [4]; give a class for each sample',
  ],
  [
    () => F.crossEntropy(randn([2, 3]), i(0, 7)),
    'crossEntropy: index 7 of dim 1 is out of range for a size of 3; use an index from 0 to 2',
  ],
  [
    () => F.nllLoss(randn([4, 3]), i(0, 1, 2, 9)),
    'nllLoss: index 9 of dim 1 is out of range for a size of 3; use an index from 0 to 2',
  ],
  [
    () => F.embedding(i(0, 12), randn([10, 4])),
    'embedding: index 12 of dim 0 is out of range for a size of 10; use an index from 0 to 9',
  ],
  [
    () => F.embedding(randn([3]), randn([10, 4])),
    "embedding: an index is f32, it must be i64; cast it, as in x.to('i64')",
  ],
  [
    () =>
      x().gather(
        1,
        tensor([
          [0, 5],
          [1, 1],
        ]),
      ),
    'gather: index 5 of dim 1 is out of range for a size of 3; use an index from 0 to 2',
  ],
  [() => x().gather(1, i(0, 1)), 'gather: the index has rank 1, the tensor 2; give them the same rank'],
  [
    () => x().indexSelect(1, i(0, 3)),
    'indexSelect: index 3 of dim 1 is out of range for a size of 3; use an index from 0 to 2',
  ],
  [() => x().at(0, 3), 'index 3 of dim 1, whose size is 3; use an index in [-size, size)'],
  [() => x().at(0, 1, 2), '3 indices for a tensor of rank 2; use fewer indices'],
  [() => x().take(i(9)), 'take: index 9 of dim 0 is out of range for a size of 6; use an index from -6 to 5'],
  [
    () => x().scatter(1, tensor([[7]]), 1),
    'scatter: index 7 of dim 1 is out of range for a size of 3; use an index from 0 to 2',
  ],
  [
    () => x().indexAdd(0, i(5), randn([1, 3])),
    'indexAdd: index 5 of dim 0 is out of range for a size of 2; use an index from 0 to 1',
  ],
  [
    () => x().reshape([4, 2]),
    'cannot reshape [2, 3] to [4, 2]: there are 6 elements; give sizes whose product is that, or one -1 for what the others leave',
  ],
  [
    () => x().reshape([-1, 4]),
    'cannot reshape [2, 3] to [-1, 4]: there are 6 elements; give sizes whose product is that, or one -1 for what the others leave',
  ],
  [
    () => x().t().view([6]),
    'view of [3, 2] with strides [1, 3] as [6] needs a copy; use reshape, which copies where it must',
  ],
  [() => x().expand([4, 3]), 'cannot expand [2, 3] to [4, 3]: axis 0 is 2, and not 1; only axes of size 1 expand'],
  [() => x().permute(0, 0), 'permute: dim 0 appears more than once; name each dim once'],
  [() => x().squeeze(5), 'squeeze: dim 5 of a tensor of rank 2; use -2 to 1'],
  [
    () => cat([x(), randn([2, 4])], 0),
    'cat along dim 0: [2, 3] and [2, 4] differ elsewhere; sizes must agree except along dim',
  ],
  [
    () => cat([x(), randn([3])], 0),
    'cat along dim 0: [2, 3] and [3] differ elsewhere; sizes must agree except along dim',
  ],
  [() => stack([x(), randn([3, 2])]), 'stack of [2, 3] and [3, 2]; the shapes must be equal'],
  [() => x().split([1, 3], 1), 'split: sizes [1,3] of an axis of 3; the sizes must add up to that of the axis'],
  [() => x().chunk(0), 'chunk: 0 chunks; use a positive number'],
  [
    () => F.conv2d(randn([1, 3, 8, 8]), randn([4, 2, 3, 3])),
    'conv2d: input of [1, 3, 8, 8] and weight of [4, 2, 3, 3] in 1 groups; input channels are weight.shape[1] * groups, output channels a multiple of groups',
  ],
  [
    () => F.conv2d(randn([1, 3, 2, 2]), randn([4, 3, 3, 3])),
    'conv2d: the kernel reaches over 3 elements, and there are 2; use a smaller kernel, or padding',
  ],
  [() => F.conv2d(randn([3, 8]), randn([4, 3, 3, 3])), 'conv2d: input of [3, 8]; it must have 3 or 4 dims'],
  [
    () => F.conv2d(randn([1, 3, 8, 8]), randn([4, 3, 3, 3]), null, { stride: 0 }),
    'conv2d: stride is not positive; use positive numbers',
  ],
  [
    () => F.maxPool2d(randn([1, 1, 2, 2]), 3),
    'maxPool2d of [1, 1, 2, 2]: no window fits; use a smaller kernel, or padding',
  ],
  [
    () => F.maxPool2d(randn([1, 1, 8, 8]), 2, { padding: 2 }),
    'maxPool2d: padding 2, 2 for a kernel of 2, 2; pad by at most half the kernel',
  ],
  [() => F.maxPool2d(zeros([1, 8, 8]).eq(0), 2), 'maxPool2d does not take bool; cast the tensor to u8'],
  [() => F.avgPool2d(randn([8]), 2), 'avgPool2d: input of [8]; it must have 3 or 4 dims'],
  [
    () => F.batchNorm(randn([2, 3]), randn([4]), randn([4])),
    'batchNorm: cannot broadcast [2, 3] with [1, 4]: axis 1 is 3 and 4; insert a reshape or an expand',
  ],
  [() => F.groupNorm(randn([2, 6, 4]), 4), 'groupNorm: 6 channels in 4 groups; channels must be a multiple of groups'],
  [() => i(1, 2).mean(), 'mean does not take i64; cast the operands to one of f64, f32, f16, bf16'],
  [() => i(1, 2).var(), 'var does not take i64; cast the operands to one of f64, f32, f16, bf16'],
  [() => zeros([0]).amax(), 'amax of no elements has no value; reduce over dims whose size is not 0'],
  [() => x().argmax(3), 'argmax: dim 3 of a tensor of rank 2; use -2 to 1'],
  [() => x().topk(4), 'topk: k is 4 for 3 elements; use at most the size of the dim'],
  [() => x().kthvalue(9), 'kthvalue: k is 9 for 3 elements; use 1 to the size of the dim'],
  [() => x().sort(4), 'sort: dim 4 of a tensor of rank 2; use -2 to 1'],
  [() => x().quantile(1.5), 'quantile: q is 1.5; it lies in [0, 1]'],
  [() => where(x(), 1, 2), "where: the condition is f32, it must be bool; cast it, as in x.to('bool')"],
  [
    () => where(x().gt(0), randn([4]), 0),
    'where: cannot broadcast [2, 3] with [4]: axis 1 is 3 and 4; insert a reshape or an expand',
  ],
  [() => x().maskedFill(randn([2, 3]), 0), "maskedFill: the mask is f32, it must be bool; cast it, as in x.to('bool')"],
  [() => x().bitwiseAnd(1), 'bitwiseAnd does not take f32; cast the operands to one of i64, i32, i16, i8, u8, bool'],
  [
    () => x().bitwiseLeftShift(1),
    'bitwiseLeftShift does not take f32; cast the operands to one of i64, i32, i16, i8, u8',
  ],
  [() => i(2, 3).pow(-1), 'pow: integers to the power -1; cast them to a float dtype first'],
  [() => b().sub(b()), 'sub does not take bool; cast it first, or use logicalXor or logicalNot'],
  [() => b().neg(), 'neg does not take bool; cast the operands to one of f64, f32, f16, bf16, i64, i32, i16, i8, u8'],
  [() => x().cumsum(2), 'cumsum: dim 2 of a tensor of rank 2; use -2 to 1'],
  [() => einsum('ij,jk->ik', x(), randn([4, 5])), 'einsum: letter j is 3 and 4'],
  [() => einsum('ij->ik', x()), 'einsum: letter k is only in the output; use it in a term'],
  [() => tensordot(x(), randn([4]), 1), 'tensordot: sizes 3 and 4 must be equal; check which dims are contracted'],
  [() => x().inv(), 'inv of [2, 3]; give square matrices'],
  [() => linalg.det(x()), 'det of [2, 3]; give square matrices'],
  [() => linalg.cholesky(randn([2, 3])), 'linalg.cholesky of [2, 3]; give square matrices'],
  [() => linalg.solve(randn([3, 3]), randn([2])), 'solve of [3, 3] and [2]; the sizes must fit'],
  [() => linalg.norm(x(), { ord: 'fro2' as 'fro' }), "linalg.norm: ord is 'fro2'; use one of 'fro', 'nuc'"],
  [() => F.pad(x(), [1, 1, 1]), 'pad: 3 pad sizes; give two for each dim'],
  [() => F.pad(x(), [5, 5], { mode: 'reflect' }), 'pad: reflecting 5 of 3 elements; pad less than the size'],
  [
    () => F.interpolate(x(), { size: 4 }),
    'interpolate of [2, 3]; it needs a batch, channels and at least one more dim',
  ],
  [
    () => F.scaledDotProductAttention(randn([2, 4, 8]), randn([2, 4, 7]), randn([2, 4, 8])),
    'scaledDotProductAttention: matmul of [2, 4, 8] and [2, 7, 4]: the inner sizes are 8 and 7; the last axis of the first must equal the second to last of the second',
  ],
  [
    () => F.mseLoss(x(), randn([4])),
    'mseLoss: cannot broadcast [2, 3] with [4]: axis 1 is 3 and 4; insert a reshape or an expand',
  ],
  [
    () => F.mseLoss(x(), x(), { reduction: 'avg' as 'sum' }),
    "mseLoss: reduction is 'avg'; use one of 'none', 'mean', 'sum'",
  ],
  [
    () => F.binaryCrossEntropy(x().abs().add(2), x()),
    'binaryCrossEntropy: an element of the input is not between 0 and 1; give probabilities, or logits to binaryCrossEntropyWithLogits',
  ],
  [() => F.oneHot(i(0, 5), 3), 'oneHot: index 5 of dim 1 is out of range for a size of 3; use an index from 0 to 2'],
  [
    () => F.klDiv(x(), randn([5])),
    'klDiv: cannot broadcast [5] with [2, 3]: axis 1 is 5 and 3; insert a reshape or an expand',
  ],
  [() => F.dropout(x(), 1.5), 'dropout: p is 1.5; it is a probability'],
  [() => F.glu(x(), 1), 'glu of an axis of size 3; its size must be even'],
  [
    () => F.pixelShuffle(randn([1, 3, 2, 2]), 2),
    'pixelShuffle of 3 channels; they must be a multiple of the squared factor',
  ],
  [() => x().unfold(1, 5, 1), 'unfold: size 5 of an axis of 3; use a smaller size'],
  [() => x().narrow(1, 2, 3), 'narrow: start 2 and length 3 leave 3; stay inside the axis'],
  [() => x().select(0, 4), 'select: index 4 of dim 0, whose size is 2; use an index in [-size, size)'],
  [() => x().transpose(0, 3), 'transpose: dim 3 of a tensor of rank 2; use -2 to 1'],
  [() => randn([2, 3, 4]).diag(), 'diag of [2, 3, 4]; give a vector or a matrix'],
  [() => x().flip([0, 0]), 'flip: dim 0 appears more than once; name each dim once'],
  [() => x().roll([1, 2], [0]), 'roll: 2 shifts and 1 dims; give as many of each'],
  [() => x().repeat([2]), 'repeat of [2, 3] by [2]; give a count for every dim'],
  [() => zeros([-1]), 'zeros: a size is -1; sizes are 0 or more'],
  [() => arange(0, 5, -1), 'arange: from 0 to 5 by -1; the step has the wrong sign'],
  [() => linspace(0, 1, -1), 'linspace: -1 steps; steps is 0 or more'],
  [() => x().clamp(), 'clamp: neither min nor max; give at least one'],
  [
    () => x().lerp(randn([4]), 0.5),
    'lerp: cannot broadcast [2, 3] with [4]: axis 1 is 3 and 4; insert a reshape or an expand',
  ],
  [
    () => randn([2]).addmm(x(), x()),
    'addmm: matmul of [2, 3] and [2, 3]: the inner sizes are 3 and 2; the last axis of the first must equal the second to last of the second',
  ],
  [
    () => searchsorted(x(), randn([4])),
    'searchsorted: the sequences and the values differ in the dims before the last; give one sequence, or one for each row of values',
  ],
  [() => cdist(x(), randn([2, 4])), 'cdist: sizes 3 and 4 must be equal; check which dims are contracted'],
  [
    () => randn([3]).add_(x()),
    "add_: a value of shape [2, 3] does not fit the tensor's [3]; an in-place operation keeps the shape of its tensor",
  ],
  [
    () => i(1).add_(1.5),
    'add_: a result of f32 cannot be stored in i64; cast the operand, or use the form that returns a new tensor',
  ],
  [
    () => tensor([1], { dtype: 'u8' }).maskedFill(tensor([true]), 300),
    'maskedFill: 300 cannot be converted to u8 without overflow; give a number that the dtype can hold, or cast the tensor to a wider one',
  ],
  [
    () => x().softmax({ axis: 1 } as never),
    'softmax has no argument axis; call softmax(input, dim=null, *, dtype=null)',
  ],
  [
    () => x().relu(...([1, 2, 3] as never[])),
    'relu takes 2 arguments by position, and 4 are given; call relu(input, inplace=false)',
  ],
  [() => matmul(x(), [[1]] as never), 'matmul: other must be a tensor, and is an array'],
  [() => x().add('1' as never), "add: other must be a tensor or a number, and is '1'"],
  [() => x().to('float32' as 'f32'), "to: dtype must be a dtype, such as 'f32', and is 'float32'"],
  [() => outer(x(), x()), 'outer: an operand has shape [2, 3]; it must have rank 1'],
  [() => bincount(x()), 'bincount: a tensor of rank 2; give a vector'],
  [() => unique(x(), { dim: 4 }), 'unique: dim 4 of a tensor of rank 2; use one of its dims'],
  [() => randn([3]).trace(), 'trace of [3]; give a matrix'],
];

/** Every fourth is compiled as well: each is traced anew, and an operator's own mistakes are found by the same code. */
const isCompiled = (place: number): boolean => place % 4 === 0;

describe('a wrong call', () => {
  test.each(wrong.map(([call, message], place) => [message, call, place] as const))('%s', (message, call, place) => {
    expect(messageOf(call)).toBe(message);
    if (isCompiled(place)) expect(messageOf(compile(call, { fullgraph: true, backend: 'aot_eager' }))).toBe(message);
  });

  test('names the index and the line where native code finds it, whatever the size', () => {
    const rows = compile((table: Tensor, index: Tensor) => table.mul(2).indexSelect(0, index));
    expect(rows(randn([5, 3]), i(1)).shape).toEqual([1, 3]);
    for (const size of [5, 6, 7]) {
      expect(() => rows(randn([size, 3]), i(1, 9))).toThrow(
        new RegExp(
          `^indexSelect: index 9 of dim 0 is out of range for a size of ${String(size)}, at .*messages.test.ts:\\d+; use an`,
        ),
      );
    }
  });
});
