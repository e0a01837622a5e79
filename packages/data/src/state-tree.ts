// States as they stand in a file: tensors by name, and around them text in JSON, in which a reference stands for each tensor. Numbers that JSON
// has no word for are references as well.
import { isTensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { badFile, describe } from '@tsinductor/tensor/file-access';
import { isRecord, mostDepth } from './dataset.ts';
import { notAState } from './errors.ts';

/** A value that JSON does not have: the name of a tensor, or a number as text. */
type Reference = { readonly $tensor: string } | { readonly $number: string } | { readonly $bigint: string };

const keys = ['$tensor', '$number', '$bigint'];

/** The state as JSON; its tensors are added to `tensors`, named by the way to them. */
export const flattenState = (name: string, state: unknown, tensors: Map<string, Tensor>): string =>
  JSON.stringify(referring({ name, depth: 0 }, state, tensors));

/** A place in a state: the way to it, and how many lists and records are around it. */
interface Place {
  readonly name: string;
  readonly depth: number;
}

function referring({ name, depth }: Place, state: unknown, tensors: Map<string, Tensor>): unknown {
  if (depth > mostDepth)
    throw notAState(`${name.slice(0, 40)} …`, `deeper than ${String(mostDepth)}, or within itself`);
  const inside = (key: string | number, part: unknown): unknown =>
    referring({ name: `${name}.${String(key)}`, depth: depth + 1 }, part, tensors);
  if (isTensor(state)) return { $tensor: named(name, state, tensors) } satisfies Reference;
  if (typeof state === 'number') return numberOrReference(state);
  if (typeof state === 'bigint') return { $bigint: String(state) } satisfies Reference;
  if (state === null || typeof state === 'boolean' || typeof state === 'string') return state;
  if (Array.isArray(state)) return Array.from(state, (part, index) => inside(index, part));
  if (!isRecord(state)) throw notAState(name, describe(state));
  // What is undefined is as if it were not there, in a record.
  const entries = Object.entries(state).filter(([, part]) => part !== undefined);
  const [first] = entries;
  if (first !== undefined && keys.includes(first[0])) throw notAState(name, `a record whose first name is ${first[0]}`);
  return Object.fromEntries(entries.map(([key, part]) => [key, inside(key, part)]));
}

const numberOrReference = (value: number): number | Reference =>
  Number.isFinite(value) && !Object.is(value, -0) ? value : { $number: Object.is(value, -0) ? '-0' : String(value) };

/** The name that a tensor gets. Ways that read the same are told apart. */
function named(name: string, tensor: Tensor, tensors: Map<string, Tensor>): string {
  let free = name;
  for (let count = 2; tensors.has(free); count += 1) free = `${name}#${String(count)}`;
  tensors.set(free, tensor);
  return free;
}

/** The state that `flattenState` was given. Throws UserError FILE_FORMAT for a text that it did not write. */
export function unflattenState(text: string, tensors: ReadonlyMap<string, Tensor>): unknown {
  let state: unknown;
  try {
    state = JSON.parse(text);
  } catch {
    throw badFile('checkpoint', 'its metadata is no JSON');
  }
  return resolved(state, tensors, 0);
}

function resolved(state: unknown, tensors: ReadonlyMap<string, Tensor>, depth: number): unknown {
  if (depth > mostDepth) throw badFile('checkpoint', `a state is deeper than ${String(mostDepth)}`);
  if (typeof state !== 'object' || state === null) return state;
  if (Array.isArray(state)) return state.map((part) => resolved(part, tensors, depth + 1));
  const entries: [string, unknown][] = Object.entries(state);
  const [first] = entries;
  if (first !== undefined && keys.includes(first[0])) return valueOf(first[0], String(first[1]), tensors);
  return Object.fromEntries(entries.map(([key, part]) => [key, resolved(part, tensors, depth + 1)]));
}

function valueOf(key: string, text: string, tensors: ReadonlyMap<string, Tensor>): unknown {
  if (key === '$number') return Number(text);
  if (key === '$bigint' && /^-?\d+$/.test(text)) return BigInt(text);
  const tensor = tensors.get(text);
  if (key !== '$tensor' || tensor === undefined)
    throw badFile('checkpoint', `there is nothing for ${key} ${JSON.stringify(text.slice(0, 60))}`);
  return tensor;
}
