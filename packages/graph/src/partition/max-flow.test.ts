// Cuts of random networks against all ways to cut them.
import { expect, test } from '@jest/globals';
import { FlowNetwork } from './max-flow.ts';

type Edge = readonly [from: number, to: number, capacity: number];

/** Numbers from 0 to before 1 that are the same each time. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** What the edges from a side to the other let through. */
const sizeOf = (edges: readonly Edge[], side: ReadonlySet<number>): number =>
  edges.reduce((sum, [from, to, capacity]) => (side.has(from) && !side.has(to) ? sum + capacity : sum), 0);

/** The smallest cut of all between the first vertex and the last. */
function smallest(edges: readonly Edge[], vertices: number): number {
  let least = Infinity;
  for (let mask = 0; mask < 2 ** (vertices - 2); mask += 1) {
    const side = new Set([0]);
    for (let vertex = 1; vertex < vertices - 1; vertex += 1) if (((mask >> (vertex - 1)) & 1) === 1) side.add(vertex);
    least = Math.min(least, sizeOf(edges, side));
  }
  return least;
}

test('a cut is the smallest of all', () => {
  const next = numbers(7);
  for (let trial = 0; trial < 200; trial += 1) {
    const vertices = 4 + Math.floor(next() * 5);
    const edges = Array.from({ length: 3 * vertices }, (): Edge => {
      const [from, to] = [Math.floor(next() * vertices), Math.floor(next() * vertices)];
      return [from, to, from === 0 && to === vertices - 1 ? 1 : Math.floor(next() * 10)];
    });
    const network = new FlowNetwork(vertices);
    for (const [from, to, capacity] of edges) network.connect(from, to, capacity);
    const side = network.cut(0, vertices - 1);
    expect(side.has(0)).toBe(true);
    expect(side.has(vertices - 1)).toBe(false);
    expect(sizeOf(edges, side)).toBe(smallest(edges, vertices));
  }
});

test('infinite edges are not cut', () => {
  const network = new FlowNetwork(4);
  network.connect(0, 1, Infinity);
  network.connect(1, 2, 3);
  network.connect(2, 3, Infinity);
  expect([...network.cut(0, 3)]).toEqual([0, 1]);
});

test('long chains are cut without recursion', () => {
  const vertices = 20_000;
  const network = new FlowNetwork(vertices);
  for (let vertex = 0; vertex + 1 < vertices; vertex += 1) network.connect(vertex, vertex + 1, vertex === 9000 ? 1 : 2);
  expect(network.cut(0, vertices - 1).size).toBe(9001);
});
