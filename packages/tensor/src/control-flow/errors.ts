// Errors of loops and branches that are operators. Codes are stable; messages say what to do.
import { UserError } from '@tsinductor/base';
import { describe } from '../errors.ts';

/** What flows through a loop or out of a branch is tensors alone: anything else would be what it was in the first step. */
export const flowValue = (where: string, value: unknown): UserError =>
  new UserError('FLOW_VALUE', `${where} holds ${describe(value)}: tensors flow through it, in any nesting`, {
    hint: 'make it a tensor, as in scalarTensor(0), or let the function close over it',
  });

/** Something else came out than goes in, or than another branch gives. */
export const flowForm = (
  what: string,
  { gave, wanted }: { readonly gave: string; readonly wanted: string },
): UserError =>
  new UserError('FLOW_FORM', `${what} gives ${gave}, and ${wanted} is wanted`, {
    hint: 'give the same nesting, dtypes and shapes each time: cast with to(), reshape or pad',
  });

export const flowCondition = (what: string, value: unknown): UserError =>
  new UserError('FLOW_CONDITION', `${what} is ${describe(value)}, which says neither yes nor no`, {
    hint: 'give a tensor of one element, as comparisons and any() make, or a boolean',
  });

export const flowIndex = (value: unknown): UserError =>
  new UserError('FLOW_INDEX', `switchCase: the index is ${describe(value)}`, {
    hint: 'give a tensor of one integer, or a whole number; what is beyond the branches is the first or the last of them',
  });

export const flowFunction = (name: string, what: string, value: unknown): UserError =>
  new UserError('FLOW_FUNCTION', `${name}: ${what} is ${describe(value)}, not a function`, {
    hint: 'give a function over tensors',
  });

export const flowBranches = (value: unknown): UserError =>
  new UserError('FLOW_BRANCHES', `switchCase: the branches are ${describe(value)}`, {
    hint: 'give a list of one function or more',
  });

export const flowLength = (name: string, found: string): UserError =>
  new UserError('FLOW_LENGTH', `${name} has no one number of steps: ${found}`, {
    hint: 'give xs whose tensors have one size along their first axis; without xs, say how many steps there are by length',
  });
