// Generated CUDA to PTX and machine code. In: a toolkit, the text, an architecture. Out: both files and what ptxas says of
// each kernel, or a ToolchainError with the command, its messages and the place where the source is kept. Warnings are told, and
// are errors only for whoever asks for that: our tests, as a program of a user is not to fail for what a compiler advises.
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
import { runCommand, runCommandSync } from './run-command.ts';
import type { CommandEnd, CommandOptions, CommandOutcome } from './run-command.ts';
import { makeStage, removeQuietly } from './staging.ts';

export interface CudaSource {
  readonly source: string;
  /** `sm_80`, `sm_90a`. */
  readonly architecture: string;
}

interface CudaCompileOptions {
  /** The files to make; they appear whole or not at all. */
  readonly ptxPath: string;
  readonly cubinPath: string;
  /** How long one command may take; 120 s by default. */
  readonly milliseconds?: number;
  /** Where the source is kept if it does not compile; `<cubinPath>.failed.cu` by default. */
  readonly failedSource?: string;
  readonly signal?: AbortSignal;
  /** Whether a warning makes the build fail; by default it is in the result. */
  readonly warnings?: 'told' | 'errors';
}

export interface CudaBuild {
  readonly ptxPath: string;
  readonly cubinPath: string;
  /** What nvcc warned of, as it printed it; mostly nothing. */
  readonly warnings: string;
  readonly facts: readonly KernelFacts[];
  /** The commands that ran, in order. */
  readonly commands: readonly (readonly string[])[];
  readonly milliseconds: number;
}

const defaultMilliseconds = 120_000;

const exactArithmetic: readonly string[] = ['--fmad=false', '--ftz=false', '--prec-div=true', '--prec-sqrt=true'];
const approximateArithmetic: readonly string[] = ['--use_fast_math'];

/** The flags that decide code, where settings change none; they belong in cache keys. */
export const cudaFlags: readonly string[] = [
  '-std=c++17',
  '-O3',
  ...exactArithmetic,
  '--diag-suppress=186', // whether a u8 is below 0 is a question that a program may ask
];

/** The flags of a toolkit, where source becomes PTX. */
const flagsOf = ({ flags }: CudaToolkit): readonly string[] => [
  ...cudaFlags.filter((flag) => flags?.fastMath !== true || !exactArithmetic.includes(flag)),
  ...(flags?.fastMath === true ? approximateArithmetic : []),
  ...(flags?.compile ?? []),
];

/** Compiles without blocking the caller. */
export async function compileCuda(
  toolkit: CudaToolkit,
  source: CudaSource,
  options: CudaCompileOptions,
): Promise<CudaBuild> {
  const running = start(toolkit, source, options);
  try {
    const run = async (command: readonly string[]): Promise<string> =>
      checkOutcome(command, running, await runCommand(command, { ...settingsOf(running), signal: options.signal }));
    const warnings = await run(running.toPtx);
    const facts = await run(running.toCubin);
    for (const command of running.toLinked) await run(command);
    return publish(running, { warnings, facts });
  } finally {
    removeQuietly(running.stage);
  }
}

/** Compiles while the caller waits. */
export function compileCudaSync(toolkit: CudaToolkit, source: CudaSource, options: CudaCompileOptions): CudaBuild {
  const running = start(toolkit, source, options);
  try {
    const run = (command: readonly string[]): string =>
      checkOutcome(command, running, runCommandSync(command, settingsOf(running)));
    const warnings = run(running.toPtx);
    const facts = run(running.toCubin);
    running.toLinked.forEach(run);
    return publish(running, { warnings, facts });
  } finally {
    removeQuietly(running.stage);
  }
}

interface Running {
  readonly toolkit: CudaToolkit;
  readonly source: string;
  readonly stage: string;
  readonly options: CudaCompileOptions;
  /** The two commands, and what they make in the stage. */
  readonly toPtx: readonly string[];
  readonly toCubin: readonly string[];
  /** What puts linked code in the place of the machine code, which is made all the same: ptxas says of it what it takes. */
  readonly toLinked: readonly (readonly string[])[];
  readonly ptx: string;
  readonly cubin: string;
  readonly started: number;
}

function start(toolkit: CudaToolkit, { source, architecture }: CudaSource, options: CudaCompileOptions): Running {
  const started = performance.now();
  const stage = makeStage(dirname(options.cubinPath), '.cuda-');
  const [cu, ptx, cubin] = [join(stage, 'kernels.cu'), join(stage, 'kernels.ptx'), join(stage, 'kernels.cubin')];
  writeFileSync(cu, source);
  const arch = `-arch=${architecture}`;
  const strict = options.warnings === 'errors' ? ['-Werror', 'all-warnings'] : [];
  const { nvcc, flags } = toolkit;
  const compile = [arch, ...flagsOf(toolkit), ...strict];
  const assemble = [arch, ...(flags?.assemble ?? [])];
  const toPtx = [nvcc, '-ptx', ...compile, '-o', ptx, cu];
  const toCubin = [nvcc, '-cubin', ...assemble, '-Xptxas', '-v', '-o', cubin, ptx];
  const object = join(stage, 'kernels.o');
  const linking = [
    [nvcc, '-dc', '-dlto', ...compile, '-o', object, cu],
    [nvcc, '-dlink', '-dlto', '-cubin', ...assemble, '-o', cubin, object],
  ];
  const toLinked = flags?.linkTime === true ? linking : [];
  return { toolkit, source, stage, options, toPtx, toCubin, toLinked, ptx, cubin, started };
}

/** The messages of the two commands. */
interface Messages {
  readonly warnings: string;
  readonly facts: string;
}

function publish(running: Running, { warnings, facts }: Messages): CudaBuild {
  const { ptx, cubin, options, started, toPtx, toCubin, toLinked } = running;
  const { ptxPath, cubinPath } = options;
  renameSync(ptx, ptxPath);
  renameSync(cubin, cubinPath);
  const commands = [toPtx, toCubin, ...toLinked];
  const milliseconds = performance.now() - started;
  return { ptxPath, cubinPath, warnings, facts: parsePtxasFacts(facts), commands, milliseconds };
}

const settingsOf = ({ toolkit, stage, options }: Running): CommandOptions => ({
  milliseconds: options.milliseconds ?? defaultMilliseconds,
  environment: { PATH: toolkit.path, TMPDIR: stage, LC_ALL: 'C' },
});

/** A command's messages; throws what went wrong. */
function checkOutcome(
  command: readonly string[],
  { source, options }: Running,
  { end, stderr, stdout }: CommandOutcome,
): string {
  const text = `${stderr}${stdout}`;
  if (end.kind === 'exited' && end.status === 0) return text;
  const sourcePath = keepSource(source, options.failedSource ?? `${options.cubinPath}.failed.cu`);
  throw failureOf(end, { command, stderr: text, sourcePath }, options.milliseconds ?? defaultMilliseconds);
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
