// Which tensors outlive a function that is run in segments. In: its result, and the objects that it could keep things on.
// Out: the tensors in them that are recorded and have no memory yet. What is not found, because it is kept elsewhere or
// too deep, is computed when somebody asks for it.
import { types } from 'node:util';
import { isTensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';

const maximumObjects = 10_000;

/** Recorded tensors in any nesting of arrays, maps, sets and objects. */
export function recordedIn(roots: readonly unknown[]): readonly Tensor[] {
  const found = new Set<Tensor>();
  const seen = new Set<object>();
  const open = roots.filter(isObject);
  for (let value = open.pop(); value !== undefined && seen.size < maximumObjects; value = open.pop()) {
    if (isTensor(value)) {
      if (value.backing.kind === 'recorded') found.add(value);
    } else if (!seen.has(value)) {
      seen.add(value);
      for (const part of partsOf(value)) if (isObject(part)) open.push(part);
    }
  }
  return [...found];
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function partsOf(value: object): Iterable<unknown> {
  if (ArrayBuffer.isView(value)) return [];
  if (types.isMap(value)) return [...value].flat();
  return types.isSet(value) ? value : Object.values(value);
}
