// The order of groups that lowers the most memory that temporaries take at a time. Several orders are made (the program's;
// always the group that frees most, or takes least; depth first), each is measured, and the best one is taken, the
// program's if none is better. All are topological, so that the choice cannot be wrong, only worse.
import { at, dtypeInfo } from '@tsinductor/base';
import type { BufferId, Group, LoopProgram } from '@tsinductor/ir';
import { lifetimesOf, peakOf, typicalBytes } from './lifetimes.ts';
import { PriorityQueue } from './priority-queue.ts';

interface PeakOptions {
  /** Where every group that could run makes more bytes than this, the one whose readers come first runs; 0: never. */
  readonly successorThreshold: number;
}

/** Of the groups that could run, so many are compared. */
const WINDOW = 64;

/** Groups by their positions in the order given, and what they wait for. */
interface Graph {
  readonly groups: readonly Group[];
  readonly makers: readonly ReadonlySet<number>[];
  readonly readers: readonly (readonly number[])[];
  /** Bytes of each temporary. */
  readonly bytes: ReadonlyMap<BufferId, number>;
}

/** The groups in the order chosen; ids follow it. */
export function orderForPeak(groups: readonly Group[], program: LoopProgram, options: PeakOptions): readonly Group[] {
  const graph = graphOf(groups, program);
  if (graph.bytes.size < 2) return groups;
  const measure = (order: readonly number[]): number =>
    typicalBytes(
      peakOf(
        lifetimesOf(
          program,
          order.map((position) => at(groups, position)),
        ),
        program,
      ),
      program,
    );
  const given: readonly number[] = groups.map((_, position) => position);
  let best = { order: given, peak: measure(given) };
  for (const order of [byMemory(graph, options), depthFirst(graph)]) {
    const peak = measure(order);
    if (peak < best.peak) best = { order, peak };
  }
  if (best.order === given) return groups;
  return best.order.map((position, id) => ({ ...at(groups, position), id }));
}

function graphOf(groups: readonly Group[], program: LoopProgram): Graph {
  const temporaries = new Map(
    program.buffers.filter(({ role }) => role === 'temporary').map((decl) => [decl.id, decl]),
  );
  const bytes = new Map<BufferId, number>();
  // Several groups where a buffer is made in parts.
  const makersOf = new Map<BufferId, number[]>();
  groups.forEach(({ writes, nodes }, position) => {
    for (const buffer of new Set(nodes.flatMap(({ outs }) => outs))) {
      const known = makersOf.get(buffer);
      if (known === undefined) makersOf.set(buffer, [position]);
      else known.push(position);
    }
    for (const buffer of writes) {
      const decl = temporaries.get(buffer);
      if (decl !== undefined) bytes.set(buffer, typicalBytes(decl.size, program) * dtypeInfo[decl.dtype].bytes);
    }
  });
  const makers = groups.map(
    ({ reads, nodes }, position) =>
      new Set(
        [...reads, ...nodes.flatMap(({ after = [] }) => after)]
          .flatMap((buffer) => makersOf.get(buffer) ?? [])
          .filter((own) => own !== position),
      ),
  );
  const readers = groups.map((): number[] => []);
  makers.forEach((all, position) => all.forEach((one) => at(readers, one).push(position)));
  return { groups, makers, readers, bytes };
}

/** Groups that could run, and which of them does. */
interface Frontier {
  push(position: number): void;
  /** `waits` says for each group how many makers have not run. */
  pop(waits: readonly number[]): number | undefined;
}

/** Kahn's algorithm. */
function topological({ groups, makers, readers }: Graph, frontier: Frontier): readonly number[] {
  const left = makers.map((all) => all.size);
  groups.forEach((_, position) => {
    if (left[position] === 0) frontier.push(position);
  });
  const order: number[] = [];
  for (let position = frontier.pop(left); position !== undefined; position = frontier.pop(left)) {
    order.push(position);
    for (const reader of at(readers, position)) {
      const waits = at(left, reader) - 1;
      left[reader] = waits;
      if (waits === 0) frontier.push(reader);
    }
  }
  return order;
}

/**
 * The group after which the least more lives; of those, the one that takes least while it runs, then the one whose reader
 * waits for the fewest others, then the first.
 */
function byMemory(graph: Graph, { successorThreshold }: PeakOptions): readonly number[] {
  const pending = new Map<BufferId, number>();
  for (const { reads } of graph.groups) for (const buffer of reads) pending.set(buffer, (pending.get(buffer) ?? 0) + 1);
  const made = graph.groups.map(({ writes }) => total(writes, graph));
  const freed = (position: number): number =>
    total(
      at(graph.groups, position).reads.filter((buffer) => pending.get(buffer) === 1),
      graph,
    );
  const firstReader = graph.readers.map((readers) => Math.min(Infinity, ...readers));
  const soonest = (position: number, waits: readonly number[]): number =>
    Math.min(Infinity, ...at(graph.readers, position).map((reader) => at(waits, reader)));
  const keyOf = (position: number, bySuccessor: boolean, waits: readonly number[]): readonly number[] =>
    bySuccessor
      ? [at(firstReader, position), position]
      : [at(made, position) - freed(position), at(made, position), soonest(position, waits), position];
  const ready: number[] = [];
  const pop = (waits: readonly number[]): number | undefined => {
    const candidates = ready.slice(0, WINDOW);
    const bySuccessor =
      successorThreshold > 0 && candidates.every((position) => at(made, position) > successorThreshold);
    let best: { readonly position: number; readonly key: readonly number[] } | undefined;
    for (const position of candidates) {
      const key = keyOf(position, bySuccessor, waits);
      if (best === undefined || isBefore(key, best.key)) best = { position, key };
    }
    if (best === undefined) return undefined;
    ready.splice(ready.indexOf(best.position), 1);
    for (const buffer of at(graph.groups, best.position).reads) pending.set(buffer, (pending.get(buffer) ?? 1) - 1);
    return best.position;
  };
  return topological(graph, { push: (position) => ready.push(position), pop });
}

const total = (buffers: readonly BufferId[], { bytes }: Graph): number =>
  buffers.reduce((sum, buffer) => sum + (bytes.get(buffer) ?? 0), 0);

function isBefore(a: readonly number[], b: readonly number[]): boolean {
  const place = a.findIndex((value, position) => value !== b[position]);
  return place !== -1 && at(a, place) < at(b, place);
}

/** What became possible last runs next: a value is used soon after it was made. */
function depthFirst(graph: Graph): readonly number[] {
  const since: number[] = [];
  let time = 0;
  const queue = new PriorityQueue<number>((a, b) =>
    at(since, a) === at(since, b) ? a - b : at(since, b) - at(since, a),
  );
  return topological(graph, {
    push: (position) => {
      since[position] = time;
      queue.push(position);
    },
    pop: () => {
      time += 1;
      return queue.pop();
    },
  });
}
