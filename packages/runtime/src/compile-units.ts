// Compiles generated C++ text to one shared object. In: a toolchain, units (the entry's unit last), where the result
// goes. Out: the finished file, which appears by one atomic rename, or a ToolchainError that says which command failed,
// with its messages and the place where the source is kept.
//
// One unit goes through a single compiler call; several are compiled beside each other and then linked. Text goes in on
// standard input, no shell reads it, and everything temporary (the compiler's own files too) lies in one directory
// beside the result that is gone afterwards, whatever happens. What the linker left is looked at before it is published, and a
// compiler that was killed, or left what is no library, is asked once more: the cause is often gone.
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  compileAborted,
  compilerCrashed,
  compilerFailed,
  compilerNotStarted,
  compilerTimeout,
  outputDamaged,
  outputMissing,
  mayPass,
  outputNotWritten,
} from './errors.ts';
import type { CommandTrace } from './errors.ts';
import { codeFlags, linkFlags, sourceOnInput } from './flags.ts';
import { runCommand, runCommandSync } from './run-command.ts';
import type { CommandOptions, CommandOutcome } from './run-command.ts';
import { sharedObjectFault } from './shared-object.ts';
import { makeStage, removeQuietly } from './staging.ts';
import type { Toolchain } from './toolchain.ts';

export interface CompileUnit {
  /** Letters, digits and underscores: it becomes a file's name. */
  readonly name: string;
  readonly source: string;
}

export interface CompileOptions {
  /** The shared object to make. */
  readonly outPath: string;
  /** How long one compiler call may take; 120 s by default. */
  readonly milliseconds?: number;
  /** How many compilers run at once; 1 by default. */
  readonly concurrency?: number;
  /** Flags after those of `codeFlags`. They decide code, so they belong in the cache key. */
  readonly extraFlags?: readonly string[];
  /** Where the source of a failed unit is kept; `<outPath>.failed` by default. */
  readonly failedSources?: string;
  /** Functions that the result must have; without it the result is not looked into. */
  readonly functions?: readonly string[];
  /** What goes where this process ends meanwhile; the directory of `compileUnits` itself by default. */
  readonly scratch?: string;
  readonly signal?: AbortSignal;
}

export interface BuildResult {
  readonly path: string;
  readonly bytes: number;
  /** The commands that ran, in order. */
  readonly commands: readonly (readonly string[])[];
  readonly milliseconds: number;
}

/** One compiler call. */
interface Step {
  readonly command: readonly string[];
  readonly unit: CompileUnit | undefined;
  readonly output: string;
}

interface Plan {
  readonly stage: string;
  readonly outPath: string;
  readonly compile: readonly Step[];
  readonly link: Step | undefined;
  readonly result: string;
  readonly command: Omit<CommandOptions, 'input'>;
  readonly failedSources: string;
  readonly functions: readonly string[] | undefined;
}

/** Compiles without blocking the caller. */
export async function compileUnits(
  toolchain: Toolchain,
  units: readonly CompileUnit[],
  options: CompileOptions,
): Promise<BuildResult> {
  const started = performance.now();
  const plan = makePlan(toolchain, units, options);
  const once = async (step: Step): Promise<void> => {
    checkStep(plan, step, await runCommand(step.command, { ...commandOf(plan, step), signal: options.signal }));
  };
  const run = async (step: Step): Promise<void> => {
    try {
      await once(step);
    } catch (failure) {
      if (!mayPass(failure)) throw failure;
      await once(step);
    }
  };
  try {
    await runSome(plan.compile, Math.max(1, options.concurrency ?? 1), run);
    if (plan.link !== undefined) await run(plan.link);
    return publish(plan, started);
  } finally {
    removeQuietly(plan.stage);
  }
}

/** Compiles while the caller waits, one unit after the other. */
export function compileUnitsSync(
  toolchain: Toolchain,
  units: readonly CompileUnit[],
  options: CompileOptions,
): BuildResult {
  const started = performance.now();
  const plan = makePlan(toolchain, units, options);
  const once = (step: Step): void => {
    checkStep(plan, step, runCommandSync(step.command, commandOf(plan, step)));
  };
  try {
    for (const step of [...plan.compile, ...(plan.link === undefined ? [] : [plan.link])]) {
      try {
        once(step);
      } catch (failure) {
        if (!mayPass(failure)) throw failure;
        once(step);
      }
    }
    return publish(plan, started);
  } finally {
    removeQuietly(plan.stage);
  }
}

const commandOf = ({ command }: Plan, { unit }: Step): CommandOptions => ({
  ...command,
  ...(unit === undefined ? {} : { input: unit.source }),
});

function makePlan(toolchain: Toolchain, units: readonly CompileUnit[], options: CompileOptions): Plan {
  const { outPath } = options;
  const stage = makeStage(dirname(outPath), '.build-');
  const flags = [...codeFlags(toolchain.family), ...(options.extraFlags ?? []), ...(toolchain.lastFlags ?? [])];
  const result = join(stage, 'result.so');
  const [first] = units;
  const single = units.length === 1 ? first : undefined;
  const compile = units.map((unit, index): Step => {
    const output = single === undefined ? join(stage, `${String(index)}.o`) : result;
    const mode = single === undefined ? ['-c'] : linkFlags;
    return { command: [...toolchain.command, ...flags, ...mode, ...sourceOnInput, '-o', output], unit, output };
  });
  const objects = compile.map(({ output }) => output);
  const link: Step = {
    command: [...toolchain.command, ...linkFlags, ...objects, '-o', result],
    unit: undefined,
    output: result,
  };
  return {
    stage,
    outPath,
    compile,
    link: single === undefined ? link : undefined,
    result,
    command: {
      milliseconds: options.milliseconds ?? 120_000,
      environment: { ...toolchain.environment, TMPDIR: stage },
      scratch: options.scratch ?? stage,
    },
    failedSources: options.failedSources ?? `${outPath}.failed`,
    functions: options.functions,
  };
}

/** Runs the steps, `limit` at a time. After a failure no further one starts, and those that run are waited for. */
async function runSome(steps: readonly Step[], limit: number, run: (step: Step) => Promise<void>): Promise<void> {
  const queue = [...steps];
  const failures: unknown[] = [];
  const lane = async (): Promise<void> => {
    for (let step = queue.shift(); step !== undefined && failures.length === 0; step = queue.shift()) {
      try {
        await run(step);
      } catch (failure) {
        failures.push(failure);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, steps.length) }, lane));
  if (failures.length > 0) throw failures[0];
}

/** Throws unless the step succeeded and left its output. */
function checkStep(plan: Plan, step: Step, { end, stderr }: CommandOutcome): void {
  const trace = (): CommandTrace => ({ command: step.command, stderr, sourcePath: keepSource(plan, step) });
  switch (end.kind) {
    case 'exited':
      if (end.status !== 0) throw crashWithin(stderr) ?? compilerFailed(trace(), end.status);
      if (!isFilled(step.output)) throw outputMissing(trace());
      if (step.output === plan.result) checkLibrary();
      return;
    case 'signalled':
      throw compilerCrashed(trace(), end.signal);
    case 'timedOut':
      throw compilerTimeout(trace(), plan.command.milliseconds);
    case 'aborted':
      throw compileAborted({ command: step.command, stderr, sourcePath: undefined });
    case 'notStarted':
      throw compilerNotStarted(trace(), end.reason);
  }

  function checkLibrary(): void {
    const fault =
      plan.functions === undefined ? undefined : sharedObjectFault(readFileSync(plan.result), plan.functions);
    if (fault !== undefined) throw outputDamaged(trace(), fault);
  }

  /** The driver itself ends properly when the compiler proper dies; its message tells. */
  function crashWithin(text: string): Error | undefined {
    const sign =
      /internal compiler error|terminated program|out of memory|virtual memory exhausted|PLEASE submit a bug/i;
    const found = sign.exec(text);
    return found === null ? undefined : compilerCrashed(trace(), found[0]);
  }
}

function isFilled(path: string): boolean {
  const status = statSync(path, { throwIfNoEntry: false });
  return status?.isFile() === true && status.size > 0;
}

/** Keeps the text of a failed unit; undefined where it cannot be kept. */
function keepSource(plan: Plan, { unit }: Step): string | undefined {
  if (unit === undefined) return undefined;
  const path = join(plan.failedSources, `${unit.name.replace(/\W/g, '_').slice(0, 100)}.cc`);
  try {
    mkdirSync(plan.failedSources, { recursive: true, mode: 0o700 });
    writeFileSync(path, unit.source, { mode: 0o600 });
    return path;
  } catch {
    return undefined;
  }
}

function publish(plan: Plan, started: number): BuildResult {
  const { size } = statSync(plan.result);
  try {
    renameSync(plan.result, plan.outPath);
  } catch (cause) {
    throw outputNotWritten(plan.outPath, cause);
  }
  const commands = [...plan.compile, ...(plan.link === undefined ? [] : [plan.link])].map(({ command }) => command);
  return { path: plan.outPath, bytes: size, commands, milliseconds: performance.now() - started };
}
