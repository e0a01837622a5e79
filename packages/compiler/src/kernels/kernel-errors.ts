// Every error of launching a kernel, by name.
import { UserError } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';
import type { BlockProgram } from '@tsinductor/ir';
import { describe } from '../errors.ts';

export const badGrid = (kernel: string, grid: unknown): UserError =>
  new UserError('KERNEL_GRID', `kernel ${kernel}: the grid is ${describe(grid)}`, {
    hint: 'give one to three whole numbers, or a function of the launch constants that returns them',
  });

export const badArgument = (
  kernel: string,
  name: string,
  { value, found, expected }: { value?: unknown; found?: string; expected: string },
): UserError =>
  new UserError('KERNEL_LAUNCH_ARGUMENT', `kernel ${kernel}: ${name} is ${found ?? describe(value)}`, {
    hint: `give ${expected}`,
  });

export const unknownArgument = (kernel: string, name: string, known: readonly string[]): UserError =>
  new UserError('KERNEL_LAUNCH_ARGUMENT', `kernel ${kernel} has no argument ${name}`, {
    hint: `its arguments are ${known.join(', ')}`,
  });

export const badLaunchOption = (name: string, value: unknown, allowed: string): UserError =>
  new UserError('KERNEL_LAUNCH_OPTION', `launch option ${name} is ${describe(value)}`, { hint: `give ${allowed}` });

export const noConfigurations = (kernel: string): UserError =>
  new UserError('KERNEL_AUTOTUNE', `kernel ${kernel}: autotune has no configurations`, {
    hint: 'give at least one object with launch constants',
  });

export const badConfiguration = (kernel: string, name: string): UserError =>
  new UserError('KERNEL_AUTOTUNE', `kernel ${kernel}: ${name} is not a constexpr of the schema`, {
    hint: 'configurations give launch constants, numWarps and numStages',
  });

export const unknownTuningOption = (kernel: string, name: string, meant: string | undefined): UserError =>
  new UserError('KERNEL_AUTOTUNE', `kernel ${kernel}: autotune has no option ${name}`, {
    hint: meant === undefined ? 'leave it out' : `did you mean ${meant}?`,
  });

export const badTuningOption = (kernel: string, what: string, remedy: string): UserError =>
  new UserError('KERNEL_AUTOTUNE', `kernel ${kernel}: an option of autotune is wrong: ${what}`, {
    hint: `${remedy}, or leave the option out`,
  });

export const badKey = (kernel: string, name: string, location?: SourceLocation): UserError =>
  new UserError('KERNEL_AUTOTUNE', `kernel ${kernel}: the key ${name} is not an argument of the schema`, {
    location,
    hint: 'name arguments on which the best configuration depends',
  });

export const emulationFault = ({ name, origin }: Pick<BlockProgram, 'name' | 'origin'>, found: string): UserError =>
  new UserError('KERNEL_EMULATION', `kernel ${name}, run as CUDA on the host: ${found}`, {
    location: origin,
    hint: "launch it with { backend: 'interpreter' }, which names the line of an access that is wrong",
  });

/** An assertion of the kernel's, as the emulation tells of it. */
export const emulatedAssertion = ({ name, origin }: Pick<BlockProgram, 'name' | 'origin'>, found: string): UserError =>
  new UserError('KERNEL_ASSERT', `kernel ${name}, run as CUDA on the host: ${found}`, {
    location: origin,
    hint: 'correct the arguments, or the assertion',
  });
