// Types of what tests use of cases.mjs.
import type { Graph } from '@tsinductor/graph';

export interface Call {
  /** Whether it is no operator, because its results depend on values. */
  readonly isEager: boolean;
  readonly call: (args: unknown, kwargs: unknown) => unknown;
}
export declare function callOf(aten: string): Call | undefined;
export declare function traceCall(
  how: Call,
  given: { readonly args: unknown; readonly kwargs: Readonly<Record<string, unknown>> },
  options?: { readonly dynamic?: boolean },
): { readonly graph: Graph };
