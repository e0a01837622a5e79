// Errors of optimisers. Codes are stable; messages say what to do.
import { UserError } from '@tsinductor/base';

export const noParameters = (optimizer: string): UserError =>
  new UserError('OPTIM_NO_PARAMETERS', `${optimizer} was given no parameters`, {
    hint: 'give it tensors of floats: an array, a record of any depth, or groups { params, … }',
  });

export const notAParameter = (optimizer: string, why: string): UserError =>
  new UserError('OPTIM_PARAMETER', `${optimizer} cannot change one of its parameters: ${why}`, {
    hint: 'give it leaves of floats, each once',
  });

export const badHyperparameter = (name: string, value: unknown, allowed: string): UserError =>
  new UserError('OPTIM_OPTION', `${name} is ${String(value)}, and ${allowed} is needed`, {
    hint: `choose ${name} accordingly`,
  });

export const unknownHyperparameter = (optimizer: string, name: string, known: readonly string[]): UserError =>
  new UserError('OPTIM_OPTION_UNKNOWN', `${optimizer} has no option ${name}`, {
    hint: `its options are ${known.join(', ')}`,
  });

export const gradientsDiffer = (what: string): UserError =>
  new UserError('OPTIM_GRADIENTS', `the gradients do not fit the parameters: ${what}`, {
    hint: 'give step() what grad or valueAndGrad gave for the same parameters, in the same nesting, or nothing to use .grad',
  });

export const stateDiffers = (what: string): UserError =>
  new UserError('OPTIM_STATE', `the saved state is not of this optimiser: ${what}`, {
    hint: 'make the optimiser as it was made when the state was saved: the same kind, with the same parameters in the same order',
  });

export const scheduleDiffers = (name: string): UserError =>
  new UserError('OPTIM_STATE', `the saved state is not of this schedule: it has no ${name} that fits`, {
    hint: 'give what stateDict() gave for a schedule of the same kind, of an optimiser with as many groups',
  });

export const normNotFinite = (norm: number): UserError =>
  new UserError('OPTIM_NORM', `the norm of all gradients is ${String(norm)}`, {
    hint: 'look for the step that made it so, or leave errorIfNonfinite out',
  });
