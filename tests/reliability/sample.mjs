// Random numbers that are the same in every run of a seed, and samples of lists.

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
