// What a command gets beside its own arguments: the configuration, resolved when asked for, and where to write.
import { resolveConfig } from '@tsinductor/config';
import type { Config, ConfigWarning, Environment } from '@tsinductor/config';
import type { Argv } from 'yargs';
import { show } from './terminal.ts';
import type { Outcome, Terminal } from './terminal.ts';

interface Resolved {
  readonly config: Config;
  readonly warnings: readonly ConfigWarning[];
}

/** One run of the command line. */
export class Context {
  readonly terminal: Terminal;
  /** The exit status, set by the command that ran. */
  status = 0;
  readonly #env: Environment | undefined;

  constructor(terminal: Terminal, env: Environment | undefined) {
    this.terminal = terminal;
    this.#env = env;
  }

  resolve(): Resolved {
    const warnings: ConfigWarning[] = [];
    const report = (warning: ConfigWarning): void => {
      warnings.push(warning);
    };
    return { config: resolveConfig(this.#env === undefined ? { report } : { env: this.#env, report }), warnings };
  }

  /** Shows what a command found. */
  finish(outcome: Outcome): void {
    this.status = show(this.terminal, outcome);
  }

  /** Says something about the command itself. */
  readonly warn = (message: string): void => {
    this.terminal.notice(message);
  };
}

/** Adds a command to a parser. */
export type AddCommand = (parser: Argv, context: Context) => Argv;
