// How far building has come, for people who wait for it: a line for each piece of code that is built, with how many of those that were
// begun are done. In: what is built, and settings. Out: what to call when it is.
import type { Config } from '@tsinductor/config';
import type { Announcer } from './announcer.ts';

/** What is built. */
interface Piece {
  readonly name: string;
  readonly units: readonly { readonly source: string }[];
}

export class Progress {
  readonly #announcer: Announcer;
  #begun = 0;
  #done = 0;

  constructor(announcer: Announcer) {
    this.#announcer = announcer;
  }

  /** Something is being built; the function that it gives tells that it is. */
  begin({ name, units }: Piece, config: Config): () => void {
    const started = performance.now();
    this.#begun += 1;
    return () => {
      this.#done += 1;
      if (config.disableProgress) return;
      const seconds = ((performance.now() - started) / 1000).toFixed(2);
      const source = config.verboseProgress ? units.map((unit) => `\n${unit.source.trimEnd()}`).join('') : '';
      const line = `${String(this.#done)}/${String(this.#begun)} ${name} in ${seconds} s${source}`;
      this.#announcer.tell('progress', line, config);
    };
  }
}
