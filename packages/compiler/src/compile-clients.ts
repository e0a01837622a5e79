// Where a session builds: in this thread, where the setting `compileThreads` is 1, so that no worker is started and the stack of
// an error goes from the compiler's failure to the call that needed it; else with a client of worker threads, which is made
// when first needed, and again where it ended.
import type { Config } from '@tsinductor/config';
import { CompileClient } from './compile-client.ts';
import type { Compiling } from './compile-client.ts';
import { build, buildNow } from './workers/build-task.ts';

export class CompileClients implements Disposable {
  #client: CompileClient | undefined;

  /** Where at most `compileThreads` compilers run at once. */
  of({ compileThreads }: Pick<Config, 'compileThreads'>): Compiling {
    if (compileThreads === 1) return compileHere;
    if (this.#client?.ended === true) this.#client = undefined;
    return (this.#client ??= new CompileClient(compileThreads));
  }

  [Symbol.dispose](): void {
    this.#client?.[Symbol.dispose]();
    this.#client = undefined;
  }
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
