// Names of groups: fused_ and the operators that the nodes came from, or what the nodes themselves compute, in order, each
// once. Groups of the same operators have the same name: their kernels may be one.
import type { Config } from '@tsinductor/config';
import type { LoopNode } from '@tsinductor/ir';
import type { Facts } from './facts.ts';

/** Gives a group of nodes its name. */
export type GroupNaming = (nodes: readonly LoopNode[]) => string;

const LONGEST = 60;

export function groupNaming({ kernelNameMaxOps, cpp }: Config, facts: Facts): GroupNaming {
  const wordsOf = (node: LoopNode): readonly string[] =>
    cpp.descriptiveNames === 'inductor_node'
      ? [facts.nameOf(node).replace(/_\d+(?=\+|$)/g, '')]
      : node.origins.map(({ op }) => op);
  const spelt = new Map<string, string>();
  const spell = (word: string): string => {
    const known = spelt.get(word) ?? snakeCase(word);
    spelt.set(word, known);
    return known;
  };
  return (nodes) => {
    const ops = [...new Set(nodes.flatMap(wordsOf).map(spell))].slice(0, kernelNameMaxOps);
    const whole = [...(ops.length > 1 || nodes.length > 1 ? ['fused'] : []), ...ops].join('_');
    return shorten(/^[a-z]/.test(whole) ? whole : `kernel_${whole}`);
  };
}

const snakeCase = (name: string): string =>
  name.replace(/([A-Z])/g, (letter) => `_${letter.toLowerCase()}`).replace(/[^a-z0-9_]/g, '_');

/** Cut at a word. */
function shorten(name: string): string {
  if (name.length <= LONGEST) return name;
  const cut = name.slice(0, LONGEST);
  const end = cut.lastIndexOf('_');
  return end > 0 ? cut.slice(0, end) : cut;
}
