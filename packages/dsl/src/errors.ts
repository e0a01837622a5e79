// Every error that kernel source can cause: a UserError with a stable code whose message has the user's file and line, the
// line itself, and a caret under what is wrong.
import { UserError } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';

/** A span of kernel source, and the text to show for it. */
export interface SourcePlace {
  readonly location: SourceLocation;
  /** The line of source that `location` is in. */
  readonly text: string;
  /** Columns of `text` under which carets stand, from 0. */
  readonly from: number;
  readonly to: number;
}

interface KernelFault {
  readonly place: SourcePlace;
  readonly hint: string;
}

/** All codes of kernel source, with what they mean: documentation, and the only codes that `kernelError` makes. */
export const kernelErrorCodes = {
  KERNEL_SOURCE: 'the source of a function is not there, or was changed by a tool that instruments it',
  KERNEL_SYNTAX: 'a form of JavaScript that kernels do not have',
  KERNEL_NAME: 'a name that is neither a parameter, a local, an operation nor a declared function',
  KERNEL_OPERATION: 'an operation that is not there, or not yet',
  KERNEL_ARGUMENT: 'an argument that an operation does not take',
  KERNEL_DTYPE: 'elements of a dtype that does not fit',
  KERNEL_SHAPE: 'shapes that do not fit',
  KERNEL_POINTER: 'arithmetic that pointers do not have',
  KERNEL_CONSTANT: 'a value that must be known when the kernel is compiled',
  KERNEL_CONDITION: 'a branch on a block',
  KERNEL_CARRIED: 'a variable whose type changes from one iteration or branch to another',
  KERNEL_ASSIGNMENT: 'an assignment to what cannot be assigned',
  KERNEL_STATIC_ASSERT: 'a static assertion that does not hold',
  KERNEL_LIMIT: 'more work at compile time than there is a good reason for',
  KERNEL_RETURN: 'a return where a kernel or function cannot return',
  KERNEL_SCHEMA: 'a schema or name that a kernel cannot have',
} as const;

export type KernelErrorCode = keyof typeof kernelErrorCodes;

export function kernelError(code: KernelErrorCode, message: string, { place, hint }: KernelFault): UserError {
  const { location, text, from, to } = place;
  const indent = ' '.repeat(Math.max(0, from));
  const carets = '^'.repeat(Math.max(1, Math.min(to, text.length) - from));
  const where = `${location.file}:${String(location.line)}:${String(location.column ?? 1)}`;
  const shown = text === '' ? '' : `\n\n    ${text}\n    ${indent}${carets}\n`;
  return new UserError(code, `${message}\n  at ${where}${shown}`, { hint, saidLocation: location });
}

/** For what is wrong before there is a place in a source. */
export const badSchema = (message: string, hint: string, location: SourceLocation | undefined): UserError =>
  new UserError('KERNEL_SCHEMA', message, { hint, location });

/** The source of a function is not there, or was changed by a tool that instruments it. */
export const noSource = (message: string, hint: string, location: SourceLocation | undefined): UserError =>
  new UserError('KERNEL_SOURCE', message, { hint, location });
