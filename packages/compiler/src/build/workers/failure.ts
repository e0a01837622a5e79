// Errors between threads. A structured clone of an error forgets its class, its code and its output; what is needed of
// them crosses as plain data, and becomes an error of the same kind again.
import { InternalError, ToolchainError, UserError } from '@tsinductor/base';
import type { Failure } from './protocol.ts';

/** What is needed of an error on the other side. */
export function describeFailure(error: unknown): Failure {
  const found = error as Partial<Failure> | null;
  return {
    name: found?.name ?? 'Error',
    code: typeof found?.code === 'string' ? found.code : 'COMPILE_WORKER',
    message: String(found?.message ?? error),
    ...(typeof found?.stderr === 'string' ? { stderr: found.stderr } : {}),
    ...(Array.isArray(found?.command) ? { command: found.command } : {}),
  };
}

/** The error that `failure` was. */
export function toError({ name, code, message, stderr, command }: Failure): Error {
  if (name === 'UserError') return new UserError(code, message);
  if (name !== 'ToolchainError') return new InternalError(code, message);
  return new ToolchainError(code, message, {
    ...(stderr === undefined ? {} : { stderr }),
    ...(command === undefined ? {} : { command }),
  });
}
