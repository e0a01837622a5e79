// What the caller's thread and the coordinator thread say to each other. Plain data only.
import type { MessagePort } from 'node:worker_threads';
import type { StageTime } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import type { BridgeBuildOptions, CompileUnit, CudaSource, CudaToolkit, Toolchain } from '@tsinductor/runtime';
import type { CompileJob } from '../target-compiler.ts';

export interface BuildJob {
  /** The cache key: hexadecimal digits. */
  readonly key: string;
  /** The function's name, for people who look into the cache. */
  readonly name: string;
  /** What went into the key, field by field. */
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
  /** How long it waits for another process that builds the same. */
  readonly lockMs: number;
  readonly logging: WorkerLogging;
}

/** Where a worker says what it builds. */
interface WorkerLogging {
  /** Beginning of the path of its file; null for none. */
  readonly path: string | null;
  /** Whether it keeps off stderr. */
  readonly isSilent: boolean;
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

/** A graph whose C++ is generated in the worker too, on a machine that the worker looks at: nothing of it waits in the caller's thread. */
export interface GraphJob {
  readonly graph: Pick<CompileJob, 'name' | 'traced' | 'placement'>;
  readonly config: Config;
  /** The cache, and where what is found out of the machine is kept. */
  readonly cacheRoot: string;
  /** Parts of its key that only the asking thread knows. */
  readonly naming: { readonly unique: string; readonly build: string };
  readonly name: string;
  readonly timeoutMs: number;
  readonly deadlineMs: number;
}

/** What a graph became: an entry of the cache; or nothing, where no native code runs. */
export type GraphBuilt =
  | {
      readonly kind: 'native';
      readonly slot: string;
      readonly times?: readonly StageTime[];
      /** Where it was before, if it was not built now. */
      readonly found?: 'disk' | 'remote';
    }
  | { readonly kind: 'interpreter'; readonly code: string; readonly reason: string };

/** What becomes an entry of the cache. */
export type EntryJob = BuildJob | CudaJob;
export type Job = EntryJob | BridgeJob | GraphJob;

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
  /** What the settings asked to be told while a graph was generated: topics and texts. */
  readonly logs?: readonly (readonly [topic: string, message: string])[];
  readonly built?: GraphBuilt;
}

/** What a worker of the pool is given. */
export interface PoolTask {
  readonly job: Job;
  readonly running: Int32Array;
}

/** What the coordinator thread is started with. */
export interface ThreadData {
  /** Answers to blocking requests, and the thread's end. */
  readonly port: MessagePort;
  readonly shared: Int32Array;
  /** The threads that build now (`running-threads`). */
  readonly running: Int32Array;
  readonly threads: number;
  /** In what the pool builds. */
  readonly method: Config['workerStartMethod'];
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
