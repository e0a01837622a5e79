// What is reckoned with for symbolic sizes: what the settings say, and for a matrix product that may be small or large, two sizes.
import { staticValue } from '@tsinductor/codegen';
import type { Group, LoopNode } from '@tsinductor/ir';
import { choicesFor } from '../machine/choices.ts';
import type { CpuTarget } from '../machine/target.ts';

export function sizeHintsOf({ nodes }: Group, target: CpuTarget): readonly number[] {
  const { sizeHints = [] } = target;
  if (sizeHints.length > 0) return sizeHints;
  const products = nodes.filter((node) => node.kind === 'contract');
  return products.length === 1 && products.every(isOfAnySize) ? choicesFor(target).productHints : [];
}

/** Whether at least two sizes are symbols, so that operands may be read in place or be packed. */
function isOfAnySize({ m, n, over }: LoopNode & { readonly kind: 'contract' }): boolean {
  const unknown = [m, n, ...over].filter(({ extent }) => staticValue(extent) === undefined);
  return unknown.length >= 2;
}
