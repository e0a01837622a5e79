// Sums over many points in blocks within blocks: a state takes the elements of a few points, then is merged into the state of the block
// around it, which begins anew as well after a few blocks. So a sum of n elements has a small multiple of log n roundings on the
// way to each of its lanes' results instead of n (a cascade: Castaldo, Whaley and Chronopoulos, Reducing floating-point error in dot
// product using the superblock family of algorithms, 2008). In: the loops over reduced axes. Out: into which blocks each is cut.
//
// The blocks follow from sizes alone, as chunks do, so that a sum does not depend on the threads.
import { at, isFloat } from '@tsinductor/base';
import { largestIndex, rangeOf, scalarOperands } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';
import type { Planning } from './planning.ts';
import type { Carrying } from './work.ts';

/** Whether a state is rounded at every step, as sums are, and not merely chosen, as a maximum is. */
export function roundsStates({ step }: Pick<Carrying, 'step'>): boolean {
  const dependent: boolean[] = [];
  return step.nodes.some((node, id) => {
    const isOfState = node.kind === 'carried' || scalarOperands(node).some((operand) => at(dependent, operand));
    dependent[id] = isOfState;
    return isOfState && node.kind === 'apply' && isFloat(node.dtype) && pointwise[node.op].ulp !== 0;
  });
}

/** A loop whose every iteration is a step of the states, or contains some. */
interface CascadeLoop {
  /** Undefined where it is not known how many there are at most. */
  readonly iterations: number | undefined;
}

/** Iterations per block for each of the loops, which are given the outermost first: those of its largest blocks first, none where it is whole. */
export function cascadeOf(
  { choices }: Pick<Planning, 'choices'>,
  loops: readonly CascadeLoop[],
): readonly (readonly number[])[] {
  const { steps, levels } = choices.cascade;
  const sizes: (readonly number[])[] = [];
  // How many steps one after another the present state has taken within an iteration of the loop that is looked at.
  let chain = 1;
  for (const { iterations } of loops.toReversed()) {
    if (iterations !== undefined && chain * iterations <= steps) {
      chain *= Math.max(1, iterations);
      sizes.unshift([]);
      continue;
    }
    const blocks = [Math.max(1, Math.floor(steps / chain))];
    const isOpen = (): boolean =>
      iterations === undefined ? blocks.length < levels : Math.ceil(iterations / at(blocks, 0)) > steps;
    while (isOpen()) blocks.unshift(at(blocks, 0) * steps);
    chain = iterations === undefined ? steps : Math.ceil(iterations / at(blocks, 0));
    sizes.unshift(blocks);
  }
  return sizes;
}

/** How many iterations a loop over `points` has at most that takes some at a time; undefined where nothing but 32 bits limits them. */
export function mostIterations(points: Index, each: number): number | undefined {
  const { max } = rangeOf(points);
  return max === null || (points.kind !== 'int' && max >= largestIndex) ? undefined : Math.ceil(max / each);
}
