// Uses that are wrong: each line behind a directive is an error, or the directive is one.
import { compile, randn, tensor } from 'tsinductor';
import type { DType, Tensor } from 'tsinductor';
import { f32, i32, kernel, ptr } from 'tsinductor/dsl';
import { SGD } from 'tsinductor/optim';

const x = randn([2, 3]);
const step = compile((input: Tensor, factor: number) => input.mul(factor));

// @ts-expect-error a number is no tensor
step(1, 2);
// @ts-expect-error an argument is missing
step(x);
// @ts-expect-error the second argument is a number
step(x, 'two');
// @ts-expect-error there is no such mode
compile((input: Tensor) => input, { mode: 'fastest' });
// @ts-expect-error there is no such option
compile((input: Tensor) => input, { fullGraph: true });
// @ts-expect-error only functions are compiled
compile(42);
// @ts-expect-error there is no such operator
x.softmaxx(-1); // eslint-disable-line @typescript-eslint/no-unsafe-call -- that there is none is what is tested
// @ts-expect-error a dimension is a number
x.softmax('rows');
// @ts-expect-error there is no such reduction
x.mseLoss(x, { reduction: 'average' });
// @ts-expect-error there is no such padding
x.conv1d(x, { padding: 'full' });
// @ts-expect-error a pool without indices gives a tensor, and no pair
export const places: unknown = x.maxPool1d(2)[1];
// @ts-expect-error with indices it gives a pair
x.maxPool1d(2, { returnIndices: true }).relu(); // eslint-disable-line @typescript-eslint/no-unsafe-call -- as above
// @ts-expect-error nobody asked for counts
export const counts: unknown = x.unique({ returnInverse: true })[2];
// @ts-expect-error there is no such dtype
tensor([1], { dtype: 'f31' });
// @ts-expect-error a shape does not change
x.shape[0] = 4;
// @ts-expect-error there is no such dtype
const dtype: DType = 'float32';
export const used: readonly unknown[] = [dtype];

const copy = kernel('copy', { x: ptr(f32), n: i32 }, ({ x: from, n }, tl) => {
  tl.store(from, tl.load(from) + n);
});
// @ts-expect-error a number belongs where a tensor is
copy.launch([1], { x, n: x });
// @ts-expect-error a tensor belongs where a number is
copy.launch([1], { x: 1, n: 1 });
// @ts-expect-error a rate is a number
new SGD([x], { lr: 'fast' });
// @ts-expect-error an argument of the schema is missing
copy.launch([1], { x });
