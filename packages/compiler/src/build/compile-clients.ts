// Where a session builds: in this thread, where the setting `compileThreads` is 1, so that no worker is started and the stack of
// an error goes from the compiler's failure to the call that needed it; else with a client of worker threads, which is made
// when first needed, and again where it ended. The native bridge is built there too, while a graph is generated.
import type { Config } from '@tsinductor/config';
import { isBridgeBuilt, openBridge } from '@tsinductor/runtime';
import type { Bridge, BridgeBuildOptions } from '@tsinductor/runtime';
import { CompileClient } from './compile-client.ts';
import type { Compiling } from './compile-client.ts';
import type { Pending } from './pending.ts';
import { build, buildNow } from './workers/build-task.ts';

export class CompileClients implements Disposable {
  readonly #place: 'workers' | 'here';
  #client: CompileClient | undefined;

  /** `here`: in this thread, whatever the settings say. */
  constructor(place: 'workers' | 'here' = 'workers') {
    this.#place = place;
  }

  /**
   * Where at most `compileThreads` compilers run at once, for so many units: a single one is built in this thread, which waits for it
   * anyway, so that no worker has to be started.
   */
  of({ compileThreads }: Pick<Config, 'compileThreads'>, units: number): Compiling {
    if (this.#isHere(compileThreads) || units === 1) return compileHere;
    return this.#start(compileThreads);
  }

  /** The same where this thread must not wait, also if one thread is all. */
  beside({ compileThreads }: Pick<Config, 'compileThreads'>): CompileClient {
    return this.#start(compileThreads);
  }

  #isHere(compileThreads: number): boolean {
    return compileThreads === 1 || this.#place === 'here';
  }

  /**
   * The bridge, when it is asked for. Where it has to be built, a worker begins to, and asking waits for it. Asking throws a
   * ToolchainError where it cannot be built.
   */
  bridge(options: BridgeBuildOptions, { compileThreads, compileTimeout }: Config): () => Bridge {
    if (this.#isHere(compileThreads) || isBridgeBuilt(options)) {
      const bridge = openBridge(options);
      return () => bridge;
    }
    const milliseconds = compileTimeout * 1000;
    const built = this.#start(compileThreads).begin({
      bridge: { ...options, milliseconds },
      name: 'the native bridge',
      timeoutMs: milliseconds,
      deadlineMs: milliseconds,
    });
    let bridge: Bridge | undefined;
    return () => (bridge ??= openedAfter(built, options));
  }

  #start(threads: number): CompileClient {
    if (this.#client?.ended === true) this.#client = undefined;
    return (this.#client ??= new CompileClient(threads));
  }

  [Symbol.dispose](): void {
    this.#client?.endWhenDone();
    this.#client = undefined;
  }
}

function openedAfter(built: Pick<Pending<unknown>, 'wait'>, options: BridgeBuildOptions): Bridge {
  try {
    built.wait();
  } catch {
    // Then it is built here, or that fails with the reason.
  }
  return openBridge(options);
}

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
