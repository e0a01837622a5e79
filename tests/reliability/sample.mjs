// Random numbers that are the same in every run of a seed, samples of lists, and trials beside each other.
import { availableParallelism } from 'node:os';

/** A generator of whole numbers below a bound. */
export function randomOf(seed) {
  let state = (seed * 2654435761 + 12345) >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** `count` of the items, in their order; all of them, if there are no more. */
export function picked(items, count, seed) {
  const random = randomOf(seed);
  const rest = items.map((item, index) => ({ item, index }));
  while (rest.length > count) rest.splice(random(rest.length), 1);
  return rest.map(({ item }) => item);
}

/**
 * Runs `trial` for each item, as many at once as there are cores, and gives the results in the order of the items. Trials mostly
 * wait for processes, and must not depend on each other.
 */
export async function beside(items, trial, lanes = availableParallelism()) {
  const results = new Array(items.length);
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const at = next;
      next += 1;
      results[at] = await trial(items[at], at);
    }
  };
  await Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane));
  return results;
}
