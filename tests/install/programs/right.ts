// Uses that are right: no compiler has anything against them.
import { checkOp, compile, defineOp, f32, isTsInductorError, linalg, memoryStats, nn, randn } from 'tsinductor';
import { scope, tensor, uniqueConsecutive, zeros } from 'tsinductor';
import type { CompiledFunction, CompileOptions, DType, Explanation, Tensor } from 'tsinductor';
import { batches, decodeCsv } from 'tsinductor/data';
import type { Batches, BatchRequest, PreparedBatches } from 'tsinductor/data';
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

// How many results there are follows from the options, where they are written in the call.
const image = randn([1, 1, 8, 8]);
export const pooled: Tensor = image.maxPool2d(2);
export const [maxima, places]: [Tensor, Tensor] = image.maxPool2d(2, { stride: 1, returnIndices: true });
export const either: Tensor | [Tensor, Tensor] = nn.functional.maxPool2d(image, 2, { returnIndices: step.length > 1 });
export const distinct: Tensor = made.unique();
export const [, inverse, counts]: [Tensor, Tensor, Tensor] = made.unique({ returnInverse: true, returnCounts: true });
export const [, lengths]: [Tensor, Tensor] = uniqueConsecutive(made, { returnCounts: true });
export const loss: Tensor = nn.functional.mseLoss(made, normal, { reduction: 'sum' });
export const same: Tensor = image.conv2d(randn([1, 1, 3, 3]), { padding: 'same' }).pad([1, 1], { mode: 'reflect' });
export const lengthsOfRows: Tensor = linalg.norm(made, { ord: 'fro' }).add(linalg.vectorNorm(made, { ord: Infinity }));

// What a program says of dtypes and shapes is checked, and what it does not say fits.
export const sum: number = randn([3, 4]).exp().sum().item();
export const isClose: boolean = made.isclose(normal).all().item();
export const whole: number | bigint = randn([3]).argmax().item();
export const pixels: Float32Array = zeros([2, 3]).toTypedArray();
export const unsaid: number | bigint | boolean = made.matmul(normal).item();
export function centred(x: Tensor<'f32', [number, 3]>): Tensor<'f32', [number, 3]> {
  const [rows, columns] = x.shape;
  const nested: number[][] = x.toArray();
  return x.sub(nested.length + rows * columns).relu();
}
export const plain: Tensor = centred(made); // eslint-disable-line @typescript-eslint/no-unsafe-argument -- what is not known fits
export const exact: Tensor<'f32', [2, 3]> = zeros([2, 3]);
export const widened: Tensor<'f64', [2, 3]> = exact.mul(2).to('f64');
export const centredExactly: Tensor = centred(exact);
let changing: Tensor = zeros([2]);
changing = changing.gt(0);
export const changed: Tensor<'bool'> = changing;

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

export const rows: Batches<{ x: Tensor; labels: readonly [Tensor] }> = batches(
  { x: made, labels: [made] as const },
  { size: 2, shuffle: true },
);
export const threaded: PreparedBatches<Tensor> = batches<Tensor>(
  { length: 9 },
  { size: 3, workers: { module: 'photos', threads: 2 } },
);
export const batchOf = ({ rows: wanted, data }: BatchRequest<string>): string => `${data} ${String(wanted.length)}`;
export const columns: Tensor = decodeCsv('a,b\n1,2\n').matrix(['a', 'b']);
