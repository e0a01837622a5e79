// Uses that are wrong: each line behind a directive is an error, or the directive is one.
import { compile, randn, tensor, zeros } from 'tsinductor';
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
// @ts-expect-error a mask holds booleans
export const count: number = x.gt(0).sum().eq(3).item();
// @ts-expect-error an i64 may be a bigint
export const place: number = x.argmax().item();
declare const rows: Tensor<'f32', [number, 3]>;
declare const small: Tensor<'f32', [2, 3]>;
// @ts-expect-error the last dim is 4
export const wide: Tensor<'f32', [2, 4]> = small;
// @ts-expect-error the last dim is 3 still
export const stillWide: Tensor<'f32', [number, 4]> = rows.exp().add(1);
// @ts-expect-error the dtype is another
export const double: Tensor<'f64'> = rows.relu();
// @ts-expect-error a vector is no matrix
export const vector: Tensor<'f32', [6]> = zeros([2, 3]);
// @ts-expect-error one level for each dim
export const flat: number[] = rows.toArray();
// @ts-expect-error there is no such dtype
export const other: Tensor<'f31'> = x;
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
