// Functions whose results have as many elements as the values say: nonzero, maskedSelect, unique, bincount. No graph can
// hold them, so they are not in the operator table: they read values (which breaks a trace) and end in operators.
import { at } from '@tsinductor/base';
import { tensorOfElements } from './create.ts';
import { dispatch, dispatchOne } from './dispatch.ts';
import { widened } from './element-array.ts';
import type { ElementArray } from './element-array.ts';
import { badArgument, notATensor } from './errors.ts';
import { located } from './location.ts';
import { placesOf } from './subscript.ts';
import { isTensor, rawElements } from './tensor.ts';
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

/** Methods of Tensor for what depends on values. */
export interface DataDependentMethods {
  /** Coordinates of the elements that are not zero, a row for each. */
  nonzero(options?: { readonly asTuple?: false }): Tensor;
  /** The same, a vector for each dim. */
  nonzero(options: { readonly asTuple: true }): Tensor[];
  /** Coordinates of the elements that are not zero, a row for each. */
  argwhere(): Tensor;
  /** The elements where the mask, broadcast with the tensor, is true. */
  maskedSelect(mask: Tensor): Tensor;
  /** Distinct elements in ascending order; with options also where they came from and how often. */
  unique(options?: UniqueOptions): Tensor | Tensor[];
  /** The first of each run of equal elements. */
  uniqueConsecutive(options?: UniqueOptions): Tensor | Tensor[];
  /** How often each whole number occurs, or the sum of its weights. */
  bincount(options?: { readonly weights?: Tensor | null; readonly minlength?: number }): Tensor;
}

/** Runs `work` on what must be a tensor; errors get the user's line. */
function on<T>(name: string, input: unknown, work: (input: Tensor) => T): T {
  try {
    if (!isTensor(input)) throw notATensor(name, input);
    return work(input);
  } catch (error) {
    throw located(error);
  }
}

/** Coordinates of the elements that are not zero: one matrix, or with `asTuple` a vector for each dim. */
export const nonzero = (input: Tensor, { asTuple = false }: { readonly asTuple?: boolean } = {}): Tensor | Tensor[] =>
  on('nonzero', input, () => {
    const places = placesOf(input.ndim === 0 && asTuple ? dispatchOne('reshape', [input, [1]]) : input, 'nonzero');
    if (asTuple) return [...places];
    if (places.length > 0) return dispatchOne('stack', [places, 1]);
    const isSet = Number(rawElements(input, 'nonzero')[0]) !== 0;
    return dispatchOne('zeros', [[isSet ? 1 : 0, 0]], { dtype: 'i64' });
  });

export const argwhere = (input: Tensor): Tensor => nonzero(input) as Tensor;

/** The elements where `mask`, broadcast with the tensor, is true. */
export const maskedSelect = (input: Tensor, mask: Tensor): Tensor =>
  on('maskedSelect', input, () => {
    if (!isTensor(mask) || mask.dtype !== 'bool')
      throw badArgument('maskedSelect', 'the mask is not bool', 'give a mask, such as x.gt(0)');
    const [values, chosen] = dispatch('broadcastTensors', [[input, mask]]) as [Tensor, Tensor];
    const [flat, isChosen] = [dispatchOne('flatten', [values]), dispatchOne('flatten', [chosen])];
    return dispatchOne('indexSelect', [flat, 0, placesOf(isChosen, 'maskedSelect')[0]]);
  });

/** Distinct elements, or slices along `dim`, in ascending order. */
export const unique = (input: Tensor, options: UniqueOptions = {}): Tensor | Tensor[] =>
  on('unique', input, () => {
    const rows = rowsOf(input, options.dim ?? null);
    const order = Array.from({ length: rows.count }, (_, row) => row).sort((a, b) => rows.compare(a, b));
    return results(rows, runsIn(order, rows), options);
  });

/** The first of each run of equal elements, or slices along `dim`. */
export const uniqueConsecutive = (input: Tensor, options: UniqueOptions = {}): Tensor | Tensor[] =>
  on('uniqueConsecutive', input, () => {
    const rows = rowsOf(input, options.dim ?? null);
    return results(
      rows,
      runsIn(
        Array.from({ length: rows.count }, (_, row) => row),
        rows,
      ),
      options,
    );
  });

/** What is compared: slices of a tensor along an axis. */
interface Rows {
  readonly source: Tensor;
  readonly axis: number;
  readonly count: number;
  /** Shape of the inverse. */
  readonly shape: readonly number[];
  readonly compare: (a: number, b: number) => number;
}

function rowsOf(input: Tensor, dim: number | null): Rows {
  const source = dim === null ? dispatchOne('flatten', [input]) : input;
  const axis = dim === null ? 0 : dim < 0 ? dim + input.ndim : dim;
  const count = source.shape[axis];
  if (count === undefined)
    throw badArgument('unique', `dim ${String(dim)} of a tensor of rank ${input.ndim}`, 'use one of its dims');
  const first = dispatchOne('movedim', [source, axis, 0]);
  const elements = widened(input.dtype, rawElements(first, 'unique'));
  const width = count === 0 ? 0 : elements.length / count;
  const compare = (a: number, b: number): number => compareRows(elements, a * width, { other: b * width, width });
  return { source, axis, count, shape: dim === null ? input.shape : [count], compare };
}

/** NaN goes last and equals nothing, not even NaN, where it is only asked whether rows differ. */
function compareRows(
  elements: ElementArray,
  start: number,
  { other, width }: { other: number; width: number },
): number {
  for (let i = 0; i < width; i += 1) {
    const [a = 0, b = 0] = [elements[start + i], elements[other + i]];
    if (a === b) continue;
    if (a < b || b !== b) return -1;
    return 1;
  }
  return 0;
}

/** Runs of equal rows in an order. */
function runsIn(order: readonly number[], { compare }: Rows): readonly (readonly number[])[] {
  const runs: number[][] = [];
  for (const row of order) {
    const last = runs.at(-1);
    if (last?.[0] !== undefined && compare(last[0], row) === 0) last.push(row);
    else runs.push([row]);
  }
  return runs;
}

function results(
  rows: Rows,
  runs: readonly (readonly number[])[],
  { returnInverse, returnCounts }: UniqueOptions,
): Tensor | Tensor[] {
  const vector = (values: readonly number[], shape: readonly number[] = [values.length]): Tensor =>
    tensorOfElements(BigInt64Array.from(values, BigInt), 'i64', shape);
  const firsts = runs.map((run) => run[0] ?? 0);
  const found = [dispatchOne('indexSelect', [rows.source, rows.axis, vector(firsts)])];
  const inverse = new Array<number>(rows.count).fill(0);
  runs.forEach((run, position) => {
    for (const row of run) inverse[row] = position;
  });
  if (returnInverse === true) found.push(vector(inverse, rows.shape));
  if (returnCounts === true) found.push(vector(runs.map((run) => run.length)));
  return found.length === 1 ? at(found, 0) : found;
}

/** How often each whole number from 0 occurs in a vector, or the sum of the weights at its places. */
export const bincount = (
  input: Tensor,
  options: { readonly weights?: Tensor | null; readonly minlength?: number } = {},
): Tensor =>
  on('bincount', input, () => {
    const { weights = null, minlength = 0 } = options;
    if (input.ndim !== 1) throw badArgument('bincount', `a tensor of rank ${input.ndim}`, 'give a vector');
    const values = Array.from(rawElements(input, 'bincount'), Number);
    if (values.some((value) => value < 0 || !Number.isInteger(value)))
      throw badArgument('bincount', 'a value is not a count', 'give whole numbers from 0');
    const length = values.reduce((longest, value) => Math.max(longest, value + 1), minlength);
    const dtype = weights === null ? 'i64' : weights.dtype === 'f32' ? 'f32' : 'f64';
    const added = weights === null ? dispatchOne('onesLike', [input], { dtype }) : dispatchOne('to', [weights, dtype]);
    return dispatchOne('scatterAdd', [
      dispatchOne('zeros', [[length]], { dtype }),
      0,
      dispatchOne('to', [input, 'i64']),
      added,
    ]);
  });

type Methods = { [Name in keyof DataDependentMethods]: (this: Tensor, ...given: never[]) => unknown };

export const dataDependentMethods: Methods = {
  nonzero(...given) {
    return nonzero(this, ...given);
  },
  argwhere() {
    return argwhere(this);
  },
  maskedSelect(...given) {
    return maskedSelect(this, ...(given as unknown as [Tensor]));
  },
  unique(...given) {
    return unique(this, ...given);
  },
  uniqueConsecutive(...given) {
    return uniqueConsecutive(this, ...given);
  },
  bincount(...given) {
    return bincount(this, ...given);
  },
};
