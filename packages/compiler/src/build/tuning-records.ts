// Where measurements of autotune() are kept, as the settings say: on disk, or not at all.
import { tmpdir } from 'node:os';
import { openRecords, readRecords } from '@tsinductor/cache';
import type { RecordStore } from '@tsinductor/cache';
import type { Config } from '@tsinductor/config';
import type { Announcer } from './announcer.ts';
import type { RemoteCache } from './remote/remote-cache.ts';
import { sharesMeasurements } from './remote/remote-options.ts';
import type { MeasuredKernels } from './remote/remote-options.ts';
import { SharedRecords } from './remote/shared-records.ts';

export class TuningRecords {
  readonly #config: Config;
  readonly #announcer: Announcer;
  readonly #remote: () => RemoteCache | undefined;
  #isFlushed = false;

  /** `remote` is what machines share, where the settings have it. */
  constructor(config: Config, announcer: Announcer, remote: () => RemoteCache | undefined) {
    this.#config = config;
    this.#announcer = announcer;
    this.#remote = remote;
  }

  /** The records, for whoever measures now; `bundle` names all problems of a kernel. */
  open(bundle: string, of: MeasuredKernels): RecordStore {
    const { autotuneLocalCache, bundledAutotuneRemoteCache, compileFarm, compileTimeout } = this.#config;
    const own = this.#own();
    const remote = sharesMeasurements(this.#config, of) ? this.#remote() : undefined;
    if (remote === undefined) return own;
    return new SharedRecords(own, remote, {
      bundle: bundledAutotuneRemoteCache === true && autotuneLocalCache ? bundle : undefined,
      patience: compileFarm ? compileTimeout * 1000 : undefined,
    });
  }

  #own(): RecordStore {
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
