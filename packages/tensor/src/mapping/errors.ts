// Errors of vmap. Codes are stable; messages say what to do.
import { UserError } from '@tsinductor/base';
import { describe } from '../errors.ts';

const placed = (path: string): string => `vmap: ${path}`;

export const mappedSizes = (first: string, other: string): UserError =>
  new UserError('VMAP_SIZES', `vmap: the mapped axes have different sizes: ${first}, and ${other}`, {
    hint: 'map axes of one size; inAxes says which, and null that an argument is the same for every sample',
  });

export const mappedAxis = (path: string, axis: number, shape: readonly number[]): UserError =>
  new UserError('VMAP_AXIS', `${placed(path)} has shape [${shape.join(', ')}], which has no axis ${String(axis)}`, {
    hint: 'name another axis by inAxes or outAxes, or null for what is the same for every sample',
  });

export const axesNotFitting = (path: string, axes: unknown): UserError =>
  new UserError('VMAP_AXES', `${placed(path)} cannot be mapped by ${describe(axes)}`, {
    hint: 'give an axis, null, or a nesting of them that is like what it is for',
  });

export const nothingMapped = (): UserError =>
  new UserError('VMAP_NOTHING', 'vmap: no argument is mapped, so it is not known how many samples there are', {
    hint: 'name an axis of at least one tensor by inAxes',
  });

export const mappedValue = (operation: string, shape: readonly number[], isOpen: boolean): UserError =>
  isOpen
    ? new UserError(
        'VMAP_VALUE',
        `${operation} needs values of a tensor of shape [${shape.join(', ')}] that stands for all samples of vmap`,
        { hint: 'choose with where() instead of if, or return the tensor and read it outside of vmap' },
      )
    : new UserError(
        'VMAP_ESCAPED',
        `${operation}: a tensor of shape [${shape.join(', ')}] belongs to a vmap that has ended`,
        {
          hint: 'return what is needed outside from the function that is mapped',
        },
      );

export const mappedWrite = (operation: string, shape: readonly number[]): UserError =>
  new UserError(
    'VMAP_IN_PLACE',
    `${operation} writes a value of each sample of vmap into one tensor of shape [${shape.join(', ')}] that all samples share`,
    { hint: 'write to a tensor made of a mapped one, as zerosLike makes, or use the form that makes a new tensor' },
  );

export const mappedRandom = (operation: string): UserError =>
  new UserError('VMAP_RANDOM', `${operation} draws random numbers under vmap, and vmap was not told how`, {
    hint: "pass randomness: 'different' for numbers of each sample's own, 'same' for the same ones for all",
  });

export const mappedResult = (path: string): UserError =>
  new UserError('VMAP_RESULT', `${placed(path)} differs from sample to sample, and its outAxes is null`, {
    hint: 'name the axis where the samples are to be',
  });

export const mappedPromise = (): UserError =>
  new UserError('VMAP_RESULT', 'vmap: the function gave a promise', { hint: 'map a function that is synchronous' });

export const mappedBackward = (): UserError =>
  new UserError(
    'VMAP_BACKWARD',
    'backward() under vmap reaches a tensor from outside, which has one gradient for all samples',
    { hint: 'return the loss and call backward() outside, or use grad() of a function that takes the tensor' },
  );
