// The command line: arguments in, exit status out. Commands are in `commands/`; here they meet the parser, and errors
// become messages.
import { isTsInductorError } from '@tsinductor/base';
import type { Environment } from '@tsinductor/config';
import yargs from 'yargs';
import type { Argv } from 'yargs';
import { addCacheCommand } from './commands/cache.ts';
import { addConfigCommand } from './commands/config.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addExplainCommand } from './commands/explain.ts';
import { addRunCommand } from './commands/run.ts';
import { Context } from './context.ts';
import type { AddCommand } from './context.ts';
import { badArguments, messageOf } from './errors.ts';
import { makeTerminal } from './terminal.ts';
import type { Streams, Terminal } from './terminal.ts';

export interface CliOptions {
  readonly streams: Streams;
  /** Replaces the environment of the process. */
  readonly env?: Environment;
}

const commands: readonly AddCommand[] = [
  addDoctorCommand,
  addRunCommand,
  addExplainCommand,
  addCacheCommand,
  addConfigCommand,
];

/** Runs one command; gives its exit status. */
export async function runCli(args: readonly string[], { streams, env }: CliOptions): Promise<number> {
  const terminal = makeTerminal(streams, args.includes('--json'));
  const context = new Context(terminal, env);
  try {
    const parser = commands.reduce((built, add) => add(built, context), emptyParser());
    await parser.parseAsync([...args], {}, (_error, _parsed, output) => {
      if (output !== '') terminal.line(output);
    });
    return context.status;
  } catch (error) {
    return fail(terminal, error);
  }
}

/** A parser that never ends the process, and throws what it has against the arguments. */
function emptyParser(): Argv {
  return yargs()
    .scriptName('tsinductor')
    .usage('$0 <command>: a just-in-time compiler for tensor functions')
    .option('json', { type: 'boolean', default: false, global: true, describe: 'write JSON' })
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
