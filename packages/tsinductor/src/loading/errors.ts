// Errors of loading, which nothing else of the package is needed for.
import { ToolchainError, UserError } from '@tsinductor/base';

/** What the loader reads is not beside it: a bundler took the loader and left the rest. */
export const bundledAway = (missing: string, loader: string): UserError =>
  new UserError('PACKAGE_BUNDLED', `${JSON.stringify(missing)} of tsinductor is not beside ${loader}`, {
    hint: 'keep the package out of bundles and install it where the program runs: esbuild --external:tsinductor, or externals of webpack',
  });

/** The system does not give what is there. */
export const textUnreadable = (file: string, cause: unknown): ToolchainError =>
  new ToolchainError('PACKAGE_UNREADABLE', `${file} could not be read: ${String(cause)}`, {
    hint: 'run again; if it repeats, see whether the file can be read, and how many files this process may open (`ulimit -n`)',
    cause,
  });
