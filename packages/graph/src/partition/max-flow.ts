// Largest flow and smallest cut of a network with capacities, by Dinic's algorithm: levels by breadth-first search, then
// blocking flows along them. ("Algorithm for solution of a problem of maximum flow in networks with power estimation", 1970.)
import { at } from '@tsinductor/base';

/** Flows smaller than this are rounding. */
const NOTHING = 1e-9;

export class FlowNetwork {
  readonly #heads: number[][];
  /** Edge `e` and the way back `e ^ 1` are neighbours. */
  readonly #targets: number[] = [];
  readonly #capacities: number[] = [];

  /** A network of vertices 0 to `vertices - 1` without edges. */
  constructor(vertices: number) {
    this.#heads = Array.from({ length: vertices }, () => []);
  }

  /** An edge that lets `capacity` through: any number from 0 to Infinity. */
  connect(from: number, to: number, capacity: number): void {
    at(this.#heads, from).push(this.#targets.length);
    at(this.#heads, to).push(this.#targets.length + 1);
    this.#targets.push(to, from);
    this.#capacities.push(capacity, 0);
  }

  /**
   * The vertices on the side of `source` of a smallest cut. Uses the network up. An infinite edge is in no cut: there has to be
   * a way to cut without one.
   */
  cut(source: number, sink: number): ReadonlySet<number> {
    for (let levels = this.#levels(source); at(levels, sink) >= 0; levels = this.#levels(source)) {
      const next = this.#heads.map(() => 0);
      while (this.#push(source, sink, { levels, next }) > NOTHING);
    }
    const levels = this.#levels(source);
    return new Set(levels.flatMap((level, vertex) => (level >= 0 ? [vertex] : [])));
  }

  #levels(source: number): number[] {
    const levels = this.#heads.map(() => -1);
    levels[source] = 0;
    const queue = [source];
    for (let index = 0; index < queue.length; index += 1) {
      const vertex = at(queue, index);
      for (const edge of at(this.#heads, vertex)) {
        const target = at(this.#targets, edge);
        if (at(this.#capacities, edge) <= NOTHING || at(levels, target) >= 0) continue;
        levels[target] = at(levels, vertex) + 1;
        queue.push(target);
      }
    }
    return levels;
  }

  /** Pushes flow along one path by levels, without recursion: paths are as long as graphs are deep. */
  #push(source: number, sink: number, { levels, next }: { levels: readonly number[]; next: number[] }): number {
    const path: number[] = [];
    let vertex = source;
    while (vertex !== sink) {
      const edges = at(this.#heads, vertex);
      const place = at(next, vertex);
      const edge = edges[place];
      if (edge === undefined) {
        const last = path.pop();
        if (last === undefined) return 0;
        vertex = at(this.#targets, last ^ 1);
        next[vertex] = at(next, vertex) + 1;
        continue;
      }
      const target = at(this.#targets, edge);
      if (at(this.#capacities, edge) > NOTHING && at(levels, target) === at(levels, vertex) + 1) {
        path.push(edge);
        vertex = target;
      } else next[vertex] = place + 1;
    }
    const flow = Math.min(...path.map((edge) => at(this.#capacities, edge)));
    for (const edge of path) {
      this.#capacities[edge] = at(this.#capacities, edge) - flow;
      this.#capacities[edge ^ 1] = at(this.#capacities, edge ^ 1) + flow;
    }
    return flow;
  }
}
