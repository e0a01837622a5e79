// How one compiled function is compiled: its own options before the session's settings and the process's stance, as they are now.
import type { Config } from '@tsinductor/config';
import { CacheTally } from '../build/cache-tally.ts';
import { configUnder } from '../mode.ts';
import { fixedInputs } from '../freeze/fixed-inputs.ts';
import { checkPlacement, patchOf } from '../options.ts';
import type { Backend, CompileOptions } from '../options.ts';
import type { PrepareRequest } from '../request.ts';
import type { SaidEvent } from '../structured-trace/trace-event.ts';
import type { Preparing, Surroundings } from './surroundings.ts';
import type { TracedCall } from './trace-call.ts';

export class FunctionSettings {
  /** What became of its graphs. */
  readonly tally: CacheTally = new CacheTally();
  readonly #name: string;
  readonly #options: CompileOptions;
  readonly #surroundings: Surroundings;

  constructor(name: string, options: CompileOptions, surroundings: Surroundings) {
    this.#name = name;
    this.#options = options;
    this.#surroundings = surroundings;
  }

  session(): Preparing {
    return this.#surroundings.session();
  }

  stance(): ReturnType<Surroundings['stance']>['stance'] {
    return this.#surroundings.stance().stance;
  }

  backend(): Backend {
    return this.#surroundings.stance().forceBackend ?? this.#options.backend ?? 'inductor';
  }

  /** The session's settings, with those of the function's mode and own options. */
  config(): Config {
    const { mode } = this.#options;
    return configUnder(this.session().config, { mode, patch: patchOf(this.#options) });
  }

  /** Logs and records something of the function, which is made only where it is asked for. */
  log(topic: SaidEvent['event'], message: () => string): void {
    const [session, config] = [this.session(), this.config()];
    session.log(topic, message, config);
    const text = (): string => message().slice(`${this.#name}:`.length).trim();
    session.record(this.#name, () => ({ event: topic, text: text() }), config);
  }

  /** Whether sizes and numbers are left open from the first call on; undefined: once they change. */
  dynamic(): boolean | undefined {
    return this.#options.dynamic ?? this.config().dynamic ?? undefined;
  }

  /** Whether every call is the function itself. */
  isEager(): boolean {
    if (this.#options.disable === true) return true;
    return this.stance() === 'force_eager' || this.backend() === 'eager';
  }

  /** Whether calls never wait for a compiler. */
  isInBackground(): boolean {
    const { background } = this.#options;
    if (background !== undefined) return background;
    const stance = this.stance();
    return this.config().background || stance === 'eager_then_compile' || stance === 'aot_eager_then_compile';
  }

  /** The same for a call as it was traced, whose inputs beside its arguments may be frozen. */
  requestFor(traced: TracedCall, backend: Backend): PrepareRequest {
    return { ...this.request(traced, backend), ...(this.config().freezing ? { frozen: fixedInputs(traced) } : {}) };
  }

  request({ inputs, placement }: Pick<TracedCall, 'inputs' | 'placement'>, backend: Backend): PrepareRequest {
    const { mode } = this.#options;
    const patch = patchOf(this.#options);
    checkPlacement(this.#name, this.#options, placement.device);
    return {
      name: this.#name,
      backend,
      examples: inputs,
      placement,
      ...(patch === undefined ? {} : { patch }),
      ...(mode === undefined ? {} : { mode }),
      isBackground: this.isInBackground(),
      tally: this.tally,
    };
  }
}
