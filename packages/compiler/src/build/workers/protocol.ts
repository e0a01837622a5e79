// What the caller's thread and the coordinator thread say to each other. Plain data only.
import type { MessagePort } from 'node:worker_threads';
import type { BridgeBuildOptions, CompileUnit, CudaSource, CudaToolkit, Toolchain } from '@tsinductor/runtime';

export interface BuildJob {
  /** The cache key: hexadecimal digits. */
  readonly key: string;
  /** The function's name, for people who look into the cache. */
  readonly name: string;
  /** What went into the key beside the graph. */
  readonly inputs: Readonly<Record<string, string>>;
  readonly toolchain: Toolchain;
  readonly units: readonly CompileUnit[];
  /** The plan as JSON. */
  readonly plan: string;
  /** The functions that the library must have; without them it is not looked into. */
  readonly functions?: readonly string[];
  readonly cacheRoot: string;
  readonly namespace: string;
  readonly temporaryDirectory: string;
  /** How many compilers this job may run at once. */
  readonly concurrency: number;
  readonly timeoutMs: number;
  /** How long the whole job may take. */
  readonly deadlineMs: number;
}

/** CUDA source to PTX and machine code. */
export interface CudaJob extends Omit<BuildJob, 'toolchain' | 'units' | 'plan' | 'functions' | 'concurrency'> {
  readonly toolkit: CudaToolkit;
  readonly source: CudaSource;
}

/** The native bridge, which is no entry of the cache: `buildBridge` knows where it lies. */
interface BridgeJob {
  readonly bridge: BridgeBuildOptions;
  readonly name: string;
  readonly timeoutMs: number;
  readonly deadlineMs: number;
}

/** What becomes an entry of the cache. */
export type EntryJob = BuildJob | CudaJob;
export type Job = EntryJob | BridgeJob;

export interface Request {
  readonly id: number;
  readonly job: Job;
  /** The caller blocks in Atomics.wait until the answer is posted. */
  readonly blocking: boolean;
}

export interface Failure {
  readonly name: string;
  readonly code: string;
  readonly message: string;
  readonly stderr?: string;
  readonly command?: readonly string[];
}

export interface Response {
  readonly id: number;
  readonly failure?: Failure;
  /** What the cache and the compiler had to say. */
  readonly events: readonly string[];
}

/** What the coordinator thread is started with. */
export interface ThreadData {
  /** Answers to blocking requests, and the thread's end. */
  readonly port: MessagePort;
  readonly shared: Int32Array;
  readonly threads: number;
  /** The address of the coordinator's module. */
  readonly coordinator: string;
}

/** Why the thread is no more: the first that is posted says the most. */
export interface ThreadEnd {
  readonly ended: string;
}

/**
 * Layout of the shared Int32Array: messages posted to a blocked caller so far, a counter that moves while the coordinator lives,
 * and what became of its thread.
 */
export const sharedAnswers: number = 0;
export const sharedHeartbeat: number = 1;
export const sharedState: number = 2;
export const sharedLength: number = 3;

export const threadStates: Readonly<Record<'starting' | 'up' | 'ended', number>> = { starting: 0, up: 1, ended: 2 };
