// Where a session builds: in this thread, where the setting `compileThreads` is 1, so that no worker is started and the stack of
// an error goes from the compiler's failure to the call that needed it; else with a client of worker threads, which is made
// when first needed, and again where it ended. Where threads cannot be had, this one builds. The native bridge is built there too,
// while a graph is generated.
import { aloneNow } from '@tsinductor/cache';
import type { Config } from '@tsinductor/config';
import { bridgeName, buildBridge, findBridge, loadBridge } from '@tsinductor/runtime';
import type { Bridge, BridgeBuildOptions } from '@tsinductor/runtime';
import { isWorkerFailure, workerFailed } from '../errors.ts';
import { CompileClient } from './compile-client.ts';
import type { Compiling } from './compile-client.ts';
import { compileHere } from './compile-here.ts';
import type { Pending } from './pending.ts';

/** How long the bridge may take, which needs half a second, in milliseconds. */
const bridgePatience = 30_000;

/** What of the settings decides about workers: how many, in what, and after how long without work they end. */
type Workers = Pick<
  Config,
  'compileThreads' | 'quiesceAsyncCompilePool' | 'quiesceAsyncCompileTime' | 'workerStartMethod'
>;

export class CompileClients implements Disposable {
  readonly #place: 'workers' | 'here';
  #client: CompileClient | undefined;
  /** In what that one builds. */
  #method: Workers['workerStartMethod'] | undefined;
  /** With the client. */
  #compiling: Compiling | undefined;

  /** `here`: in this thread, whatever the settings say. */
  constructor(place: 'workers' | 'here' = 'workers') {
    this.#place = place;
  }

  /**
   * Where at most `compileThreads` compilers run at once, for so many units: a single one is built in this thread, which waits for it
   * anyway, so that no worker has to be started.
   */
  of(config: Workers, units: number): Compiling {
    const client = this.#isHere(config) || units === 1 ? undefined : this.#start(config);
    if (client === undefined) return compileHere;
    return (this.#compiling ??= orHere(client));
  }

  /** The same where this thread must not wait, also if one thread is all. Throws COMPILE_WORKER where there are no threads to be had. */
  beside(config: Workers): CompileClient {
    const client = this.#start(config);
    if (client === undefined) throw workerFailed('the system gives this process no threads');
    return client;
  }

  /** Whether worker threads are up. */
  get hasWorkers(): boolean {
    return this.#client?.ended === false;
  }

  #isHere({ compileThreads }: Workers): boolean {
    return compileThreads === 1 || this.#place === 'here';
  }

  /**
   * The bridge, when it is asked for. Where it has to be built, a worker begins to, and asking waits for it. Asking throws a
   * ToolchainError where it cannot be built.
   */
  bridge(options: BridgeBuildOptions, config: Config): () => Bridge {
    const found = findBridge(options);
    if (found !== undefined) {
      const bridge = loadBridge(found);
      return () => bridge;
    }
    const milliseconds = Math.min(bridgePatience, config.compileTimeout * 1000);
    const building = { ...options, milliseconds };
    const client = this.#isHere(config) ? undefined : this.#start(config);
    if (client === undefined) {
      const bridge = builtHere(building);
      return () => bridge;
    }
    const built = client.begin({
      bridge: building,
      name: 'the native bridge',
      timeoutMs: milliseconds,
      deadlineMs: 2 * milliseconds, // it may wait for another process, and then need as long itself
    });
    let bridge: Bridge | undefined;
    return () => (bridge ??= openedAfter(built, building));
  }

  /** A client; undefined where the system gives this process no threads. */
  #start({ compileThreads, workerStartMethod: method, ...quiescing }: Workers): CompileClient | undefined {
    if (this.#client?.ended === true) this.#forget();
    if (this.#method !== method) this[Symbol.dispose]();
    this.#method = method;
    try {
      this.#client ??= new CompileClient(compileThreads, { method });
    } catch {
      return undefined;
    }
    const { quiesceAsyncCompilePool, quiesceAsyncCompileTime } = quiescing;
    this.#client.quiesceAfter(quiesceAsyncCompilePool ? quiesceAsyncCompileTime * 1000 : undefined);
    return this.#client;
  }

  [Symbol.dispose](): void {
    this.#client?.endWhenDone();
    this.#forget();
  }

  #forget(): void {
    this.#client = undefined;
    this.#compiling = undefined;
  }
}

function openedAfter(built: Pick<Pending<unknown>, 'wait'>, options: BridgeBuildOptions): Bridge {
  try {
    built.wait();
  } catch (error) {
    if (!isWorkerFailure(error)) throw error;
  }
  // Found, unless the thread failed, or somebody has removed it since.
  const found = findBridge(options);
  return found === undefined ? builtHere(options) : loadBridge(found);
}

/** Built while this thread waits, by one process of the machine. */
const builtHere = (options: BridgeBuildOptions): Bridge =>
  loadBridge(
    aloneNow(
      {
        directory: options.directory,
        name: bridgeName(options),
        known: () => findBridge(options),
        waitMilliseconds: bridgePatience,
        report: () => undefined,
      },
      () => buildBridge(options),
    ),
  );

/** With the client's threads; where these fail, in this one. */
const orHere = (client: CompileClient): Compiling => ({
  run: (job) => {
    try {
      return client.run(job);
    } catch (error) {
      if (!isWorkerFailure(error)) throw error;
      return compileHere.run(job);
    }
  },
  submit: async (job) => {
    try {
      return await client.submit(job);
    } catch (error) {
      if (!isWorkerFailure(error)) throw error;
      return compileHere.submit(job);
    }
  },
});
