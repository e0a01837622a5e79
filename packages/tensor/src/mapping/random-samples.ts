// Random numbers under vmap: what the option `randomness` of each level says of them.
import { mappedRandom } from './errors.ts';
import { countOf, mappedTensor } from './level.ts';
import { processState } from '../process-state.ts';
import type { Tensor } from '../tensor.ts';

/**
 * Numbers of `shape` for the function that is mapped. They are drawn at once for all samples of the levels where samples have numbers
 * of their own.
 */
export function drawnForSamples(
  name: string,
  shape: readonly number[],
  draw: (shape: readonly number[]) => Tensor,
): Tensor {
  const levels = processState.mapping;
  if (levels.length === 0) return draw(shape);
  refuseRandom(name);
  const own = levels.filter(({ randomness }) => randomness === 'different');
  const all = own.length === 0 ? shape : [...own.map(countOf), ...shape];
  // What is drawn belongs to no level until it is handed out.
  const drawn = outsideLevels(() => draw(all));
  return own.reduce((whole, level) => mappedTensor(level, whole, true), drawn);
}

/** Throws where a vmap around was not told what random numbers are to be. */
export function refuseRandom(name: string): void {
  if (processState.mapping.some(({ randomness }) => randomness === 'error')) throw mappedRandom(name);
}

function outsideLevels<T>(work: () => T): T {
  const levels = processState.mapping.splice(0);
  try {
    return work();
  } finally {
    processState.mapping.push(...levels);
  }
}
