// What is said between `tsinductor build` and the process that loads a program's modules and compiles their examples.

/** The modules with declared examples, and the file that what is compiled goes into. */
export interface ExamplesRequest {
  readonly modules: readonly string[];
  readonly bundle: string;
}

/** A function for which code was made. */
export interface BuiltFunction {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly examples: number;
  readonly graphs: number;
  readonly kernels: number;
  readonly milliseconds: number;
}

/** Examples that cannot be compiled. */
interface ExampleFailure {
  readonly code: 'TSI3002';
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

export type ExamplesMessage =
  | { readonly kind: 'progress'; readonly done: number; readonly total: number; readonly built: BuiltFunction }
  | { readonly kind: 'failure'; readonly failure: ExampleFailure }
  /** A module that cannot be loaded. */
  | { readonly kind: 'unloaded'; readonly file: string; readonly reason: string }
  /** All is done: how much is in the bundle; `bytes` is 0 where nothing was compiled, and there is no file. */
  | { readonly kind: 'end'; readonly bytes: number; readonly entries: number };
