// The process's own session: made at the first compiled call, never at import.
import { resolveConfig } from '@tsinductor/config';
import type { ConfigPatch } from '@tsinductor/config';
import { Session } from './session.ts';
import type { Voice } from './session.ts';

interface DefaultCompiler {
  program: ConfigPatch;
  session: Session | undefined;
}

// Named exception to "no module state": the default compiler.
const defaultCompiler: DefaultCompiler = { program: {}, session: undefined };

const processVoice: Voice = {
  warn: (code, message) => {
    process.emitWarning(message, { type: 'TsInductorWarning', code });
  },
  log: (topic, message) => {
    process.stderr.write(`[${topic}] ${message}\n`);
  },
};

/** The session that compiled functions use. */
export function defaultSession(): Session {
  defaultCompiler.session ??= new Session(
    resolveConfig({
      program: defaultCompiler.program,
      report: ({ message }) => {
        processVoice.warn('CONFIG', message);
      },
    }),
    processVoice,
  );
  return defaultCompiler.session;
}

/**
 * Sets configuration for everything compiled from now on, over defaults and environment.
 *
 * @example setConfig({ cpp: { threads: 1 } })
 */
export function setConfig(patch: ConfigPatch): void {
  defaultCompiler.program = { ...defaultCompiler.program, ...patch };
  reset();
}

/** Closes the default session: the next compiled call opens a new one. What is on disk stays. */
export function reset(): void {
  defaultCompiler.session?.[Symbol.dispose]();
  defaultCompiler.session = undefined;
}
