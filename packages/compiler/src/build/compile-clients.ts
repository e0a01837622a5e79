// Where a session builds: in this thread, where the setting `compileThreads` is 1, so that no worker is started and the stack of
// an error goes from the compiler's failure to the call that needed it; else with a client of worker threads, which is made
// when first needed, and again where it ended. Where threads cannot be had, this one builds. The native bridge is built there too,
// while a graph is generated.
import { aloneNow } from '@tsinductor/cache';
import type { Config } from '@tsinductor/config';
import { bridgeName, buildBridge, findBridge, loadBridge } from '@tsinductor/runtime';
import type { Bridge, BridgeBuildOptions } from '@tsinductor/runtime';
import { isWorkerFailure } from '../errors.ts';
import { CompileClient } from './compile-client.ts';
import type { Compiling } from './compile-client.ts';
import { build, buildNow } from './workers/build-task.ts';

/** How long the bridge may take, which needs half a second, in milliseconds. */
const bridgePatience = 30_000;

export class CompileClients implements Disposable {
  #client: CompileClient | undefined;
  /** With the client. */
  #compiling: Compiling | undefined;

  /** Where at most `compileThreads` compilers run at once. */
  of({ compileThreads }: Pick<Config, 'compileThreads'>): Compiling {
    const client = compileThreads === 1 ? undefined : this.#start(compileThreads);
    if (client === undefined) return compileHere;
    return (this.#compiling ??= orHere(client));
  }

  /**
   * The bridge, when it is asked for. Where it has to be built, a worker begins to, and asking waits for it. Asking throws a
   * ToolchainError where it cannot be built.
   */
  bridge(options: BridgeBuildOptions, { compileThreads, compileTimeout }: Config): () => Bridge {
    const found = findBridge(options);
    if (found !== undefined) {
      const bridge = loadBridge(found);
      return () => bridge;
    }
    const milliseconds = Math.min(bridgePatience, compileTimeout * 1000);
    const building = { ...options, milliseconds };
    const client = compileThreads === 1 ? undefined : this.#start(compileThreads);
    if (client === undefined) {
      const bridge = builtHere(building);
      return () => bridge;
    }
    const built = client.start({
      bridge: building,
      name: 'the native bridge',
      timeoutMs: milliseconds,
      deadlineMs: 2 * milliseconds, // it may wait for another process, and then need as long itself
    });
    let bridge: Bridge | undefined;
    return () => (bridge ??= openedAfter(built, building));
  }

  /** A client; undefined where the system gives this process no threads. */
  #start(threads: number): CompileClient | undefined {
    if (this.#client?.ended === true) this.#forget();
    try {
      return (this.#client ??= new CompileClient(threads));
    } catch {
      return undefined;
    }
  }

  [Symbol.dispose](): void {
    this.#client?.[Symbol.dispose]();
    this.#forget();
  }

  #forget(): void {
    this.#client = undefined;
    this.#compiling = undefined;
  }
}

function openedAfter(built: () => unknown, options: BridgeBuildOptions): Bridge {
  try {
    built();
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

const compileHere: Compiling = {
  run: (job) => {
    const events: string[] = [];
    buildNow(job, events);
    return events;
  },
  submit: async (job) => {
    const events: string[] = [];
    await build(job, events);
    return events;
  },
};
