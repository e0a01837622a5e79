// The errors of this package: all of them are ours, for what reaches it was verified.
import { InternalError } from '@tsinductor/base';

/** A kernel without a grid cannot be printed as CUDA. */
export const unlaunched = (kernel: string): InternalError =>
  new InternalError('CUDA_WITHOUT_LAUNCH', `kernel ${kernel} was bound for a processor without a grid of threads`);

/** A statement or value that the strategies of this package never write. */
export const notWritten = (what: string): InternalError =>
  new InternalError('CUDA_UNEXPECTED', `a kernel for CUDA contains ${what}`);
