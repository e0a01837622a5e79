// Errors of modules. Codes are stable; messages say what to do.
import { UserError } from '@tsinductor/base';

export const badOption = (layer: string, option: string, { is, needs }: { is: unknown; needs: string }): UserError =>
  new UserError('NN_OPTION', `${layer}: ${option} is ${String(is)}, and ${needs} is needed`, {
    hint: `choose ${option} accordingly`,
  });

export const unknownOption = (layer: string, option: string, known: readonly string[]): UserError =>
  new UserError('NN_OPTION_UNKNOWN', `${layer} has no option ${option}`, {
    hint: known.length === 0 ? 'it has none' : `its options are ${known.join(', ')}`,
  });

export const badInput = (layer: string, what: string, hint: string): UserError =>
  new UserError('NN_INPUT', `${layer} cannot take this: ${what}`, { hint });

export const stateDiffers = (problems: readonly string[]): UserError =>
  new UserError('NN_STATE', `the state is not of this module: ${problems.join('; ')}`, {
    hint: 'build the module as it was built when the state was saved, or load with { strict: false } what both have',
  });

export const noSuchMember = (name: string, known: readonly string[]): UserError =>
  new UserError('NN_MEMBER', `the module has no parameter or buffer ${name}`, {
    hint: `it has ${known.slice(0, 12).join(', ')}${known.length > 12 ? ' …' : ''}: namedParameters() and namedBuffers() list them`,
  });

export const notAModule = (where: string, what: string): UserError =>
  new UserError('NN_NOT_A_MODULE', `${where}: ${what} is no module`, {
    hint: 'give objects of classes that extend Module',
  });
