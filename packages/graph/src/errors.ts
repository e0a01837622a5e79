// Every error of this package: named constructors with a stable code. Locations are added by GraphBuilder, which knows
// where the user's call stands; messages say what and what to do.
import { InternalError, UserError, isTsInductorError } from '@tsinductor/base';
import type { DType, SourceLocation } from '@tsinductor/base';
import { printIndex } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { ScalarRef } from './graph.ts';

export const printShape = (shape: readonly Index[]): string => `[${shape.map((size) => printIndex(size)).join(', ')}]`;

/** A bound on memory that no partition of forward and backward keeps. */
export const budgetUnreachable = ({ least, limit, how }: { least: number; limit: number; how: string }): UserError =>
  new UserError('MEMORY_BUDGET', `a call takes at least ${String(least)} bytes ${how}: ${String(limit)} were allowed`, {
    hint: 'allow more with memoryBudget, or make batches smaller',
  });

/** What a program's own partitioner gave. */
export const badPartition = (what: string): UserError =>
  new UserError('PARTITION_INVALID', `customPartitionerFn: ${what}`, {
    hint: 'it gives an array with the numbers of the nodes whose values are kept',
  });

/** Shapes do not go together: the message says which axis and why. */
export const shapeMismatch = (message: string, hint?: string): UserError =>
  new UserError('SHAPE_MISMATCH', message, hint === undefined ? {} : { hint });

export const cannotBroadcast = (a: readonly Index[], b: readonly Index[], axis: string): UserError =>
  shapeMismatch(`cannot broadcast ${printShape(a)} with ${printShape(b)}: ${axis}`, 'insert a reshape or an expand');

/** `accepted`: the dtypes that it takes, or what to do where they are not all there is to it. */
export const dtypeUnsupported = (operator: string, dtype: DType, accepted: readonly DType[] | string): UserError =>
  new UserError('DTYPE_UNSUPPORTED', `${operator} does not take ${dtype}`, {
    hint: typeof accepted === 'string' ? accepted : `cast the operands to one of ${accepted.join(', ')}`,
  });

/** Two tensors have dtypes that do not go together, or one has not the dtype that it must have (`must be bool`). */
export const dtypeMismatch = (operator: string, what: string): UserError => {
  const [, wanted] = /must be (\w+)$/.exec(what) ?? [];
  const hint = wanted === undefined ? 'cast one of them to the dtype of the other' : `cast it, as in x.to('${wanted}')`;
  return new UserError('DTYPE_MISMATCH', `${operator}: ${what}`, { hint });
};

export const dimOutOfRange = (dim: number, rank: number): UserError =>
  new UserError('DIM_OUT_OF_RANGE', `dim ${String(dim)} of a tensor of rank ${String(rank)}`, {
    hint: rank === 0 ? 'a 0-d tensor has dims -1 and 0 only' : `use ${String(-rank)} to ${String(rank - 1)}`,
  });

export const noDims = (dim: number): UserError =>
  new UserError('DIM_OUT_OF_RANGE', `a 0-d tensor has no size along dim ${String(dim)}`, {
    hint: 'give a tensor of at least one dim: unsqueeze(0) adds one',
  });

export const duplicateDim = (dim: number): UserError =>
  new UserError('DIM_REPEATED', `dim ${String(dim)} appears more than once`, { hint: 'name each dim once' });

export const indexOutOfRange = (index: string, dim: number, size: string): UserError =>
  new UserError('INDEX_OUT_OF_RANGE', `index ${index} of dim ${String(dim)}, whose size is ${size}`, {
    hint: 'use an index in [-size, size)',
  });

export const emptyReduction = (operator: string): UserError =>
  new UserError('EMPTY_REDUCTION', `${operator} of no elements has no value`, {
    hint: 'reduce over dims whose size is not 0',
  });

/** An argument is of another kind than the operator takes. */
export function argumentType(
  operator: string,
  parameter: string,
  kinds: string | { readonly wanted: string; readonly given: string },
): UserError {
  const { wanted, given } = typeof kinds === 'string' ? { wanted: kinds, given: undefined } : kinds;
  const found = given === undefined ? '' : `, and is ${given}`;
  return new UserError('ARGUMENT_TYPE', `${operator}: ${parameter} must be ${wanted}${found}`);
}

/** An argument has a value that the operator cannot take. */
export const argumentValue = (operator: string, what: string, hint?: string): UserError =>
  new UserError('ARGUMENT_VALUE', `${operator}: ${what}`, hint === undefined ? {} : { hint });

/** A number that no element of the dtype can be. */
export const scalarRange = (operator: string, { value }: ScalarRef, dtype: DType): UserError =>
  new UserError('SCALAR_RANGE', `${operator}: ${printNumber(value)} cannot be converted to ${dtype} without overflow`, {
    hint: 'give a number that the dtype can hold, or cast the tensor to a wider one',
  });

/** A bigint beyond 64 bits. */
export const scalarTooLarge = (value: bigint): UserError =>
  new UserError('SCALAR_RANGE', `${String(value)} is no integer of 64 bits`, {
    hint: 'give a number, which is a float where it is as large: Number(value)',
  });

const printNumber = (value: ScalarRef['value']): string => (typeof value === 'object' ? value.bigint : String(value));

export const argumentMissing = (operator: string, parameter: string, signature: string): UserError =>
  new UserError('ARGUMENT_MISSING', `${operator}: argument ${parameter} is missing`, { hint: `call ${signature}` });

export const argumentUnknown = (operator: string, name: string, signature: string): UserError =>
  new UserError('ARGUMENT_UNKNOWN', `${operator} has no argument ${name}`, { hint: `call ${signature}` });

export const argumentRepeated = (operator: string, name: string): UserError =>
  new UserError('ARGUMENT_REPEATED', `${operator}: argument ${name} is given by position and by name`, {
    hint: 'give it once',
  });

export const tooManyArguments = (
  operator: string,
  signature: string,
  { given, most }: { readonly given: number; readonly most: number },
): UserError =>
  new UserError(
    'ARGUMENT_COUNT',
    `${operator} takes ${String(most)} arguments by position, and ${String(given)} are given`,
    {
      hint: `call ${signature}`,
    },
  );

export const unsupported = (what: string, remedy: string): UserError =>
  new UserError('UNSUPPORTED', `${what} is not supported`, { hint: remedy });

export const dataDependent = (operator: string, what: string, remedy: string): UserError =>
  new UserError('DATA_DEPENDENT', `${operator}: ${what} depends on the values of a tensor`, { hint: remedy });

export const viewImpossible = (
  shape: readonly Index[],
  strides: readonly Index[],
  wanted: readonly Index[],
): UserError =>
  new UserError(
    'VIEW_IMPOSSIBLE',
    `view of ${printShape(shape)} with strides ${printShape(strides)} as ${printShape(wanted)} needs a copy`,
    { hint: 'use reshape, which copies where it must' },
  );

export const layoutUnknown = (operator: string, strides: readonly Index[]): UserError =>
  new UserError(
    'LAYOUT_UNKNOWN',
    `${operator} of a tensor with strides ${printShape(strides)} reads its storage, which is not known here`,
    {
      hint: 'call contiguous() first',
    },
  );

export const unknownOperator = (name: string): UserError =>
  new UserError('UNKNOWN_OPERATOR', `there is no operator ${name}`, { hint: 'see the list of operators' });

/** A span of a schema's text, and what is wrong there. */
interface SchemaFault {
  readonly text: string;
  readonly from: number;
  readonly length: number;
  readonly what: string;
}

export function badOpSchema(op: string, { text, from, length, what }: SchemaFault, hint: string): UserError {
  // One line around the place, however the text was written.
  const flat = text.replace(/\s/g, ' ');
  const start = Math.max(0, from - 60);
  const shown = flat.slice(start, start + 120);
  const carets = '^'.repeat(Math.max(1, Math.min(length, shown.length - (from - start))));
  const place = `\n\n    ${shown}\n    ${' '.repeat(from - start)}${carets}\n`;
  return new UserError('CUSTOM_OP_SCHEMA', `the schema of custom op ${op}: ${what}${place}`, { hint });
}

export function invalidReference(value: { readonly node: number; readonly result: number }): never {
  throw brokenGraph(`no value %${String(value.node)}.${String(value.result)}`);
}

/** A graph breaks a law of graphs: the message says which. */
/** A gradient was asked for that does not exist. */
export const notDifferentiable = (operator: string, why: string): UserError =>
  new UserError('NOT_DIFFERENTIABLE', `${operator} cannot be differentiated: ${why}`, {
    hint: 'take a gradient with respect to other tensors, or stop it with detach()',
  });

export const brokenGraph = (what: string): InternalError =>
  new InternalError('GRAPH_INVALID', what, { hint: 'this is a bug: please report it' });

/** The same error with the user's location, if it has none yet. Other errors come back as they are. */
export function withLocation(error: unknown, location: SourceLocation | undefined): unknown {
  if (location === undefined || !isTsInductorError(error) || error.name !== 'UserError') return error;
  if (error.location !== undefined) return error;
  const tail = error.hint === undefined ? '' : `; ${error.hint}`;
  const message = error.message.endsWith(tail)
    ? error.message.slice(0, error.message.length - tail.length)
    : error.message;
  return new UserError(error.code, message, {
    location,
    cause: error,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  });
}
