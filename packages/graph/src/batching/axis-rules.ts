// Batching of pointwise ops, reductions, views and what else goes along axes: dims count from one further, and shapes begin with
// the samples.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { isPointwise, pointwise as table, resolveDTypes } from '@tsinductor/ops';
import { isScalar, isValue } from '../argument-reader.ts';
import { categoryDTypes } from '../gradient/pointwise-rule.ts';
import type { Attr, ValueRef } from '../graph.ts';
import { one, product, sizesAttr, zero } from '../shape.ts';
import type { Shape } from '../shape.ts';
import type { Batcher, BatchingRule, SampleCall } from './rule.ts';
import { callOf } from './rule.ts';

const inputOf = ({ a }: SampleCall): ValueRef => a.tensor('input');

const later = (dims: readonly number[]): number[] => dims.map((dim) => dim + 1);

const resultShape = (call: SampleCall): Shape => at(call.results, 0).shape;

const permute: BatchingRule = (b, call) => b.c.permute(inputOf(call), [0, ...later(call.a.ints('dims'))]);

const expand: BatchingRule = (b, call) => b.spread(inputOf(call), resultShape(call));

const reshape: BatchingRule = (b, call) => b.c.reshape(inputOf(call), [b.count, ...resultShape(call)]);

/** Those that have one `dim` among their attributes, and else are the same. */
const alongDim: BatchingRule = (b, call) => {
  const { dim, ...rest } = call.attrs;
  return b.withDims(inputOf(call), (x) => [callOf(b, call, { args: [x], attrs: { ...rest, dim: Number(dim) + 1 } })]);
};

const flip: BatchingRule = (b, { a }) => b.c.flip(a.tensor('input'), later(a.ints('dims')));

const diagonal: BatchingRule = (b, call) => {
  const { dim1, dim2, offset = 0 } = call.attrs;
  return callOf(b, call, { args: [inputOf(call)], attrs: { offset, dim1: Number(dim1) + 1, dim2: Number(dim2) + 1 } });
};

/** The windows of a sample without dims are one element, or none, and no axis of places. */
const unfold: BatchingRule = (b, call) => {
  const x = inputOf(call);
  if (b.rank(x) > 0) return alongDim(b, call);
  const vectors = b.c.reshape(x, [b.count, one]);
  return b.c.slice(vectors, 1, { start: 0, end: call.a.int('size') });
};

/** The layout is one over the elements of each sample, which therefore have to lie together. */
const asStrided: BatchingRule = (b, call) => {
  const [x, size, stride] = [inputOf(call), call.a.sizes('size'), call.a.sizes('stride')];
  const together = b.c.call('cast', [x], { dtype: { dtype: b.c.dtype(x) } });
  return callOf(b, call, {
    args: [together],
    attrs: {
      ...call.attrs,
      size: sizesAttr([b.count, ...size]),
      stride: sizesAttr([product(b.shape(x)), ...stride]),
    },
  });
};

const pad: BatchingRule = (b, call) => {
  const padding = call.attrs['padding'] as readonly Attr[];
  return callOf(b, call, {
    args: [inputOf(call)],
    attrs: { ...call.attrs, padding: [sizesAttr([zero, zero]), ...padding] },
  });
};

const cat: BatchingRule = (b, { a }) =>
  b.c.cat(
    a.tensors('tensors').map((item) => b.whole(item)),
    a.int('dim') + 1,
  );

/** What changes the elements one by one, or only says something of the last axes. */
const asItIs: BatchingRule = (b, call) => callOf(b, call, { args: call.args });

const full: BatchingRule = (b, call) => {
  const { a } = call;
  const value = a.tensor('value');
  return b.spread(b.c.cast(value, at(call.results, 0).dtype), resultShape(call));
};

/** The condition broadcasts to the input. */
const require: BatchingRule = (b, call) => {
  const [x, holds] = [inputOf(call), call.a.tensor('holds')];
  return callOf(b, call, { args: [b.whole(x), b.aligned(holds, b.rank(x))] });
};

const pointwise: BatchingRule = (b, call) => {
  const { length } = resultShape(call);
  const dtypes = operandDTypes(b, call);
  const operand = (value: ValueRef, position: number): ValueRef => {
    const dtype = dtypes?.[position];
    return b.aligned(dtype === undefined ? value : castSame(b, value, dtype), length);
  };
  return callOf(b, call, {
    args: call.args.map((arg, position) => (isValue(arg) ? operand(arg, position) : arg)),
  });
};

/**
 * In what dtypes the operands of one sample meet, where theirs differ: a tensor without dims gives way to others, which a vector of
 * those of all samples would not. Undefined where nothing has to be cast.
 */
function operandDTypes(b: Batcher, { target, args }: SampleCall): readonly (DType | undefined)[] | undefined {
  const op = isPointwise(target) ? table[target] : undefined;
  const values = args.filter(isValue);
  if (op === undefined || values.every((value) => b.c.dtype(value) === b.c.dtype(at(values, 0)))) return undefined;
  const { operands } = resolveDTypes(
    op,
    args.map((arg) => {
      if (isValue(arg)) return { dtype: b.c.dtype(arg), rank: b.rank(arg) === 0 ? 'zeroDim' : 'tensor' };
      return { dtype: isScalar(arg) ? categoryDTypes[arg.category] : 'f32', rank: 'scalar' };
    }),
  );
  return operands.map((dtype, position) => (op.rule === 'select' && position === 0 ? undefined : dtype));
}

/** The value in a dtype, and known to differ if it did. */
function castSame(b: Batcher, value: ValueRef, dtype: DType): ValueRef {
  const cast = b.c.cast(value, dtype);
  if (b.differs(value)) b.mark(cast);
  return cast;
}

const reduction: BatchingRule = (b, call) => {
  const [x, dims] = [inputOf(call), call.a.ints('dims')];
  if (dims.length > 0 && b.rank(x) > 0)
    return callOf(b, call, { args: [x], attrs: { ...call.attrs, dims: later(dims) } });
  // Over nothing: each element by itself.
  const single = b.c.reshape(x, [...b.c.shape(x), one]);
  return callOf(b, call, { args: [single], attrs: { ...call.attrs, dims: [b.rank(x) + 1], keepdim: false } });
};

/** Rows in order: both results are of the same rows. */
const sorted: BatchingRule = (b, call) =>
  b.c.callAll(call.target, [inputOf(call)], { ...call.attrs, dim: call.a.int('dim') + 1 });

const ranked: BatchingRule = (b, call) =>
  b.c.callAll(call.target, [b.whole(inputOf(call)), b.whole(call.a.tensor('places'))], { dim: call.a.int('dim') + 1 });

const overwritten: BatchingRule = (b, call) =>
  callOf(b, call, { args: [b.whole(inputOf(call)), b.whole(call.a.tensor('before'))] });

export const batchingFamilies: Readonly<Record<'pointwise' | 'reduction' | 'scan' | 'mark', BatchingRule>> = {
  pointwise,
  reduction,
  scan: alongDim,
  mark: asItIs,
};

export const axisBatching: Readonly<Record<string, BatchingRule>> = {
  permute,
  expand,
  reshape,
  slice: alongDim,
  flip,
  diagonal,
  unfold,
  asStrided,
  pad,
  cat,
  cast: asItIs,
  full,
  require,
  sorted,
  ranked,
  overwritten,
};
