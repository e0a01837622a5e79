// A compiled function with the calls that it is made for, as `tsinductor build` meets it when a module of the program is loaded.
import type { SourceLocation } from '@tsinductor/base';
import type { Explanation } from './report.ts';

export interface DeclaredFunction {
  readonly name: string;
  /** Where compile() was called. */
  readonly location: SourceLocation | undefined;
  /** Gives a list of arguments for each call. */
  readonly examples: () => readonly (readonly unknown[])[];
  /** Compiles for such a list, without running the function or blocking. */
  readonly warmup: (args: readonly unknown[]) => Promise<void>;
  readonly run: (args: readonly unknown[]) => unknown;
  readonly explain: () => Explanation;
}
