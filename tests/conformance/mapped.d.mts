// Types of what tests use of mapped.mjs.
import type { Call } from './cases.mjs';
import type { GoldenEntry } from './golden.mjs';

interface Test {
  readonly entry: GoldenEntry;
  readonly how: Call;
  readonly args: unknown;
  readonly kwargs: Readonly<Record<string, unknown>>;
}
/** Why a case is another one under vmap; undefined if it is not, 'skipped' where the loop refuses a sample. */
export declare function mappedDifference(test: Test, options?: { readonly isGradient?: boolean }): string | undefined;
/** Whether an error is what vmap refuses on purpose: values that decide, random numbers, writes to what all samples share. */
export declare function isRefusal(error: unknown): boolean;
