// Batching of matrix products, and of reading and writing by index. Where the indices are the same for every sample, the samples are
// one more axis of what is read; where they differ, the number of the sample is one more index.
import { multiply } from '@tsinductor/ir';
import type { Attrs, ValueRef } from '../graph.ts';
import { broadcastShapes, normalizeDims, one } from '../shape.ts';
import type { Shape } from '../shape.ts';
import type { Batcher, BatchingRule, SampleCall } from './rule.ts';
import { callOf } from './rule.ts';

const inputOf = ({ a }: SampleCall): ValueRef => a.tensor('input');

const alongDim = (call: SampleCall): Attrs => ({ ...call.attrs, dim: call.a.int('dim') + 1 });

/** Reads where the index says: of a sample without dims, which is its own only element, that element. */
const gather: BatchingRule = (b, call) => {
  const [x, index] = [b.whole(inputOf(call)), b.whole(call.a.tensor('index'))];
  if (b.rank(inputOf(call)) > 0) return callOf(b, call, { args: [x, index], attrs: alongDim(call) });
  const vectors = [x, index].map((value) => b.c.reshape(value, [b.count, one]));
  return b.c.reshape(callOf(b, call, { args: vectors, attrs: alongDim(call) }), [b.count]);
};

const scatter: BatchingRule = (b, call) => {
  const given = ['input', 'index', 'src'].map((name) => b.whole(call.a.tensor(name)));
  if (b.rank(inputOf(call)) > 0) return callOf(b, call, { args: given, attrs: alongDim(call) });
  const vectors = given.map((value) => b.c.reshape(value, [b.count, one]));
  return b.c.reshape(callOf(b, call, { args: vectors, attrs: alongDim(call) }), [b.count]);
};

/** Of one tensor, the rows that all samples name are read at once, and parted afterwards. */
const indexSelect: BatchingRule = (b, call) => {
  const { c } = b;
  const [x, index, dim] = [inputOf(call), call.a.tensor('index'), call.a.int('dim')];
  if (!b.differs(index)) return callOf(b, call, { args: [x, index], attrs: alongDim(call) });
  const length = c.size(index, 1);
  if (!b.differs(x)) {
    const all = callOf(b, call, { args: [x, c.flatten(index)] });
    const shape = b.shape(x);
    const parted = c.reshape(all, [...shape.slice(0, dim), b.count, length, ...shape.slice(dim + 1)]);
    return c.move(parted, dim, 0);
  }
  const shape = b.shape(x).with(dim, length);
  const places = c.reshape(index, [b.count, ...shape.map((size, axis) => (axis === dim ? size : one))]);
  return c.gather(x, dim + 1, c.expand(places, [b.count, ...shape]));
};

interface Indexed {
  readonly indices: readonly ValueRef[];
  /** The shape of the indices together. */
  readonly shape: Shape;
  /** The axes of a sample that are indexed. */
  readonly dims: readonly number[];
  readonly differ: boolean;
}

function indexedBy(b: Batcher, call: SampleCall): Indexed {
  const indices = call.a.tensors('indices');
  const shape = broadcastShapes(
    b.c.sizes,
    indices.map((value) => b.shape(value)),
  );
  const dims = normalizeDims(call.a.ints('dims'), b.rank(inputOf(call)));
  return { indices, shape, dims, differ: indices.some((value) => b.differs(value)) };
}

/** The indices of all samples, with the number of the sample as the first, for a tensor whose first axis is that of the samples. */
function numbered(b: Batcher, { indices, shape, dims }: Indexed): { indices: readonly ValueRef[]; dims: number[] } {
  const sample = b.c.reshape(b.c.iota(b.count), [b.count, ...shape.map(() => one)]);
  return {
    indices: [sample, ...indices.map((value) => b.aligned(value, shape.length))],
    dims: [0, ...dims.map((dim) => dim + 1)],
  };
}

const index: BatchingRule = (b, call) => {
  const x = inputOf(call);
  const how = indexedBy(b, call);
  if (how.differ && b.differs(x)) {
    const { indices, dims } = numbered(b, how);
    return callOf(b, call, { args: [x, indices], attrs: { ...call.attrs, dims } });
  }
  if (how.differ) {
    const aligned = how.indices.map((value) => b.aligned(value, how.shape.length));
    return callOf(b, call, { args: [x, aligned] });
  }
  const read = callOf(b, call, {
    args: [x, how.indices],
    attrs: { ...call.attrs, dims: how.dims.map((dim) => dim + 1) },
  });
  return b.c.move(read, how.shape.length, 0);
};

const indexPut: BatchingRule = (b, call) => {
  const x = inputOf(call);
  const how = indexedBy(b, call);
  const rest = b.shape(x).filter((_, axis) => !how.dims.includes(axis));
  const values = b.spread(call.a.tensor('values'), [...how.shape, ...rest]);
  if (how.differ) {
    const { indices, dims } = numbered(b, how);
    return callOf(b, call, { args: [b.whole(x), indices, values], attrs: { ...call.attrs, dims } });
  }
  const behind = b.c.move(values, 0, how.shape.length);
  return callOf(b, call, {
    args: [b.whole(x), how.indices, behind],
    attrs: { ...call.attrs, dims: how.dims.map((dim) => dim + 1) },
  });
};

/** One matrix for all samples is multiplied once, by the rows of all of them. */
const bmm: BatchingRule = (b, call) => {
  const { c } = b;
  const [left, right] = [inputOf(call), call.a.tensor('mat2')];
  const [batch = one, rows = one, inner = one] = b.shape(left);
  const columns = c.size(right, -1);
  if (!b.differs(right)) {
    const byBatch = c.reshape(c.permute(left, [1, 0, 2, 3]), [batch, multiply(b.count, rows), inner]);
    const made = c.reshape(c.bmm(byBatch, right), [batch, b.count, rows, columns]);
    return c.permute(made, [1, 0, 2, 3]);
  }
  const all = multiply(b.count, batch);
  const [lefts, rights] = [b.whole(left), b.whole(right)];
  const made = c.bmm(c.reshape(lefts, [all, rows, inner]), c.reshape(rights, [all, inner, columns]));
  return c.reshape(made, [b.count, batch, rows, columns]);
};

export const indexBatching: Readonly<Record<string, BatchingRule>> = {
  gather,
  scatter,
  indexSelect,
  index,
  indexPut,
  bmm,
};
