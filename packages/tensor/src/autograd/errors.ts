// Errors of gradients. Codes are stable; messages say what to do.
import { InternalError, UserError } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';

export const gradientOfIntegers = (what: string, dtype: DType): UserError =>
  new UserError('GRADIENT_DTYPE', `${what} is ${dtype}: only tensors of floats have gradients`, {
    hint: 'cast it to f32 first, or leave it out of what is differentiated',
  });

export const gradientOfShape = (what: string, shape: readonly number[]): UserError =>
  new UserError('GRADIENT_NOT_SCALAR', `${what} has shape [${shape.join(', ')}], and no gradient was given for it`, {
    hint: 'reduce it to one number, as with sum() or mean(), or give a cotangent of its shape',
  });

export const noGradientRequired = (what: string): UserError =>
  new UserError('GRADIENT_NOT_REQUIRED', `${what} does not depend on a tensor that requires a gradient`, {
    hint: 'call requiresGrad_() on what is differentiated before it is used, and outside of noGrad()',
  });

export const freedGraph = (operator: string): UserError =>
  new UserError('GRADIENT_FREED', `what ${operator} saved for its gradient was given back by an earlier backward()`, {
    hint: 'pass retainGraph: true to the earlier call',
  });

export const changedInPlace = (operator: string): UserError =>
  new UserError('GRADIENT_STALE', `a tensor that ${operator} needs for its gradient was changed in place since`, {
    hint: 'write to a clone(), or use the form of the operator that makes a new tensor',
  });

export const inPlaceLeaf = (operation: string): UserError =>
  new UserError('IN_PLACE_LEAF', `${operation} writes to a leaf that requires a gradient`, {
    hint: 'write inside noGrad(() => …), as an optimiser does, or use the form that makes a new tensor',
  });

export const inPlaceView = (operation: string): UserError =>
  new UserError(
    'IN_PLACE_VIEW',
    `${operation} writes through a view to memory whose history is recorded for gradients`,
    {
      hint: 'use the form that makes a new tensor: sliceScatter, indexPut, where, add',
    },
  );

export const writeIntoUntracked = (operation: string): UserError =>
  new UserError(
    'IN_PLACE_HISTORY',
    `${operation} writes what requires a gradient into a part of a tensor that does not`,
    {
      hint: 'make the tensor of its parts (cat, stack), or use sliceScatter or indexPut',
    },
  );

export const cotangentShape = (given: readonly number[], wanted: readonly number[]): UserError =>
  new UserError('COTANGENT_SHAPE', `the cotangent has shape [${given.join(', ')}], not [${wanted.join(', ')}]`, {
    hint: 'give one of the shape of the output',
  });

export const cotangentCount = (given: number, wanted: number): UserError =>
  new UserError('COTANGENT_COUNT', `${String(given)} cotangents for ${String(wanted)} outputs`, {
    hint: 'give one for each output, or null where nothing flows',
  });

export const argumentPosition = (transform: string, position: number, count: number): UserError =>
  new UserError('ARGNUMS', `${transform}: there is no argument ${String(position)} among ${String(count)}`, {
    hint: 'argnums counts the arguments of the call from 0',
  });

export const noTensorToDifferentiate = (transform: string): UserError =>
  new UserError('GRADIENT_NOTHING', `${transform}: the arguments that are differentiated have no tensors of floats`, {
    hint: 'name others by argnums',
  });

export const notAFunction = (transform: string, value: unknown): UserError =>
  new UserError('NOT_A_FUNCTION', `${transform} takes a function, not ${typeof value}`, {
    hint: 'pass the function itself, without calling it',
  });

export const resultNotTensor = (transform: string): UserError =>
  new UserError('GRADIENT_RESULT', `${transform}: the function gave no tensor of floats`, {
    hint: 'return the loss itself, and with hasAux a pair [loss, rest]',
  });

/** A custom op without a gradient made its results by other means than operators. */
export const noOpGradient = (name: string): UserError =>
  new UserError(
    'CUSTOM_OP_GRADIENT',
    `${name} cannot be differentiated: it has no gradient, and its results are not made of operators`,
    {
      hint: 'give its definition a gradient or a lowering',
    },
  );

/** A graph of gradients has a call that only its maker can make. */
export const internalCall = (target: string): InternalError =>
  new InternalError('GRADIENT_HOST_CALL', `${target} runs on the host: it is no part of a graph of gradients`);
