// The command line: arguments in, exit status out. Commands are in `commands/`; here they meet the parser, and errors
// become messages.
import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isTsInductorError } from '@tsinductor/base';
import type { Environment } from '@tsinductor/config';
import type { Argv } from 'yargs';
import { addBuildCommand } from './commands/build.ts';
import { addCacheCommand } from './commands/cache.ts';
import { addConfigCommand } from './commands/config.ts';
import { addDoctorCommand, runDoctor } from './commands/doctor.ts';
import { addExplainCommand } from './commands/explain.ts';
import { addRunCommand } from './commands/run.ts';
import { addTraceCommand } from './commands/trace.ts';
import { addTuneCommand } from './commands/tune.ts';
import { addWorkerCommand } from './commands/worker.ts';
import { Context } from './context.ts';
import type { AddCommand } from './context.ts';
import { badArguments, messageOf, parserNotLoaded } from './errors.ts';
import { makeTerminal } from './terminal.ts';
import type { JsonRequest, Streams, Terminal } from './terminal.ts';

export interface CliOptions {
  readonly streams: Streams;
  /** Replaces the environment of the process. */
  readonly env?: Environment;
}

const commands: readonly AddCommand[] = [
  addDoctorCommand,
  addRunCommand,
  addExplainCommand,
  addBuildCommand,
  addCacheCommand,
  addConfigCommand,
  addTraceCommand,
  addTuneCommand,
  addWorkerCommand,
];

/** Runs one command; gives its exit status. */
export async function runCli(args: readonly string[], { streams, env }: CliOptions): Promise<number> {
  const asked = jsonRequest(args);
  const terminal = makeTerminal(streams, asked);
  const context = new Context(terminal, env);
  try {
    const { yargs, cause } = await loadParser();
    if (yargs === undefined) {
      // Of all commands this one is asked where something is amiss.
      if (asked.rest[0] !== 'doctor') throw parserNotLoaded(cause);
      runDoctor(context);
      return context.status;
    }
    const parser = commands.reduce((built, add) => add(built, context), emptyParser(yargs));
    await parser.parseAsync([...asked.rest], {}, (_error, _parsed, output) => {
      if (output !== '') terminal.line(output);
    });
    return context.status;
  } catch (error) {
    return fail(terminal, error);
  }
}

/** Takes the file of `--json FILE` out of the arguments: a name in `.json`, or whatever stands behind `--json=`. */
function jsonRequest(args: readonly string[]): JsonRequest & { readonly rest: readonly string[] } {
  // What follows `run` is the program's own.
  const ours = args[0] === 'run' ? [] : args;
  const position = ours.findIndex((arg) => arg === '--json' || arg.startsWith('--json='));
  const [own = '', next = ''] = position === -1 ? [] : args.slice(position);
  const jsonFile = own.startsWith('--json=') ? own.slice('--json='.length) : next.endsWith('.json') ? next : undefined;
  const taken = jsonFile === undefined ? 0 : own === '--json' ? 2 : 1;
  return { json: position !== -1 && taken === 0, jsonFile, rest: args.toSpliced(Math.max(0, position), taken) };
}

type Yargs = () => Argv;

/** The package that reads arguments, or why it is not there: it is twenty modules, which Node opens at once, and may not be able to. */
const loadParser = async (): Promise<{ readonly yargs?: Yargs; readonly cause?: unknown }> =>
  import('yargs').then(
    ({ default: yargs }) => ({ yargs }),
    async (cause: unknown) => {
      await filesAreClosed();
      return { cause };
    },
  );

/** Waits for the modules to be closed that are still read, in vain: until some files can be opened, but a second at most. */
async function filesAreClosed(): Promise<void> {
  for (let look = 0; look < 20; look += 1) {
    await sleep(50);
    const opened: number[] = [];
    try {
      while (opened.length < 4) opened.push(openSync(process.execPath, 'r'));
      return;
    } catch {
      // Not yet.
    } finally {
      for (const descriptor of opened) closeSync(descriptor);
    }
  }
}

/** A parser that never ends the process, and throws what it has against the arguments. */
function emptyParser(yargs: Yargs): Argv {
  return yargs()
    .scriptName('tsinductor')
    .usage('$0 <command>: a just-in-time compiler for tensor functions')
    .option('json', {
      type: 'boolean',
      default: false,
      global: true,
      describe: 'write JSON; --json FILE.json writes it there, beside the text',
    })
    .demandCommand(1, 'no command was given')
    .strict()
    .version(false)
    .exitProcess(false)
    .fail((message: string | null, error: Error | undefined) => {
      throw error ?? badArguments(message ?? 'the arguments are not understood');
    });
}

function fail(terminal: Terminal, error: unknown): 1 {
  const code = isTsInductorError(error) ? error.code : 'CLI_FAILED';
  if (terminal.json) terminal.line(JSON.stringify({ error: { code, message: messageOf(error) } }, undefined, 2));
  else terminal.notice(`${terminal.colors.red(code)}: ${messageOf(error)}`);
  return 1;
}
