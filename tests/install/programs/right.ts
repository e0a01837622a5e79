// Uses that are right: no compiler has anything against them.
import { checkOp, compile, defineOp, f32, isTsInductorError, memoryStats, nn, randn, scope, tensor } from 'tsinductor';
import type { CompiledFunction, CompileOptions, DType, Explanation, Tensor } from 'tsinductor';
import { cdiv, constexpr, i32, kernel, ptr } from 'tsinductor/dsl';
import type { Kernel } from 'tsinductor/dsl';
import { Linear, Module, ReLU, Sequential } from 'tsinductor/nn';
import type { StateDict } from 'tsinductor/nn';
import { AdamW, cosine, Schedule } from 'tsinductor/optim';

type Step = (x: Tensor, factor: number) => { mean: Tensor; scaled: Tensor };
const options: CompileOptions = { mode: 'default', fullgraph: true };
export const step: CompiledFunction<Step> = compile((x: Tensor, factor: number) => {
  const scaled = x.mul(factor);
  return { mean: scaled.mean(), scaled };
}, options);

const { mean, scaled } = step(randn([3, 4]), 2);
export const shape: readonly number[] = scaled.shape;
export const dtype: DType = mean.dtype;
export const explained: Explanation = step.explain();
export const text: string = explained.toString();
export const made: Tensor = tensor(
  [
    [1, 2],
    [3, 4],
  ],
  { dtype: f32 },
)
  .add(1)
  .softmax(-1);
export const normal: Tensor = nn.functional.layerNorm(made, [2]);
export const kept: Tensor = scope(() => made.mul(made).sum().sqrt());
export const bytes: number = memoryStats().live;
export const warmed: Promise<void> = step.warmup(randn([3, 4]), 3);

class Model {
  readonly weight: Tensor;
  constructor(weight: Tensor) {
    this.weight = weight;
  }
  @compile({ fullgraph: true })
  forward(x: Tensor): Tensor {
    return x.linear(this.weight).relu();
  }
}
export const forward: Tensor = new Model(randn([4, 4])).forward(made);

const schema = { x: ptr(f32), out: ptr(f32), n: i32, BLOCK: constexpr };
export const double: Kernel<typeof schema> = kernel('double', schema, ({ x, out, n, BLOCK }, tl) => {
  const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
  tl.store(out + offs, tl.load(x + offs, offs < n) * 2, offs < n);
});
double.launch((meta) => [cdiv(4, meta.BLOCK)], { x: made, out: normal, n: 4, BLOCK: 32 });

const scaledAdd = defineOp({
  name: 'mylib::scaled_add',
  schema: '(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor',
  meta: ({ x }) => x,
  eager: ({ x, y, alpha }) => x.add(y.mul(alpha)),
});
export const called: Tensor = scaledAdd(made, made, { alpha: 0.5 });
checkOp(scaledAdd, [made, made]);

class Network extends Module {
  readonly layers: Sequential = new Sequential(new Linear(3, 4), new ReLU(), new Linear(4, 2));
  forward(x: Tensor): Tensor {
    return this.layers.forward(x);
  }
}
export const network: Network = new Network();
export const state: StateDict = network.stateDict();
export const predicted: Tensor = network.eval().forward(randn([2, 3]));

export const optimizer: AdamW = new AdamW([randn([3]).requiresGrad_()], { lr: 1e-3 });
export const schedule: Schedule = new Schedule(optimizer, cosine(100));
optimizer.step();

export function codeOf(error: unknown): string | undefined {
  return isTsInductorError(error) ? error.code : undefined;
}
