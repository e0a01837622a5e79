// What is asked of a compiler, as a worker gets it. In: a request and settings. Out: a job, with its key, its bounds, and how it is told of.
import { tmpdir } from 'node:os';
import { sha256, stableHash } from '@tsinductor/base';
import { graphNamespace } from '@tsinductor/cache';
import type { KeyFields } from '@tsinductor/cache';
import type { Config } from '@tsinductor/config';
import { cudaFlags } from '@tsinductor/runtime';
import type { CompileUnit, CudaSource, CudaToolkit, Toolchain } from '@tsinductor/runtime';
import type { Plan } from '../run/plan.ts';
import type { BuildJob, CudaJob } from './workers/protocol.ts';

export interface BuildRequest {
  readonly key: string;
  readonly name: string;
  readonly units: readonly CompileUnit[];
  readonly plan: Plan;
  readonly toolchain: Toolchain;
  /** What the key was made of, beside the compiler. */
  readonly fields?: KeyFields;
  /** How long building it may take, and how many compilers it may run at once. */
  readonly seconds: number;
  readonly concurrency: number;
}

/** Several graphs in one library; their plans stay with the caller. */
export interface BatchRequest extends Omit<BuildRequest, 'plan'> {
  readonly plan: unknown;
}

/** CUDA source to compile. */
export interface CudaRequest {
  readonly name: string;
  readonly source: CudaSource;
  readonly toolkit: CudaToolkit;
  readonly seconds: number;
}

/** The compiler may take this long for one unit, in milliseconds. */
const compilerPatience = 120_000;

export function buildJob(
  { key, name, units, plan, toolchain, seconds, concurrency, fields = {} }: BatchRequest,
  cacheRoot: string,
  config: Config,
): BuildJob {
  const deadlineMs = seconds * 1000;
  return {
    key,
    name,
    units,
    toolchain,
    plan: JSON.stringify(plan),
    functions: functionsOf(plan),
    inputs: { compiler: toolchain.fingerprint.slice(0, 16), ...fields },
    cacheRoot,
    namespace: graphNamespace,
    temporaryDirectory: tmpdir(),
    concurrency,
    timeoutMs: Math.min(compilerPatience, deadlineMs),
    deadlineMs,
    ...mannersOf(config, deadlineMs),
  };
}

/** The same of CUDA, whose key is made of its text. */
export function cudaJob({ name, source, toolkit, seconds }: CudaRequest, cacheRoot: string, config: Config): CudaJob {
  const { fingerprint: compiler } = toolkit;
  const { architecture } = source;
  const key = stableHash({ kind: 'cuda', compiler, architecture, source: source.source, flags: cudaFlags });
  const code = sha256(source.source).slice(0, 16);
  const deadlineMs = seconds * 1000;
  return {
    key,
    name,
    inputs: { kind: 'cuda', compiler: compiler.slice(0, 16), architecture, source: code },
    toolkit,
    source,
    cacheRoot,
    namespace: graphNamespace,
    temporaryDirectory: tmpdir(),
    timeoutMs: Math.min(compilerPatience, deadlineMs),
    deadlineMs,
    ...mannersOf(config, deadlineMs),
  };
}

/** How a worker is to wait, and what it is to say. */
const mannersOf = (
  { fileLockTimeout, workerLogPath, workerSuppressLogging }: Config,
  deadlineMs: number,
): Pick<CudaJob, 'lockMs' | 'logging'> => ({
  lockMs: Math.min(fileLockTimeout * 1000, deadlineMs),
  logging: { path: workerLogPath, isSilent: workerSuppressLogging },
});

/** The functions that a plan names, however many graphs it is of. */
function functionsOf(plan: unknown): readonly string[] {
  const {
    entry,
    entries = {},
    plans = [],
  } = plan as {
    readonly entry?: string;
    readonly entries?: Readonly<Record<string, string>>;
    readonly plans?: readonly unknown[];
  };
  return [...(entry === undefined ? [] : [entry]), ...Object.values(entries), ...plans.flatMap(functionsOf)];
}
