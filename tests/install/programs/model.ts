// The same program in TypeScript, as it is written where a compiler turns it into JavaScript, and run by what does so on the fly.
import { compile, f32, ones, randn, tensor, isTensor, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { cdiv, constexpr, i32, kernel, ptr } from 'tsinductor/dsl';
import { SGD } from 'tsinductor/optim';

interface Weights {
  readonly first: Tensor;
  readonly second: Tensor;
}

const mlp = compile((x: Tensor, { first, second }: Weights): Tensor => {
  const hidden: Tensor = x.matmul(first).gelu();
  return hidden.matmul(second).softmax(-1);
});

const add = kernel(
  'add',
  { x: ptr(f32), y: ptr(f32), out: ptr(f32), n: i32, BLOCK: constexpr },
  ({ x, y, out, n, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    const mask = offs < n;
    tl.store(out + offs, tl.load(x + offs, mask) + tl.load(y + offs, mask), mask);
  },
);

export interface Report {
  readonly rows: unknown;
  readonly kernel: unknown;
  readonly trained: unknown;
  readonly graphs: readonly { readonly runsOn: string; readonly graph: string }[];
  readonly mistake: string;
  readonly isOneInstance: boolean;
}

export function report(): Report {
  const y = mlp(randn([8, 16]), { first: randn([16, 32]), second: randn([32, 4]) });
  const out = zeros([1000]);
  add.launch((meta) => [cdiv(1000, meta.BLOCK)], { x: ones([1000]), y: ones([1000]), out, n: 1000, BLOCK: 256 });
  const weight = ones([3]).requiresGrad_();
  const optimizer = new SGD([weight], { lr: 0.5 });
  weight.sum().backward();
  optimizer.step();
  let mistake = '';
  try {
    y.matmul(randn([5, 5]));
  } catch (error) {
    mistake = (error as Error).message;
  }
  return {
    rows: y.sum(-1).toArray(),
    kernel: out.sum().item(),
    trained: weight.toArray(),
    graphs: mlp.explain().graphs.map(({ runsOn, graph }) => ({ runsOn, graph })),
    mistake,
    isOneInstance: tensor([1]).constructor === y.constructor && isTensor(y),
  };
}
