// Types of what tests use of dsl-run.mjs.
export interface DslTotal {
  readonly entry: string;
  readonly cases: number;
  readonly mismatches: readonly string[];
}
export interface DslRun {
  readonly backend?: 'cpp' | 'cuda-emulated';
  readonly runs: number;
  readonly perText?: number;
  readonly batch?: number;
}
export declare function runDsl(entries: readonly string[], options: DslRun): Promise<readonly DslTotal[]>;
