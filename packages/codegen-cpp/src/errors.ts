// Every error of this package, by name.
import { UserError } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';

/** A kernel that C++ has no form for; the interpreter runs it. */
export const blockNotBound = (what: string, origin: SourceLocation): UserError =>
  new UserError('KERNEL_NOT_COMPILED', `this kernel cannot be compiled for the CPU: ${what}`, {
    location: origin,
    hint: "launch it with { backend: 'interpreter' }, or change the kernel",
  });
