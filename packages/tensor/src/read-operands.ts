// Arguments whose values decide the shape of a result, which a graph cannot: eagerly they are read, and the call becomes
// one with plain numbers or index tensors; while tracing the read is what breaks the graph. One row per operator: from
// the arguments that a user gave to those that the operator table takes, or nothing where they are fine as they are.
import type { Named } from './bound-call.ts';
import { tensorOfElements } from './create.ts';
import { dispatchOne } from './dispatch.ts';
import { badArgument } from './errors.ts';
import { isRecording } from './process-state.ts';
import { placesOf } from './subscript.ts';
import { isTensor, rawElements } from './tensor.ts';
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
  cov: checkWeights,
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
  if (classes !== -1 || !isTensor(input)) return undefined;
  if (input.numel === 0) throw badArgument('oneHot', 'no classes in an empty tensor', 'give numClasses');
  const largest = dispatchOne('amax', [input]).item();
  return { name: given.name, positional: [input, Number(largest) + 1], named: {} };
}

/** Each index as often as its count says, then one selection. */
function repeatByTensor(given: GivenCall): GivenCall | undefined {
  const [input, repeats] = [argument(given, 0, 'input'), argument(given, 1, 'repeats')];
  const dim = argument(given, 2, 'dim') ?? null;
  if (!isTensor(input) || !isTensor(repeats)) return undefined;
  if (repeats.ndim > 1) throw badArgument('repeatInterleave', 'repeats has several dims', 'give a vector of counts');
  const counts = Array.from(rawElements(repeats, 'repeatInterleave by a tensor'), Number);
  const source = dim === null ? dispatchOne('flatten', [input]) : input;
  const axis = dim === null ? 0 : Number(dim);
  const size = source.shape.at(axis) ?? 1;
  if (counts.length !== 1 && counts.length !== size) {
    throw badArgument('repeatInterleave', `${counts.length} counts for ${size} elements`, 'give one for each');
  }
  if (counts.some((count) => count < 0))
    throw badArgument('repeatInterleave', 'a count is negative', 'counts are 0 or more');
  const picked = Array.from({ length: size }, (_, index) =>
    new Array<bigint>(counts[index % counts.length] ?? 0).fill(BigInt(index)),
  );
  const elements = BigInt64Array.from(picked.flat());
  return {
    name: 'indexSelect',
    positional: [source, axis, tensorOfElements(elements, 'i64', [elements.length])],
    named: {},
  };
}

/** Masks become the indices of the places where they are true. */
function withoutIndexMasks(given: GivenCall): GivenCall | undefined {
  const indices = argument(given, 1, 'indices');
  const isMask = (index: unknown): index is Tensor =>
    isTensor(index) && (index.dtype === 'bool' || index.dtype === 'u8');
  if (!Array.isArray(indices) || !indices.some(isMask)) return undefined;
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

/** Weights are counts or masses. A trace does not know them; there the user's data is taken at its word. */
function checkWeights(given: GivenCall): undefined {
  if (isRecording()) return undefined;
  for (const name of ['fweights', 'aweights']) {
    const weights = given.named[name];
    if (isTensor(weights) && Array.from(rawElements(weights, 'cov'), Number).some((weight) => weight < 0)) {
      throw badArgument('cov', `${name} has a negative weight`, 'weights are 0 or more');
    }
  }
  return undefined;
}
