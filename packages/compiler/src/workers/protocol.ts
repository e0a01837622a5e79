// What the caller's thread and the coordinator thread say to each other. Plain data only.
import type { CppUnit } from '@tsinductor/codegen-cpp';

export interface BuildJob {
  readonly key: string;
  /** Compiler, flags and ISA, as found by the runtime on the caller's side. */
  readonly toolchain: unknown;
  readonly units: readonly CppUnit[];
  readonly plan: string;
  readonly cacheRoot: string;
  readonly threads: number;
  readonly timeoutMs: number;
}

export interface Request {
  readonly id: number;
  readonly job: BuildJob;
  /** The caller blocks in Atomics.wait until the answer is posted. */
  readonly blocking: boolean;
}

export interface Failure {
  readonly name: string;
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly stderr?: string;
  readonly command?: readonly string[];
}

export interface Response {
  readonly id: number;
  readonly failure?: Failure;
}

/** Layout of the shared Int32Array: answers posted so far, and a counter that moves while the coordinator lives. */
export const sharedAnswers = 0;
export const sharedHeartbeat = 1;
export const sharedLength = 2;
