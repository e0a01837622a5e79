// The process's own session: made at the first compiled call, never at import.
import { resolveConfig } from '@tsinductor/config';
import type { ConfigPatch, ConfigWarning } from '@tsinductor/config';
import { createStoragePool, createWatcher } from '@tsinductor/runtime';
import type { Bridge, StoragePool, Watcher } from '@tsinductor/runtime';
import { isRecording, setDeviceProvider, setStorageProvider } from '@tsinductor/tensor/internal';
import { CudaDevices } from './cuda/cuda-devices.ts';
import type { DeclaredFunction } from './declared-function.ts';
import { stanceInTrace } from './errors.ts';
import type { Voice } from './build/announcer.ts';
import { Session } from './session.ts';
import { checkStance, defaultStance } from './trace/stance.ts';
import type { CurrentStance, Stance, StanceOptions } from './trace/stance.ts';

interface DefaultCompiler {
  program: ConfigPatch;
  session: Session | undefined;
  /** One pool for the life of the process: blocks outlive sessions. */
  memory: OpenedMemory | undefined;
  /** Which tensors get native memory: large ones, all, or all as soon as nothing has to be waited for. */
  nativeMemory: 'large' | 'whenKnown' | 'all';
  readonly devices: CudaDevices;
  stance: CurrentStance;
  /** What was said of the configuration: of each name once in the life of the process. */
  readonly warned: Set<string>;
  /** Functions that declare examples, where somebody collects them. */
  declared: DeclaredFunction[] | undefined;
}

// Named exceptions to "no module state": the default compiler, the open devices.
const defaultCompiler: DefaultCompiler = {
  program: {},
  session: undefined,
  memory: undefined,
  nativeMemory: 'large',
  devices: new CudaDevices(defaultSession),
  stance: defaultStance,
  warned: new Set(),
  declared: undefined,
};

// A tensor may go to a device before anything is compiled. Nothing is opened until then.
setDeviceProvider(defaultCompiler.devices);

const processVoice: Voice = {
  warn: (code, message) => {
    process.emitWarning(message, { type: 'TsInductorWarning', code });
  },
  log: (topic, message) => {
    process.stderr.write(`[${topic}] ${message}\n`);
  },
};

/** Tells of a name of the configuration that changes nothing, once. */
export function reportOnce({ code, subject, message }: ConfigWarning): void {
  const { warned } = defaultCompiler;
  if (warned.has(subject)) return;
  warned.add(subject);
  processVoice.warn(code, message);
}

/** From now on functions that declare examples are put into the list that is given, when they are made. */
export const collectDeclared = (): readonly DeclaredFunction[] => (defaultCompiler.declared ??= []);

/** A function declares examples; it is described where somebody collects. */
export function declareExamples(describe: () => DeclaredFunction): void {
  defaultCompiler.declared?.push(describe());
}

/** The session that compiled functions use. */
export function defaultSession(): Session {
  defaultCompiler.session ??= new Session(
    resolveConfig({
      program: defaultCompiler.program,
      report: reportOnce,
    }),
    processVoice,
  );
  return defaultCompiler.session;
}

/** The devices that tensors of this process are on, and their driver. */
export const openDevices = (): CudaDevices => defaultCompiler.devices;

/**
 * From this size on native memory is on huge pages, which makes kernels that stream it up to a quarter faster: tensors so
 * large get it even before anything is compiled, because they are likely what compiled functions will read. Smaller ones
 * would gain from it what lies in the caches (there it begins at a line of the cache, so that no vector lies in two), and lose
 * that the collector has them back within a synchronous loop, and that nothing has to be built or opened for them.
 */
const hugePageBytes = 4 << 20;

/**
 * From now on tensors are allocated in native memory, which is looked for when the first one is; for functions that are compiled
 * in the background, when they have found out that nothing has to be waited for.
 */
export function useNativeMemory(use: 'whenKnown' | 'all' = 'all'): void {
  if (defaultCompiler.nativeMemory !== 'all') defaultCompiler.nativeMemory = use;
}

/** Tensors of so many bytes and more get native memory. */
function leastNative(): number {
  const { memory, nativeMemory } = defaultCompiler;
  if (nativeMemory === 'large') return hugePageBytes;
  if (memory !== undefined) return 0;
  try {
    const session = defaultSession();
    if (nativeMemory === 'all' && !session.config.background) return 0;
    return session.isMachineKnown ? 0 : Infinity;
  } catch {
    // Of settings that are not valid, who compiles is told.
    return Infinity;
  }
}

setStorageProvider({
  get pool() {
    return openedMemory().pool;
  },
  get watcher() {
    return openedMemory().watcher;
  },
  isProvisional: () => defaultCompiler.memory?.isNative === false,
  isOpen: () => defaultCompiler.memory !== undefined,
  get least() {
    return leastNative();
  },
  addressOf: (array) => openedMemory().addressOf(array),
  preferHugePages: (bytes) => {
    openedMemory().preferHugePages(bytes);
  },
  temporaries: () => defaultCompiler.session?.plannedTemporaries(),
});

interface OpenedMemory {
  /** Plain memory gives way to native memory as soon as there is a bridge. */
  readonly isNative: boolean;
  readonly pool: StoragePool;
  readonly watcher: Watcher;
  addressOf(array: ArrayBufferView): number;
  preferHugePages(bytes: Uint8Array): void;
}

/** Memory for tensors. It needs no compiler, no cache and no settings that are valid: without a bridge it is the engine's own. */
function openedMemory(): OpenedMemory {
  const { memory } = defaultCompiler;
  if (memory?.isNative === true) return memory;
  const bridge = memory === undefined ? bridgeForMemory() : defaultCompiler.session?.builder.bridge;
  return (defaultCompiler.memory = bridge === undefined ? (memory ?? plainMemory()) : nativeMemory(bridge));
}

/** The bridge, if it can be had: built only for who compiles. */
function bridgeForMemory(): Bridge | undefined {
  try {
    const session = defaultSession();
    if (defaultCompiler.nativeMemory === 'large') return session.builder.bridge ?? session.builder.builtBridge();
    const machine = session.machine();
    return machine.kind === 'native' ? machine.bridge : undefined;
  } catch {
    // Who compiles is told.
    return undefined;
  }
}

/** Who asks where its arrays lie has native code, of whichever session: then there is a bridge to be had. */
const plainMemory = (): OpenedMemory => ({
  isNative: false,
  pool: createStoragePool(undefined),
  watcher: createWatcher(undefined),
  addressOf: (array) => defaultSession().requireNative().bridge.addressOf(array),
  preferHugePages: () => undefined,
});

function nativeMemory(bridge: Bridge): OpenedMemory {
  const watcher = createWatcher(bridge);
  return {
    isNative: true,
    pool: createStoragePool(bridge, { watcher }),
    watcher,
    addressOf: (array) => bridge.addressOf(array),
    preferHugePages: (bytes) => {
      bridge.preferHugePages(bytes);
    },
  };
}

/**
 * Sets configuration for everything compiled from now on, over defaults and environment.
 *
 * @throws UserError SETTING_UNKNOWN, SETTING_VALUE, SETTING_TWICE, SETTING_PATCH for what is no setting, or not a value of it: then nothing changes
 * @example setConfig({ cpp: { threads: 1 } })
 */
export function setConfig(patch: ConfigPatch): void {
  const program = { ...defaultCompiler.program, ...patch };
  resolveConfig({ program, report: reportOnce });
  defaultCompiler.program = program;
  reset();
}

/** What compiled functions do now. */
export const currentStance = (): CurrentStance => defaultCompiler.stance;

/**
 * Says what every compiled function of the process does from now on, and at which calls it compiles:
 *
 * - `default`: what `compile` says.
 * - `force_eager`: functions run as they are, whatever was compiled.
 * - `eager_on_recompile`: what was compiled is used where it fits; other calls run as they are, first ones as well.
 * - `fail_on_recompile`: what was compiled is used where it fits; any other call is an error.
 * - `eager_then_compile`: the first call of a function runs as it is, the second is compiled, and sizes of arguments that differ
 *   between them are symbolic at once, so that no code is made for the first size alone. No call waits for a compiler, as with the
 *   option `background`, unless a function says `background: false`.
 * - `aot_eager_then_compile`: the same, with the backend `aot_eager` for the first call.
 *
 * `explain` and `warmup` compile under every stance but `force_eager`.
 *
 * @returns What gives the stance back that was there before: `using stance = setStance(...)` sets it for a block.
 * @throws UserError STANCE_VALUE, STANCE_OPTION for what is no stance or option; STANCE_IN_TRACE inside a compiled function;
 *   STANCE_RECOMPILE from calls under `fail_on_recompile`
 * @example
 * {
 *   using stance = setStance('fail_on_recompile'); // serving: everything was compiled in the warm-up
 *   serve(model);
 * }
 * @see torch.compiler.set_stance
 */
export function setStance(stance: Stance, options: StanceOptions = {}): Disposable {
  if (isRecording()) throw stanceInTrace();
  const before = defaultCompiler.stance;
  defaultCompiler.stance = checkStance(stance, options);
  return {
    [Symbol.dispose]: () => {
      defaultCompiler.stance = before;
    },
  };
}

/** Closes the default session: the next compiled call opens a new one. What is on disk stays. */
export function reset(): void {
  defaultCompiler.session?.[Symbol.dispose]();
  defaultCompiler.session = undefined;
}
