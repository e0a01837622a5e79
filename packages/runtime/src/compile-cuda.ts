// Generated CUDA to PTX and machine code. In: a toolkit, the text, an architecture. Out: both files and what ptxas says of
// each kernel, or a ToolchainError with the command, its messages and the place where the source is kept. Warnings are
// errors: generated code has none.
//
// Arithmetic is IEEE: no contraction into fused operations, exact division and square root, subnormal numbers as they are.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  compileAborted,
  cudaCompilerCrashed,
  cudaCompilerFailed,
  cudaCompilerNotStarted,
  cudaCompilerTimeout,
} from './errors.ts';
import type { CommandTrace } from './errors.ts';
import type { CudaToolkit } from './cuda-toolkit.ts';
import { parsePtxasFacts } from './ptxas-facts.ts';
import type { KernelFacts } from './ptxas-facts.ts';
import { runCommand } from './run-command.ts';
import type { CommandEnd } from './run-command.ts';
import { makeStage, removeQuietly } from './staging.ts';

export interface CudaSource {
  readonly source: string;
  /** `sm_80`, `sm_90a`. */
  readonly architecture: string;
}

export interface CudaCompileOptions {
  /** The files to make; they appear whole or not at all. */
  readonly ptxPath: string;
  readonly cubinPath: string;
  /** How long one command may take; 120 s by default. */
  readonly milliseconds?: number;
  /** Where the source is kept if it does not compile; `<cubinPath>.failed.cu` by default. */
  readonly failedSource?: string;
  readonly signal?: AbortSignal;
}

export interface CudaBuild {
  readonly ptxPath: string;
  readonly cubinPath: string;
  readonly facts: readonly KernelFacts[];
  readonly milliseconds: number;
}

/** The flags that decide code; they belong in cache keys. */
export const cudaFlags: readonly string[] = [
  '-std=c++17',
  '-O3',
  '--fmad=false',
  '--ftz=false',
  '--prec-div=true',
  '--prec-sqrt=true',
  '-Werror',
  'all-warnings',
];

export async function compileCuda(
  toolkit: CudaToolkit,
  { source, architecture }: CudaSource,
  options: CudaCompileOptions,
): Promise<CudaBuild> {
  const started = performance.now();
  const stage = makeStage(dirname(options.cubinPath), '.cuda-');
  const [cu, ptx, cubin] = ['kernels.cu', 'kernels.ptx', 'kernels.cubin'].map((name) => join(stage, name));
  const run = (parameters: readonly (string | undefined)[]): Promise<string> =>
    runTool([toolkit.nvcc, ...parameters.filter((one) => one !== undefined)], { toolkit, source, stage, options });
  try {
    writeFileSync(cu ?? '', source);
    await run(['-ptx', `-arch=${architecture}`, ...cudaFlags, '-o', ptx, cu]);
    const messages = await run(['-cubin', `-arch=${architecture}`, '-Xptxas', '-v', '-o', cubin, ptx]);
    renameSync(ptx ?? '', options.ptxPath);
    renameSync(cubin ?? '', options.cubinPath);
    return {
      ptxPath: options.ptxPath,
      cubinPath: options.cubinPath,
      facts: parsePtxasFacts(messages),
      milliseconds: performance.now() - started,
    };
  } finally {
    removeQuietly(stage);
  }
}

interface Running {
  readonly toolkit: CudaToolkit;
  readonly source: string;
  readonly stage: string;
  readonly options: CudaCompileOptions;
}

/** Runs a command; gives its messages. */
async function runTool(command: readonly string[], { toolkit, source, stage, options }: Running): Promise<string> {
  const milliseconds = options.milliseconds ?? 120_000;
  const outcome = await runCommand(command, {
    milliseconds,
    environment: { PATH: toolkit.path, TMPDIR: stage, LC_ALL: 'C' },
    signal: options.signal,
  });
  const text = `${outcome.stderr}${outcome.stdout}`;
  if (outcome.end.kind === 'exited' && outcome.end.status === 0) return text;
  const sourcePath = keepSource(source, options.failedSource ?? `${options.cubinPath}.failed.cu`);
  throw failureOf(outcome.end, { command, stderr: text, sourcePath }, milliseconds);
}

function failureOf(end: CommandEnd, trace: CommandTrace, milliseconds: number): Error {
  switch (end.kind) {
    case 'exited':
      return cudaCompilerFailed(trace, end.status);
    case 'signalled':
      return cudaCompilerCrashed(trace, end.signal);
    case 'timedOut':
      return cudaCompilerTimeout(trace, milliseconds);
    case 'aborted':
      return compileAborted(trace);
    case 'notStarted':
      return cudaCompilerNotStarted(trace, end.reason);
  }
}

/** Where the source was put, if it could be. */
function keepSource(source: string, path: string): string | undefined {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, source, { mode: 0o600 });
    return path;
  } catch {
    return undefined;
  }
}
