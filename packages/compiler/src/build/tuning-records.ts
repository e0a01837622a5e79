// Where measurements of autotune() are kept, as the settings say: on disk, or not at all.
import { tmpdir } from 'node:os';
import { openRecords, readRecords } from '@tsinductor/cache';
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
    const { globalCacheDir } = this.#config;
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
    return globalCacheDir === null ? records : withGlobal(records, globalCacheDir);
  }
}

/** What was measured elsewhere, before what was measured here; of one configuration that one counts. */
const withGlobal = (records: RecordStore, directory: string): RecordStore => ({
  ...own(records),
  read: (problem) => new Map([...records.read(problem), ...readRecords(directory, problem)]),
});

/** The members of a store, which are functions of it. */
const own = (records: RecordStore): RecordStore => ({
  root: records.root,
  read: (problem) => records.read(problem),
  write: (problem, configuration, record) => {
    records.write(problem, configuration, record);
  },
  list: () => records.list(),
  clear: (problem) => records.clear(problem),
  [Symbol.dispose]: () => {
    records[Symbol.dispose]();
  },
});

const noRecords: RecordStore = {
  root: '',
  read: () => new Map(),
  write: () => undefined,
  list: () => [],
  clear: () => 0,
  [Symbol.dispose]: () => undefined,
};
