// The process's own session: made at the first compiled call, never at import.
import { resolveConfig } from '@tsinductor/config';
import type { ConfigPatch } from '@tsinductor/config';
import { createStoragePool } from '@tsinductor/runtime';
import type { StoragePool } from '@tsinductor/runtime';
import { setStorageProvider } from '@tsinductor/tensor/internal';
import type { Machine } from './machine.ts';
import { Session } from './session.ts';
import type { Voice } from './session.ts';

interface DefaultCompiler {
  program: ConfigPatch;
  session: Session | undefined;
  /** One pool for the life of the process: blocks outlive sessions. */
  memory: OpenedMemory | undefined;
  providesMemory: boolean;
}

// Named exception to "no module state": the default compiler.
const defaultCompiler: DefaultCompiler = {
  program: {},
  session: undefined,
  memory: undefined,
  providesMemory: false,
};

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

/** From now on tensors are allocated in native memory, which is looked for when the first one is. */
export function useNativeMemory(): void {
  if (defaultCompiler.providesMemory) return;
  defaultCompiler.providesMemory = true;
  const opened = (): OpenedMemory => (defaultCompiler.memory ??= openMemory(defaultSession().machine()));
  setStorageProvider({
    get pool() {
      return opened().pool;
    },
    addressOf: (array) => opened().addressOf(array),
  });
}

interface OpenedMemory {
  readonly pool: StoragePool;
  addressOf(array: NodeJS.TypedArray): number;
}

function openMemory(machine: Machine): OpenedMemory {
  if (machine.kind === 'interpreter') {
    return { pool: createStoragePool(undefined), addressOf: () => 0 };
  }
  const { bridge } = machine;
  return { pool: createStoragePool(bridge), addressOf: (array) => bridge.addressOf(array) };
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
