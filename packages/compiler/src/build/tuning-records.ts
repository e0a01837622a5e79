// Where measurements of autotune() are kept, as the settings say: on disk, or not at all.
import { tmpdir } from 'node:os';
import { openRecords } from '@tsinductor/cache';
import type { RecordStore } from '@tsinductor/cache';
import type { Config } from '@tsinductor/config';
import type { Announcer } from './announcer.ts';

export class TuningRecords {
  readonly #config: Config;
  readonly #announcer: Announcer;
  #isFlushed = false;

  constructor(config: Config, announcer: Announcer) {
    this.#config = config;
    this.#announcer = announcer;
  }

  /** The records, for whoever measures now. */
  open(): RecordStore {
    const { autotuneCacheDir, autotuneLocalCache, cacheDir, flushAutotuneCache, forceDisableCaches } = this.#config;
    if (!autotuneLocalCache || forceDisableCaches) return noRecords;
    const records = openRecords({
      root: autotuneCacheDir ?? cacheDir,
      temporaryDirectory: tmpdir(),
      report: ({ message }) => {
        this.#announcer.warnOnce(`AUTOTUNE_CACHE ${message}`, message);
      },
    });
    if (flushAutotuneCache && !this.#isFlushed) records.clear();
    this.#isFlushed = true;
    return records;
  }
}

const noRecords: RecordStore = {
  root: '',
  read: () => new Map(),
  write: () => undefined,
  list: () => [],
  clear: () => 0,
  [Symbol.dispose]: () => undefined,
};
