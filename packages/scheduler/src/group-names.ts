// Names of groups: fused_ and the operators that the nodes came from, or what the nodes themselves compute, in order, each
// once. Unique in a schedule.
import type { Config } from '@tsinductor/config';
import type { LoopNode } from '@tsinductor/ir';
import type { Facts } from './facts.ts';

const LONGEST = 60;
/** Room for a number that makes a name unique. */
const ROOM = 5;

export class GroupNames {
  readonly #used = new Map<string, number>();
  readonly #mostOps: number;
  readonly #wordsOf: (node: LoopNode) => readonly string[];

  constructor({ kernelNameMaxOps, cpp }: Config, facts: Facts) {
    this.#mostOps = kernelNameMaxOps;
    this.#wordsOf =
      cpp.descriptiveNames === 'inductor_node'
        ? (node) => [facts.nameOf(node).replace(/_\d+(?=\+|$)/g, '')]
        : (node) => node.origins.map((origin) => origin.op);
  }

  nameOf(nodes: readonly LoopNode[]): string {
    const ops = [...new Set(nodes.flatMap(this.#wordsOf).map(snakeCase))].slice(0, this.#mostOps);
    const whole = [...(ops.length > 1 || nodes.length > 1 ? ['fused'] : []), ...ops].join('_');
    const base = shorten(/^[a-z]/.test(whole) ? whole : `kernel_${whole}`);
    const count = (this.#used.get(base) ?? 0) + 1;
    this.#used.set(base, count);
    return count === 1 ? base : this.#numbered(base, count);
  }

  #numbered(base: string, count: number): string {
    const name = `${base}_${String(count)}`;
    if (!this.#used.has(name)) {
      this.#used.set(name, 1);
      return name;
    }
    return this.#numbered(base, count + 1);
  }
}

const snakeCase = (name: string): string =>
  name.replace(/([A-Z])/g, (letter) => `_${letter.toLowerCase()}`).replace(/[^a-z0-9_]/g, '_');

/** Cut at a word, with room for a number. */
function shorten(name: string): string {
  if (name.length <= LONGEST - ROOM) return name;
  const cut = name.slice(0, LONGEST - ROOM);
  const end = cut.lastIndexOf('_');
  return end > 0 ? cut.slice(0, end) : cut;
}
