// Paths between clusters, against the closure of who reads whom, while clusters of random programs are joined.
import { expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { contiguousMeta, GraphBuilder } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import type { LoopNode } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { singleCluster } from './cluster.ts';
import type { Cluster } from './cluster.ts';
import { DependencePaths } from './dependence-paths.ts';
import { factsOf } from './facts.ts';
import type { Facts } from './facts.ts';

/** Sums of two earlier values each, chosen by a fixed sequence. */
function randomProgram(seed: number): { readonly nodes: readonly LoopNode[]; readonly facts: Facts } {
  let state = seed;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const b = new GraphBuilder({ expand: true });
  const meta = contiguousMeta([int(4)], 'f32');
  const values = [b.placeholder('x', meta), b.placeholder('y', meta)];
  for (let call = 0; call < 24; call += 1)
    values.push(b.call('add', [at(values, below(values.length)), at(values, below(values.length))]));
  b.output(...values.slice(2));
  const program = lowerGraph(b.finish());
  return { nodes: program.nodes, facts: factsOf(program, program.nodes) };
}

/** The clusters that directly read what each makes. */
function readersOf(clusters: readonly Cluster[], facts: Facts): Closure {
  return new Map(
    clusters.map((cluster) => {
      const positions = cluster.nodes.flatMap(({ node }) => node.outs.flatMap((out) => facts.readers(out)));
      return [cluster, new Set(positions.map((position) => at(clusters, position)).filter((next) => next !== cluster))];
    }),
  );
}

type Closure = ReadonlyMap<Cluster, ReadonlySet<Cluster>>;

/** All clusters that depend on each, however far. */
function closureOf(readers: Closure): Closure {
  const closure = new Map([...readers].map(([cluster, next]) => [cluster, new Set(next)]));
  for (let size = -1; size !== totalOf(closure);) {
    size = totalOf(closure);
    for (const reached of closure.values())
      for (const next of [...reached]) for (const further of closure.get(next) ?? []) reached.add(further);
  }
  return closure;
}

const totalOf = (closure: Closure): number => [...closure.values()].reduce((sum, { size }) => sum + size, 0);

/** Two clusters that may be one, and what is said wrongly of any two. */
interface Answers {
  readonly wrong: readonly (readonly [Cluster, Cluster])[];
  readonly joinable: readonly (readonly [Cluster, Cluster])[];
  /** For each pair whether there is a path, and whether there is one through others. */
  readonly kinds: readonly string[];
}

function answersOf(clusters: readonly Cluster[], facts: Facts, paths: DependencePaths): Answers {
  const readers = readersOf(clusters, facts);
  const closure = closureOf(readers);
  const leads = (from: Cluster, to: Cluster): boolean => closure.get(from)?.has(to) === true;
  const distinct = [...new Set(clusters)];
  const pairs = distinct.flatMap((from) => distinct.filter((to) => to !== from).map((to) => [from, to] as const));
  const answers = pairs.map((pair) => {
    const [from, to] = pair;
    const indirect = [...(readers.get(from) ?? [])].some((next) => next !== to && leads(next, to));
    const said = [paths.has({ from, to, direct: true }), paths.has({ from, to, direct: false })].join(' ');
    return { pair, kind: [leads(from, to), indirect].join(' '), said, mayJoin: !indirect && !leads(to, from) };
  });
  return {
    wrong: answers.filter(({ kind, said }) => kind !== said).map(({ pair }) => pair),
    joinable: answers.filter(({ mayJoin }) => mayJoin).map(({ pair }) => pair),
    kinds: answers.map(({ kind }) => kind),
  };
}

test.each([1, 2, 3, 4, 5, 6])('are those of the closure: seed %i', (seed) => {
  const { nodes, facts } = randomProgram(seed);
  const clusters: Cluster[] = nodes.map(singleCluster);
  const paths = new DependencePaths({ nodes, facts, clusterAt: (position) => at(clusters, position) });
  const kinds = new Set<string>();
  for (let joins = 0; joins < 12; joins += 1) {
    const answers = answersOf(clusters, facts, paths);
    expect(answers.wrong).toEqual([]);
    for (const kind of answers.kinds) kinds.add(kind);
    const [left, right] = at(answers.joinable, (seed * 31 + joins * 17) % answers.joinable.length);
    const members = [...left.nodes, ...right.nodes].sort((a, b) => a.position - b.position);
    const joined: Cluster = { ...left, nodes: members };
    for (const { position } of members) clusters[position] = joined;
    paths.add(joined);
  }
  expect([...kinds].sort()).toEqual(['false false', 'true false', 'true true']);
});
