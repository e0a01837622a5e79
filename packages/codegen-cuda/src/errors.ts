// The errors of this package: all of them are ours, for what reaches it was verified.
import { InternalError, UserError } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';

/** A kernel without a grid cannot be printed as CUDA. */
export const unlaunched = (kernel: string): InternalError =>
  new InternalError('CUDA_WITHOUT_LAUNCH', `kernel ${kernel} was bound for a processor without a grid of threads`);

/** A statement or value that the strategies of this package never write. */
export const notWritten = (what: string): InternalError =>
  new InternalError('CUDA_UNEXPECTED', `a kernel for CUDA contains ${what}`);

/** A hand-written kernel that blocks of threads have no form for. */
export const blockNotBound = (what: string, origin: SourceLocation): UserError =>
  new UserError('KERNEL_NOT_COMPILED', `this kernel cannot be compiled for CUDA: ${what}`, {
    location: origin,
    hint: "launch it with { backend: 'interpreter' }, or change the kernel",
  });
