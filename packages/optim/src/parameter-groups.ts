// Parameters as users give them, in groups: an array or a record of tensors of any depth, or groups with options of their own.
import { isFloat } from '@tsinductor/base';
import { isTensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { noParameters, notAParameter } from './errors.ts';

/** Tensors in any nesting of arrays and records. */
export type TensorTree = Tensor | readonly TensorTree[] | { readonly [name: string]: TensorTree };

/** Parameters that share options. */
export type ParameterGroup<Options> = Partial<Options> & { readonly params: Iterable<Tensor> | TensorTree };

/** What an optimiser changes: tensors, in any nesting, or groups of them. */
export type OptimizerParameters<Options> = Iterable<Tensor> | TensorTree | readonly ParameterGroup<Options>[];

/** A group as it was given: its tensors in order, and the options of its own. */
interface GivenGroup<Options> {
  readonly params: readonly Tensor[];
  readonly options: Partial<Options>;
}

/** Throws UserError OPTIM_NO_PARAMETERS, OPTIM_PARAMETER. */
export function readGroups<Options>(
  name: string,
  parameters: OptimizerParameters<Options>,
): readonly GivenGroup<Options>[] {
  const given = isGroups(parameters) ? parameters : [{ params: parameters }];
  const groups = given.map(({ params, ...options }) => ({
    params: leavesOf(params, (why) => notAParameter(name, why)),
    options: options as Partial<Options>,
  }));
  const all = groups.flatMap(({ params }) => params);
  if (all.length === 0) throw noParameters(name);
  if (new Set(all).size < all.length) throw notAParameter(name, 'it was given twice');
  for (const tensor of all) checkParameter(name, tensor);
  return groups;
}

function checkParameter(name: string, tensor: Tensor): void {
  if (!isFloat(tensor.dtype)) throw notAParameter(name, `it is ${tensor.dtype}`);
  if (!tensor.isLeaf) throw notAParameter(name, 'a recorded operator made it, so it is no leaf');
}

const isGroups = <Options>(given: OptimizerParameters<Options>): given is readonly ParameterGroup<Options>[] =>
  Array.isArray(given) && given.length > 0 && given.every(isGroup);

const isGroup = (given: unknown): boolean =>
  typeof given === 'object' && given !== null && !isTensor(given) && 'params' in given;

/** Every tensor, in order. Throws what `refuse` makes of anything else that is in the nesting. */
export function leavesOf(tree: unknown, refuse: (why: string) => Error): readonly Tensor[] {
  if (isTensor(tree)) return [tree];
  if (typeof tree !== 'object' || tree === null) throw refuse(`${String(tree)} is no tensor`);
  const members: readonly unknown[] = isIterable(tree) ? [...tree] : Object.values(tree);
  return members.flatMap((member) => leavesOf(member, refuse));
}

const isIterable = (value: object): value is Iterable<unknown> => Symbol.iterator in value;
