// What the harness and its contenders say to each other: one JSON object per line, on the contender's stdin and stdout.
// Requests are flat, so that a contender in C++ can read them without a JSON library.

export type Params = Readonly<Record<string, number>>;

export interface PrepareRequest {
  readonly do: 'prepare';
  readonly op: string;
  readonly params: Params;
  /** One entry per input; see `random-input.ts`. */
  readonly sizes: readonly number[];
  readonly seeds: readonly number[];
  readonly lows: readonly number[];
  readonly highs: readonly number[];
  readonly threads: number;
  /** A module that exports `workloads`, and which of them: instead of `op`. */
  readonly file?: string;
  readonly index?: number;
}
export interface TimeRequest {
  readonly do: 'time';
  readonly budgetMs: number;
}
export interface SampleRequest {
  readonly do: 'sample';
  readonly output: number;
  readonly indices: readonly number[];
}
export type Request = PrepareRequest | TimeRequest | SampleRequest;

export interface Prepared {
  readonly version: string;
  /** First call, compilation included; later calls of the same process do not compile. */
  readonly compileMs?: number;
  readonly kernels?: number;
  readonly outputs?: number;
  /** What is worth saying below the table: how the compiler laid out what kernels pass on. */
  readonly notes?: readonly string[];
  /** For workloads from a file, which only the contender itself knows. */
  readonly inputBytes?: number;
  readonly outputBytes?: number;
  readonly disagreement?: string;
}
/** Says that the contender has no such operation, or why it was left out. */
export interface Unsupported {
  readonly unsupported: string;
}
export interface Failed {
  readonly error: string;
}
export interface Times {
  /** Milliseconds per call, one entry per repeat. */
  readonly times: readonly number[];
}
export interface Values {
  readonly values: readonly number[];
}
