// The machines of a session, one for each compiler, width of vectors and number of threads that settings ask for. They share
// the bridge, which lives in the process. One whose bridge turns out not to build interprets from then on.
import type { Config } from '@tsinductor/config';
import { findBridge, knownToolchain, loadBridge } from '@tsinductor/runtime';
import type { Bridge, BridgeBuildOptions } from '@tsinductor/runtime';
import type { CompileClients } from './compile-clients.ts';
import { compilerFlags, interpreting, isMachineKnown, openMachine, searchOf } from './machine.ts';
import type { Machine, MachinePlace } from './machine.ts';

export class Machines {
  readonly #clients: CompileClients;
  readonly #opened = new Map<string, Machine>();
  /** The key of each configuration: every launch of a kernel asks for its machine. */
  readonly #keys = new WeakMap<Config, string>();
  /** Of those that wait for nothing. */
  readonly #known = new Set<string>();
  #bridge: Bridge | undefined;

  /** `clients` build bridges. */
  constructor(clients: CompileClients) {
    this.#clients = clients;
  }

  /** The bridge, if one was opened here. */
  get bridge(): Bridge | undefined {
    return this.#bridge;
  }

  /** The bridge as it lies in `place`, if that is known without starting a compiler. */
  built(config: Config, place: MachinePlace): Bridge | undefined {
    const toolchain = knownToolchain(searchOf(config, place))?.toolchain;
    const path = toolchain === undefined ? undefined : findBridge({ toolchain, ...place });
    return path === undefined ? undefined : (this.#bridge ??= loadBridge(path));
  }

  /** The machine under these settings. What was found out of it is kept in that place, which is asked for once. */
  of(config: Config, place: () => MachinePlace): Machine {
    const key = this.#keyOf(config);
    const known = this.#opened.get(key);
    if (known !== undefined) return known;
    const machine = openMachine(config, place, (options) => {
      const open = this.#begin(options, config);
      return () => {
        try {
          return (this.#bridge ??= open());
        } catch (error) {
          this.#opened.set(key, interpreting(error));
          throw error;
        }
      };
    });
    this.#opened.set(key, machine);
    return machine;
  }

  /** Looks anew where there was no compiler: one may have been brought meanwhile. */
  forgetFailures(): void {
    for (const [key, { kind }] of this.#opened) if (kind === 'interpreter') this.#opened.delete(key);
  }

  /** Whether asking for the machine starts no process and waits for none. */
  areKnown(config: Config, place: () => MachinePlace): boolean {
    const key = this.#keyOf(config);
    if (this.#known.has(key)) return true;
    if (!isMachineKnown(config, place(), this.#bridge)) return false;
    this.#known.add(key);
    return true;
  }

  /** Whether that was found before. */
  wereKnown(config: Config): boolean {
    return this.#known.has(this.#keyOf(config));
  }

  #keyOf(config: Config): string {
    const known = this.#keys.get(config);
    if (known !== undefined) return known;
    const { cxx, searchPath, simdlen, vecIsaOk, threads, dynamicThreads } = config.cpp;
    const key = JSON.stringify([cxx, searchPath, simdlen, vecIsaOk, threads, dynamicThreads, compilerFlags(config)]);
    this.#keys.set(config, key);
    return key;
  }

  #begin(options: BridgeBuildOptions, config: Config): () => Bridge {
    const opened = this.#bridge;
    return opened === undefined ? this.#clients.bridge(options, config) : () => opened;
  }
}
