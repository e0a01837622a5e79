// How large a group may grow, and what two clusters have in common only in part.
import { at } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import { countOperations } from '@tsinductor/ir';
import type { BufferId, LoopNode } from '@tsinductor/ir';
import type { Cluster, Member } from './cluster.ts';
import type { Facts } from './facts.ts';
import { bodiesOf, buffersRead } from './node-access.ts';

/**
 * The most operations of a group, by the costs of the ops' table. C++ compilers take time by the square of what one function
 * has: beyond this, two kernels are compiled sooner than one, and what passes between them is little beside what they compute.
 */
const LARGEST_GROUP = 2048;

export class GroupLimits {
  readonly #facts: Facts;
  readonly #config: Config;
  /** What a point of each node costs, by position. */
  readonly #operations: readonly number[];
  /** The same of clusters, which stay as they are. */
  readonly #sums = new WeakMap<Cluster, number>();

  constructor(nodes: readonly LoopNode[], facts: Facts, config: Config) {
    this.#facts = facts;
    this.#config = config;
    this.#operations = nodes.map((node) => bodiesOf(node).reduce((sum, body) => sum + countOperations(body), 0));
  }

  /** Of what two clusters together would have too much; undefined: of nothing. */
  refuse(a: Cluster, b: Cluster): string | undefined {
    const { maxFusionSize, maxFusionUniqueIoBuffers } = this.#config;
    if (a.nodes.length + b.nodes.length > maxFusionSize)
      return `the group would have more than ${String(maxFusionSize)} nodes`;
    if (this.#operationsOf(a) + this.#operationsOf(b) > LARGEST_GROUP)
      return `the group would take more than ${String(LARGEST_GROUP)} operations`;
    if (maxFusionUniqueIoBuffers !== null && this.#buffersUsed(a, b) > maxFusionUniqueIoBuffers)
      return `the group would read and write more than ${String(maxFusionUniqueIoBuffers)} buffers`;
    return undefined;
  }

  #operationsOf(cluster: Cluster): number {
    const known = this.#sums.get(cluster);
    if (known !== undefined) return known;
    const sum = cluster.nodes.reduce((before, { position }) => before + at(this.#operations, position), 0);
    this.#sums.set(cluster, sum);
    return sum;
  }

  /** Buffers that both together read, and write for others. */
  #buffersUsed(a: Cluster, b: Cluster): number {
    const members = [...a.nodes, ...b.nodes];
    const used = new Set(members.flatMap(({ node }) => [...node.outs, ...buffersRead(node)]));
    return [...used].filter((id) => !isInside(id, members, this.#facts)).length;
  }
}

/** Whether only some nodes write and read a buffer. */
export function isInside(buffer: BufferId, members: readonly Member[], facts: Facts): boolean {
  const positions = new Set(members.map(({ position }) => position));
  return (
    facts.decl(buffer).role === 'temporary' &&
    [...facts.readers(buffer), ...facts.writers(buffer)].every((position) => positions.has(position))
  );
}

/** Whether `reader` reads a buffer of which `writer` fills a part: others fill the rest of it, and have to run before. */
export function readsPartsOf(reader: Cluster, writer: Cluster, facts: Facts): boolean {
  if (!facts.hasParts) return false;
  const parts = new Set(writer.nodes.flatMap(({ node }) => node.outs.filter((out) => facts.isInParts(out))));
  return reader.nodes.some(({ position }) => facts.reads(position).some((buffer) => parts.has(buffer)));
}
