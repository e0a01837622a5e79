// Arguments whose values decide the shape of a result, which a graph cannot: eagerly they are read, and the call becomes
// one with plain numbers or index tensors; while tracing the read is what breaks the graph. One row per operator: from
// the arguments that a user gave to those that the operator table takes, or nothing where they are fine as they are.
import type { Named } from './bound-call.ts';
import { extremesOf, op, placesOf, rangeOfSize, readNumbers, zerosOfSize } from './compaction.ts';
import { tensor } from './create.ts';
import { dispatchOne } from './dispatch.ts';
import { badArgument } from './errors.ts';
import { isTensor } from './tensor.ts';
import type { Tensor } from './tensor.ts';

export interface GivenCall {
  readonly name: string;
  readonly positional: readonly unknown[];
  readonly named: Named;
}

type Row = (given: GivenCall) => GivenCall | undefined;

const rows: Readonly<Record<string, Row>> = {
  oneHot: countClasses,
  repeatInterleave: repeatByTensor,
  indexPut: withoutIndexMasks,
  tensorSplit: splitAtTensor,
  ctcLoss: padTargets,
};

/** The call with values in place of tensors that only say numbers. */
export const readOperands = (given: GivenCall): GivenCall =>
  (Object.hasOwn(rows, given.name) ? rows[given.name]?.(given) : undefined) ?? given;

const argument = ({ positional, named }: GivenCall, position: number, name: string): unknown =>
  positional[position] ?? named[name];

function withArgument({ name, positional, named }: GivenCall, position: number, value: unknown): GivenCall {
  return { name, positional: [...positional.slice(0, position), value, ...positional.slice(position + 1)], named };
}

/** The largest class decides how many there are. */
function countClasses(given: GivenCall): GivenCall | undefined {
  const [input, classes] = [argument(given, 0, 'input'), argument(given, 1, 'numClasses') ?? -1];
  if (classes !== -1 || !isTensor(input) || input.dtype !== 'i64') return undefined;
  if (input.numel === 0) throw badArgument('oneHot', 'no classes in an empty tensor', 'give numClasses');
  const { least, largest } = extremesOf(input, 'oneHot without numClasses');
  if (least < 0) throw badArgument('oneHot', `class ${String(least)}`, 'classes are whole numbers from 0');
  const isClass = op('eq', op('unsqueeze', input, -1), rangeOfSize(largest + 1));
  return { name: 'to', positional: [isClass, 'i64'], named: {} };
}

/** Each index as often as its count says, then one selection. */
function repeatByTensor(given: GivenCall): GivenCall | undefined {
  const [input, repeats] = [argument(given, 0, 'input'), argument(given, 1, 'repeats')];
  const dim = argument(given, 2, 'dim') ?? null;
  if (!isTensor(input) || !isTensor(repeats)) return undefined;
  if (repeats.ndim > 1) throw badArgument('repeatInterleave', 'repeats has several dims', 'give a vector of counts');
  const source = dim === null || input.ndim === 0 ? op('flatten', input) : input;
  const axis = dim === null ? 0 : Number(dim);
  const size = source.shape.at(axis) ?? 1;
  if (repeats.numel !== 1 && repeats.numel !== size) {
    throw badArgument('repeatInterleave', `${repeats.numel} counts for ${size} elements`, 'give one for each');
  }
  const counts = op('expand', op('flatten', op('to', repeats, 'i64')), [size]);
  return { name: 'indexSelect', positional: [source, axis, repeatedIndex(counts, size)], named: {} };
}

/** 0 .. size - 1, each as often as its count says. */
function repeatedIndex(counts: Tensor, size: number): Tensor {
  if (size === 0) return dispatchOne('zeros', [[0]], { dtype: 'i64' });
  const running = op('cumsum', counts, 0);
  const [total = 0, least = 0] = readNumbers('repeatInterleave by a tensor', [op('sum', counts), op('amin', counts)]);
  if (least < 0) throw badArgument('repeatInterleave', 'a count is negative', 'counts are 0 or more');
  if (total === 0) return dispatchOne('zeros', [[0]], { dtype: 'i64' });
  // Where an index begins, all are counted that begin there or before; those at the end occur no more.
  const starts = op('sub', running, counts);
  const begins = op('to', op('lt', starts, total), 'i64');
  const marks = op('scatterAdd', zerosOfSize(total, 'i64'), 0, op('clamp', starts, 0, total - 1), begins);
  return op('sub', op('cumsum', marks, 0), 1);
}

/** Masks become the indices of the places where they are true; one that takes a single value needs no places. */
function withoutIndexMasks(given: GivenCall): GivenCall | undefined {
  const [input, indices, values] = [argument(given, 0, 'input'), argument(given, 1, 'indices'), argument(given, 2, 'values')]; // prettier-ignore
  const isMask = (index: unknown): index is Tensor =>
    isTensor(index) && (index.dtype === 'bool' || index.dtype === 'u8');
  if (!Array.isArray(indices) || !indices.some(isMask)) return undefined;
  const [mask] = indices as readonly unknown[];
  const isSingle = indices.length === 1 && isTensor(mask) && mask.dtype === 'bool' && isTensor(input);
  if (isSingle && isTensor(values) && values.ndim <= input.ndim - mask.ndim) return undefined;
  const plain = indices.flatMap((index: unknown): readonly unknown[] =>
    isMask(index) ? placesOf(index, 'indexPut with a mask') : [index],
  );
  const { indices: _, ...named } = given.named;
  return withArgument({ ...given, named }, 1, plain);
}

function splitAtTensor(given: GivenCall): GivenCall | undefined {
  const how = argument(given, 1, 'indicesOrSections');
  if (!isTensor(how)) return undefined;
  const { indicesOrSections: _, ...named } = given.named;
  return withArgument({ ...given, named }, 1, how.ndim === 0 ? Number(how.item()) : how.toArray());
}

/** Targets one behind the other become rows, as long as the longest of them. */
function padTargets(given: GivenCall): GivenCall | undefined {
  const [logs, targets] = [argument(given, 0, 'logProbs'), argument(given, 1, 'targets')];
  const lengths = [lengthsOf(argument(given, 2, 'inputLengths')), lengthsOf(argument(given, 3, 'targetLengths'))];
  const withLengths = lengths.reduce<GivenCall>(
    (call, value, position) =>
      withArgument(withoutNamed(call, ['inputLengths', 'targetLengths'][position] ?? ''), position + 2, value),
    { ...given, positional: [logs, targets] },
  );
  const [, counts] = lengths;
  const isConcatenated = isTensor(logs) && isTensor(targets) && logs.ndim === 3 && targets.ndim === 1;
  const rest = withoutNamed(withoutNamed(withLengths, 'logProbs'), 'targets');
  const kept = { ...rest, positional: [...rest.positional, ...given.positional.slice(4)] };
  if (!isConcatenated || !isTensor(counts) || counts.numel === 0) return kept;
  const { largest } = extremesOf(counts, 'ctcLoss with targets one behind the other');
  if (targets.numel === 0 || largest === 0)
    return withArgument(kept, 1, dispatchOne('zeros', [[counts.numel, 0]], { dtype: 'i64' }));
  const wide = op('to', counts, 'i64');
  const starts = op('unsqueeze', op('sub', op('cumsum', wide, 0), wide), 1);
  const places = op('clamp', op('add', starts, rangeOfSize(largest)), 0, targets.numel - 1);
  return withArgument(kept, 1, op('take', targets, places));
}

/** Lengths may be given as a list. */
const lengthsOf = (value: unknown): unknown =>
  Array.isArray(value) ? tensor(value as number[], { dtype: 'i64' }) : value;

function withoutNamed({ named, ...given }: GivenCall, name: string): GivenCall {
  return { ...given, named: Object.fromEntries(Object.entries(named).filter(([key]) => key !== name)) };
}
