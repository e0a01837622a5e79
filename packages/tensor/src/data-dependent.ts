// Functions whose results have as many elements as the values say: nonzero, maskedSelect, unique, bincount. No graph can
// hold them, so they are not in the operator table: they are made of operators around the reading of a count
// (compaction.ts), which ends a segment or breaks a trace.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Open } from './element-types.ts';
import { extremesOf, firstOf, op, placesOf, positionsOf, readCount, readNumbers, zerosOfSize } from './compaction.ts';
import { countedValues } from './counted-values.ts';
import type { CountedValues } from './counted-values.ts';
import { calledAs } from './called-operator.ts';
import { dispatch, dispatchOne } from './dispatch.ts';
import { besideOperands } from './device.ts';
import { badArgument, notATensor } from './errors.ts';
import { checkOptions } from './given-options.ts';
import { located } from './location.ts';
import { isTensor, placedTensor, readPlace } from './tensor.ts';
import type { Tensor } from './tensor.ts';

export interface UniqueOptions {
  readonly sorted?: boolean;
  /** Also where each element of the input is in the result. */
  readonly returnInverse?: boolean;
  /** Also how often each occurs. */
  readonly returnCounts?: boolean;
  /** Compare slices along this dim instead of elements. */
  readonly dim?: number | null;
}

/** The options of `unique` where it is known which results they ask for. */
type Asking<Inverse, Counts> = UniqueOptions &
  (Inverse extends true ? { readonly returnInverse: true } : { readonly returnInverse?: false }) &
  (Counts extends true ? { readonly returnCounts: true } : { readonly returnCounts?: false });

/** `unique` as a method: it gives the distinct elements, and with them what the options ask for, in this order. */
export interface DistinctMethod<T> {
  (options?: Asking<false, false>): T;
  (options: Asking<true, true>): [values: T, inverse: Tensor<'i64'>, counts: Tensor<'i64'>];
  (options: Asking<true, false>): [values: T, inverse: Tensor<'i64'>];
  (options: Asking<false, true>): [values: T, counts: Tensor<'i64'>];
  (options?: UniqueOptions): T | Tensor[];
}

/** `unique` as a function. */
export interface DistinctFunction {
  (input: Tensor, options?: Asking<false, false>): Tensor;
  (input: Tensor, options: Asking<true, true>): [values: Tensor, inverse: Tensor, counts: Tensor];
  (input: Tensor, options: Asking<true, false>): [values: Tensor, inverse: Tensor];
  (input: Tensor, options: Asking<false, true>): [values: Tensor, counts: Tensor];
  (input: Tensor, options?: UniqueOptions): Tensor | Tensor[];
}

interface BincountOptions {
  /** What each element counts for, instead of 1. */
  readonly weights?: Tensor | null;
  /** The least length of the result. */
  readonly minlength?: number;
}

/** Methods of Tensor for what depends on values. */
export interface DataDependentMethods<D extends DType = Open> {
  /** Coordinates of the elements that are not zero, a row for each. */
  nonzero(options?: { readonly asTuple?: false }): Tensor<'i64'>;
  /** The same, a vector for each dim. */
  nonzero(options: { readonly asTuple: true }): Tensor<'i64'>[];
  /** The one or the other, where only the program knows. */
  nonzero(options: { readonly asTuple?: boolean }): Tensor<'i64'> | Tensor<'i64'>[];
  /** Coordinates of the elements that are not zero, a row for each. */
  argwhere(): Tensor<'i64'>;
  /** The elements where the mask, broadcast with the tensor, is true. */
  maskedSelect(mask: Tensor): Tensor<D>;
  /** Distinct elements in ascending order; with options also where they came from and how often. */
  unique: DistinctMethod<Tensor<D>>;
  /** The first of each run of equal elements. */
  uniqueConsecutive: DistinctMethod<Tensor<D>>;
  /** How often each whole number occurs, or the sum of its weights. */
  bincount(weights?: Tensor | null | BincountOptions, minlength?: number): Tensor;
}

/** Runs `work` on what must be a tensor; errors get the user's line. */
function on<T>(name: string, input: unknown, work: (input: Tensor) => T): T {
  try {
    if (!isTensor(input)) throw notATensor(name, input);
    return besideOperands([input], () => work(input));
  } catch (error) {
    throw located(calledAs(name, error));
  }
}

/** Coordinates of the elements that are not zero: one matrix, or with `asTuple` a vector for each dim. */
export const nonzero = (input: Tensor, options: { readonly asTuple?: boolean } = {}): Tensor | Tensor[] =>
  on('nonzero', input, () => {
    checkOptions('nonzero', options, ['asTuple']);
    const { asTuple = false } = options;
    const places = placesOf(input.ndim === 0 && asTuple ? op('reshape', input, [1]) : input, 'nonzero');
    if (asTuple) return [...places];
    if (places.length > 0) return op('stack', places, 1);
    const [isSet = 0] = readNumbers('nonzero', [op('ne', input, 0)]);
    return dispatchOne('zeros', [[isSet, 0]], { dtype: 'i64' });
  });

export const argwhere = (input: Tensor): Tensor => nonzero(input) as Tensor;

/** The elements where `mask`, broadcast with the tensor, is true. */
export const maskedSelect = (input: Tensor, mask: Tensor): Tensor =>
  on('maskedSelect', input, () => {
    if (!isTensor(mask)) throw notATensor('maskedSelect', mask);
    if (mask.dtype !== 'bool')
      throw badArgument('maskedSelect', 'the mask is not bool', 'give a mask, such as x.gt(0)');
    const [values, chosen] = dispatch('broadcastTensors', [[input, mask]]) as [Tensor, Tensor];
    const positions = positionsOf(op('flatten', chosen), 'maskedSelect');
    return op('indexSelect', op('flatten', values), 0, positions);
  });

/** Distinct elements, or slices along `dim`, in ascending order. */
export const unique: DistinctFunction = ((input: Tensor, options: UniqueOptions = {}) =>
  on('unique', input, () => {
    checkOptions('unique', options, ['sorted', 'returnInverse', 'returnCounts', 'dim']);
    return distinct(input, { ...options, isSorted: true });
  })) as DistinctFunction;

/** The first of each run of equal elements, or slices along `dim`. */
export const uniqueConsecutive: DistinctFunction = ((input: Tensor, options: UniqueOptions = {}) =>
  on('uniqueConsecutive', input, () => {
    checkOptions('uniqueConsecutive', options, ['returnInverse', 'returnCounts', 'dim']);
    return distinct(input, { ...options, isSorted: false });
  })) as DistinctFunction;

/** What is compared: slices of a tensor along an axis. */
interface Rows {
  readonly source: Tensor;
  readonly axis: number;
  readonly count: number;
  /** A row for each slice. */
  readonly matrix: Tensor;
  /** Shape of the inverse. */
  readonly shape: readonly number[];
}

function rowsOf(input: Tensor, dim: number | null): Rows {
  const source = dim === null ? op('flatten', input) : input;
  const axis = dim === null ? 0 : dim < 0 ? dim + input.ndim : dim;
  const count = source.shape[axis];
  if (count === undefined)
    throw badArgument('unique', `dim ${String(dim)} of a tensor of rank ${input.ndim}`, 'use one of its dims');
  const width = count === 0 ? 0 : source.numel / count;
  const matrix = op('reshape', op('movedim', source, axis, 0), [count, width]);
  return { source, axis, count, matrix, shape: dim === null ? input.shape : [count] };
}

interface Distinct extends UniqueOptions {
  /** Whether equal slices are found wherever they are, or only beside each other. */
  readonly isSorted: boolean;
}

/** Runs of equal rows, in sorted order or as they stand: the first of each, where every row went, and their lengths. */
function distinct(input: Tensor, options: Distinct): Tensor | Tensor[] {
  const areElements = (options.dim ?? null) === null && input.numel > 0;
  return areElements ? distinctElements(input, options) : distinctSlices(input, options);
}

function distinctSlices(input: Tensor, options: Distinct): Tensor | Tensor[] {
  const { isSorted, dim, returnInverse, returnCounts } = options;
  const rows = rowsOf(input, dim ?? null);
  if (rows.count === 0) return withoutRows(rows, options);
  const order = isSorted ? sortedOrder(rows) : undefined;
  const ordered = order === undefined ? rows.matrix : op('indexSelect', rows.matrix, 0, order);
  const begins = beginnings(ordered, rows.count);
  const starts = positionsOf(begins, isSorted ? 'unique' : 'uniqueConsecutive');
  const firsts = order === undefined ? starts : op('indexSelect', order, 0, starts);
  const found = [op('indexSelect', rows.source, rows.axis, firsts)];
  if (returnInverse === true) {
    const run = op('sub', op('cumsum', begins, 0), 1);
    const inverse = order === undefined ? run : op('scatter', op('zerosLike', run), 0, order, run);
    found.push(op('reshape', inverse, rows.shape));
  }
  if (returnCounts === true) {
    found.push(dispatchOne('diff', [starts], { append: dispatchOne('full', [[1], rows.count], { dtype: 'i64' }) }));
  }
  return found.length === 1 ? at(found, 0) : found;
}

/** Whole numbers of a small range are counted; other elements are runs of an order. */
function distinctElements(input: Tensor, options: Distinct): Tensor | Tensor[] {
  const { isSorted, returnInverse = false, returnCounts = false } = options;
  const vector = op('flatten', input);
  const wanted = { inverse: returnInverse, counts: returnCounts };
  const { values, inverse, counts } =
    (isSorted ? countedValues(vector, wanted) : undefined) ?? elementRuns(vector, { isSorted, ...wanted });
  const found = [
    values,
    ...(inverse === undefined ? [] : [op('reshape', inverse, input.shape)]),
    ...(counts === undefined ? [] : [counts]),
  ];
  return found.length === 1 ? values : found;
}

/** Runs are an operator of its own: one call, whose results are cut to what was found. */
function elementRuns(
  vector: Tensor,
  named: { readonly isSorted: boolean; readonly inverse: boolean; readonly counts: boolean },
): CountedValues {
  const operation = named.isSorted ? 'unique' : 'uniqueConsecutive';
  const [values, number, ...others] = dispatch('distinctRuns', [vector], named) as [Tensor, Tensor, ...Tensor[]];
  const count = readCount(number, operation);
  const cut = (long: Tensor): Tensor => keptPart(long, count, operation);
  return {
    values: cut(values),
    inverse: named.inverse ? others[0] : undefined,
    counts: named.counts ? cut(at(others, others.length - 1)) : undefined,
  };
}

/** What fewer elements take is not worth a copy. */
const worthCopying = 8192;

/** The first elements of a vector, copied where they would keep far more memory alive than they need. */
function keptPart(vector: Tensor, count: number, operation: string): Tensor {
  const part = firstOf(vector, count, operation);
  if (2 * count >= vector.numel || vector.numel < worthCopying) return part;
  const copy = op('clone', part);
  vector.dispose();
  return copy;
}

function withoutRows({ source, shape }: Rows, { returnInverse, returnCounts }: UniqueOptions): Tensor | Tensor[] {
  const none = (of: readonly number[]): Tensor => dispatchOne('zeros', [of], { dtype: 'i64' });
  const found = [op('clone', source)];
  if (returnInverse === true) found.push(none(shape));
  if (returnCounts === true) found.push(none([0]));
  return found.length === 1 ? at(found, 0) : found;
}

/** Rows in ascending order, those with NaN last: sorted by their columns, the last one first, each time stably. */
function sortedOrder({ matrix, count }: Rows): Tensor {
  const { storage, layout } = readPlace(op('contiguous', matrix), 'unique');
  const width = at(layout.shape, 1);
  let order: Tensor | undefined;
  for (let column = width - 1; column >= 0; column -= 1) {
    // Every column is an input of its own, so that all are sorted by the same segment.
    const place = { shape: [count], strides: [at(layout.strides, 0)], offset: layout.offset + column };
    const keys = placedTensor(matrix.dtype, storage, place);
    const sorted = dispatchOne('argsort', [order === undefined ? keys : op('indexSelect', keys, 0, order)], {
      stable: true,
    });
    order = order === undefined ? sorted : op('indexSelect', order, 0, sorted);
    if (column > 0) readPlace(order, 'unique along a dim');
  }
  return order ?? op('arange', count);
}

/** Whether each row differs from the one before it; NaN differs from everything. */
function beginnings(matrix: Tensor, count: number): Tensor {
  const [later, earlier] = [op('narrow', matrix, 0, 1, count - 1), op('narrow', matrix, 0, 0, count - 1)];
  const differs = op('any', op('ne', later, earlier), 1);
  return op('cat', [dispatchOne('ones', [[1]], { dtype: 'bool' }), differs], 0);
}

function requireCounts(input: Tensor, weights: Tensor | null, minlength: number): void {
  if (input.ndim !== 1) throw badArgument('bincount', `a tensor of rank ${input.ndim}`, 'give a vector');
  if (dtypeInfo[input.dtype].category === 'float')
    throw badArgument('bincount', `the tensor is ${input.dtype}`, 'give whole numbers from 0');
  if (!(Number.isSafeInteger(minlength) && minlength >= 0))
    throw badArgument('bincount', `minlength ${String(minlength)}`, 'give a whole number from 0');
  if (weights === null) return;
  if (!isTensor(weights)) throw notATensor('bincount', weights);
  if (weights.ndim !== 1 || weights.numel !== input.numel)
    throw badArgument('bincount', `weights of shape [${weights.shape.join(', ')}]`, 'give one for each element');
}

/** How often each whole number from 0 occurs in a vector, or the sum of the weights at its places. */
export const bincount = (input: Tensor, given: Tensor | null | BincountOptions = {}, length = 0): Tensor =>
  on('bincount', input, () => {
    const options = given === null || isTensor(given) ? { weights: given, minlength: length } : given;
    checkOptions('bincount', options, ['weights', 'minlength']);
    const { weights = null, minlength = 0 } = options;
    requireCounts(input, weights, minlength);
    const { least, largest } = input.numel === 0 ? { least: 0, largest: -1 } : extremesOf(input, 'bincount');
    if (least < 0) throw badArgument('bincount', 'a value is not a count', 'give whole numbers from 0');
    const dtype = weights === null || input.numel === 0 ? 'i64' : weights.dtype === 'f32' ? 'f32' : 'f64';
    const added = weights === null ? dispatchOne('onesLike', [input], { dtype }) : op('to', weights, dtype);
    const counts = zerosOfSize(Math.max(largest + 1, minlength), dtype);
    return op('scatterAdd', counts, 0, op('to', input, 'i64'), added);
  });

type Methods = { [Name in keyof DataDependentMethods]: (this: Tensor, ...given: never[]) => unknown };

export const dataDependentMethods: Methods = {
  nonzero(...given) {
    return nonzero(this, ...given);
  },
  argwhere() {
    return argwhere(this);
  },
  maskedSelect(mask: Tensor) {
    return maskedSelect(this, mask);
  },
  unique(options?: UniqueOptions) {
    return unique(this, options);
  },
  uniqueConsecutive(options?: UniqueOptions) {
    return uniqueConsecutive(this, options);
  },
  bincount(...given) {
    return bincount(this, ...given);
  },
};
