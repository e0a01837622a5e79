// The state of a module in the form of PyTorch's state_dict: tensors by name.
import { types } from 'node:util';
import { isTensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { stateDiffers } from './errors.ts';

export type StateDict = Readonly<Record<string, Tensor>>;

export interface LoadOptions {
  /** Whether both have to have the same names; if absent they have to. */
  readonly strict?: boolean;
}

/** What was left out, without `strict`. */
export interface LoadReport {
  /** Of the module, and not in the state. */
  readonly missingKeys: readonly string[];
  /** In the state, and not of the module. */
  readonly unexpectedKeys: readonly string[];
}

type Named = readonly (readonly [name: string, tensor: Tensor])[];

/** `weightIhL0` is `weight_ih_l0`, as PyTorch has it. */
export const snakeCase = (name: string): string =>
  name.replace(/([a-z0-9])([A-Z])/g, (_, before: string, letter: string) => `${before}_${letter.toLowerCase()}`);

export const stateOf = (own: Named): StateDict => Object.fromEntries(own);

/** Copies what has the same name. Throws UserError NN_STATE, having changed nothing. */
export function loadInto(
  own: Named,
  given: StateDict | ReadonlyMap<string, Tensor>,
  { strict = true }: LoadOptions,
): LoadReport {
  if (typeof given !== 'object' || (given as unknown) === null) throw stateDiffers(['it is no record of tensors']);
  const state: ReadonlyMap<string, Tensor> = isMap(given) ? given : new Map(Object.entries(given));
  const names = new Set(own.map(([name]) => name));
  const missingKeys = own.flatMap(([name]) => (state.has(name) ? [] : [name]));
  const unexpectedKeys = [...state.keys()].filter((name) => !names.has(name));
  const pairs = own.flatMap(([name, tensor]) => {
    const saved = state.get(name);
    return saved === undefined ? [] : [{ name, tensor, saved }];
  });
  const problems = [
    ...(strict && missingKeys.length > 0 ? [`it lacks ${listed(missingKeys)}`] : []),
    ...(strict && unexpectedKeys.length > 0 ? [`it has ${listed(unexpectedKeys)} besides`] : []),
    ...pairs.flatMap(({ name, tensor, saved }) => shapeProblem(name, tensor, saved)),
  ];
  if (problems.length > 0) throw stateDiffers(problems);
  for (const { tensor, saved } of pairs) tensor.copy_(saved);
  return { missingKeys, unexpectedKeys };
}

function shapeProblem(name: string, tensor: Tensor, saved: unknown): readonly string[] {
  if (!isTensor(saved)) return [`${name} is no tensor in it`];
  const [own, other] = [tensor.shape, saved.shape].map((shape) => `[${shape.join(', ')}]`);
  return own === other ? [] : [`${name} has shape ${String(other)} in it, and ${String(own)} here`];
}

const isMap = (given: object): given is ReadonlyMap<string, Tensor> => types.isMap(given);

const listed = (names: readonly string[]): string =>
  `${names.slice(0, 6).join(', ')}${names.length > 6 ? ` and ${String(names.length - 6)} more` : ''}`;
