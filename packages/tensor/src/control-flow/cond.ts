// cond and switchCase: one of several functions, by a value of a tensor. In eager mode the value is read; where a function is traced
// the branch is one node, whose functions are graphs of their own.
import { at } from '@tsinductor/base';
import { dispatchOne } from '../dispatch.ts';
import { located } from '../location.ts';
import { mappedOf } from '../mapping/level.ts';
import { processState } from '../process-state.ts';
import { isTensor } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { flowBranches, flowCondition, flowFunction, flowIndex } from './errors.ts';
import { openNesting, requireForm } from './nesting.ts';
import type { Nesting } from './nesting.ts';
import { unmapped } from './levels.ts';
import { OwnMemory } from './own-memory.ts';
import { recordBranches } from './record-branches.ts';

/**
 * One of two functions, by a value that a tensor holds. Both give results of one form: tensors in any nesting. As `jax.lax.cond` and
 * `torch.cond`.
 *
 * ```ts
 * const clipped = cond(g.square().sum().gt(limit), (g) => g.mul(0.1), (g) => g.clone(), g);
 * ```
 *
 * In a compiled function it is part of the graph, and only one of the two is computed; under vmap, where the value differs from sample
 * to sample, both are, and each sample takes its own. A boolean chooses at once, as `if` does. It has gradients.
 *
 * Raises FLOW_CONDITION where the condition is neither a boolean nor a tensor of one element, FLOW_FORM where the functions give
 * different forms, FLOW_VALUE for anything but tensors, FLOW_FUNCTION for what is no function.
 */
// eslint-disable-next-line max-params -- as jax.lax.cond has them
export function cond<Args extends readonly unknown[], Result>(
  condition: Tensor | boolean,
  onTrue: (...operands: Args) => Result,
  onFalse: (...operands: Args) => Result,
  ...operands: Args
): Result {
  try {
    for (const [what, fn] of [
      ['onTrue', onTrue],
      ['onFalse', onFalse],
    ] as const)
      if (typeof fn !== 'function') throw flowFunction('cond', what, fn);
    if (typeof condition === 'boolean') return condition ? onTrue(...operands) : onFalse(...operands);
    if (!isTensor(condition) || condition.numel !== 1) throw flowCondition('the condition of cond', condition);
    const index = asIndex(dispatchOne('eq', [condition, 0]));
    return choose('cond', index, [() => onTrue(...operands), () => onFalse(...operands)]) as Result;
  } catch (error) {
    throw located(error);
  }
}

/**
 * One of a list of functions, by its position in a tensor of one integer. What is below 0 is the first of them, what is beyond the list
 * the last. As `jax.lax.switch`, otherwise as `cond`.
 *
 * ```ts
 * const y = switchCase(expert, [(x) => x.relu(), (x) => x.tanh(), (x) => x.sigmoid()], x);
 * ```
 *
 * Raises FLOW_INDEX for an index that is no integer, FLOW_BRANCHES for an empty list, and what `cond` raises.
 */
export function switchCase<Args extends readonly unknown[], Result>(
  index: Tensor | number,
  branches: readonly ((...operands: Args) => Result)[],
  ...operands: Args
): Result {
  try {
    requireBranches(branches);
    const last = branches.length - 1;
    if (typeof index === 'number') {
      if (!Number.isInteger(index)) throw flowIndex(index);
      return at(branches, Math.min(Math.max(index, 0), last))(...operands);
    }
    if (!isTensor(index) || index.numel !== 1 || !isInteger(index)) throw flowIndex(index);
    const within = dispatchOne('clamp', [asIndex(index), 0, last]);
    return choose(
      'switchCase',
      within,
      branches.map((branch) => () => branch(...operands)),
    ) as Result;
  } catch (error) {
    throw located(error);
  }
}

function requireBranches(branches: unknown): void {
  if (!Array.isArray(branches) || branches.length === 0) throw flowBranches(branches);
  branches.forEach((fn: unknown, position) => {
    if (typeof fn !== 'function') throw flowFunction('switchCase', `branch ${String(position)}`, fn);
  });
}

const isInteger = ({ dtype }: Tensor): boolean => /^[iu]\d+$/.test(dtype);

const asIndex = (tensor: Tensor): Tensor => dispatchOne('to', [dispatchOne('reshape', [tensor, []]), 'i64']);

function choose(name: string, index: Tensor, branches: readonly (() => unknown)[]): unknown {
  const taken = unmapped(index);
  if (processState.recorder?.flow === undefined && mappedOf(taken) === undefined)
    return runBranch(name, at(branches, Number(taken.item())));
  const opened: (Nesting | undefined)[] = branches.map(() => undefined);
  const flat = branches.map((branch, position) => (): readonly Tensor[] => {
    const made = openNesting(branch(), `a result of ${name}`);
    const first = opened.find((nesting) => nesting !== undefined);
    if (first !== undefined) requireForm(`function ${String(position)} of ${name}`, made, first);
    opened[position] = made;
    return made.tensors;
  });
  const results = recordBranches({ name, index: taken, branches: flat });
  return at(opened, 0)?.around(results);
}

function runBranch(name: string, branch: () => unknown): unknown {
  const memory = new OwnMemory();
  const made = openNesting(branch(), `a result of ${name}`);
  return made.around(memory.apart(made.tensors));
}
