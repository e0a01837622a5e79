// What lies in the cache: listed, counted, checked, removed. In: settings. Out: an outcome for the terminal.
import { tmpdir } from 'node:os';
import {
  collectGarbage,
  contentsOf,
  describeEntries,
  openRecords,
  removeMachine,
  verifyCache,
} from '@tsinductor/cache';
import type { ArtifactStore, CacheContents, Collected, EntrySummary } from '@tsinductor/cache';
import { cacheOnlyRead } from '../errors.ts';
import { formatBytes, plural, renderTable } from '../table.ts';
import type { Outcome } from '../terminal.ts';
import { boundsOf, openGraphStore } from './open-cache.ts';
import type { CacheUser } from './open-cache.ts';

/** Where what compiled functions find lies: a cache that cannot be written is read. */
const placeOf = ({ readable, root }: ArtifactStore): string => readable ?? root;

const totalBytes = (entries: readonly EntrySummary[]): number => entries.reduce((sum, { bytes }) => sum + bytes, 0);

/** The entries, the last built first. */
export function listCache(user: CacheUser): Outcome {
  using store = openGraphStore(user);
  const directory = placeOf(store);
  const names = new Map(describeEntries(directory).map(({ key, name }) => [key, name]));
  const entries = [...store.list()]
    .sort((a, b) => (a.modified === b.modified ? (a.key < b.key ? -1 : 1) : b.modified - a.modified))
    .map((entry) => ({ ...entry, name: names.get(entry.key) ?? '' }));
  return {
    data: { directory, bytes: totalBytes(entries), entries },
    status: 0,
    text: (colors) => {
      const summary = `${directory}: ${plural(entries.length, 'entry', 'entries')}, ${formatBytes(totalBytes(entries))}`;
      if (entries.length === 0) return summary;
      const rows = entries.map(({ key, name, bytes, modified, used, isInUse }) => [
        key.slice(0, 16),
        name.slice(0, 40),
        formatBytes(bytes),
        timeText(modified),
        isInUse ? 'now' : timeText(used),
      ]);
      return `${renderTable(['key', 'name', 'size', 'built (UTC)', 'used'], rows, colors)}\n${summary}`;
    },
  };
}

/** `2026-01-31 12:00:00`. */
export const timeText = (milliseconds: number): string =>
  new Date(milliseconds).toISOString().replace('T', ' ').slice(0, 19);

const kinds: Readonly<Record<keyof CacheContents, string>> = {
  entries: 'graphs and kernels',
  damaged: 'damaged, put away',
  stages: 'being built, or left by the dead',
  bridges: 'native bridges',
  machine: 'what was found out of compilers',
  records: 'tuned kernels',
  code: 'code of our own texts',
};

/** How much there is of everything. */
export function showStats(user: CacheUser): Outcome {
  using store = openGraphStore(user);
  const directory = placeOf(store);
  const contents = contentsOf(directory);
  const list = store.list();
  const inUse = list.filter(({ isInUse }) => isInUse).length;
  const { cacheMaxBytes, cacheMaxDays } = user.config;
  const oldest = Math.min(...list.map(({ used }) => used));
  return {
    data: {
      directory,
      contents,
      inUse,
      leastRecentlyUsed: list.length === 0 ? null : oldest,
      bounds: { bytes: cacheMaxBytes, days: cacheMaxDays },
    },
    status: 0,
    text: (colors) => {
      const rows = (Object.keys(kinds) as (keyof CacheContents)[]).map((kind) => [
        kinds[kind],
        String(contents[kind].count),
        formatBytes(contents[kind].bytes),
      ]);
      const bytes = cacheMaxBytes === null ? 'any number of bytes' : formatBytes(cacheMaxBytes);
      const days = cacheMaxDays === null ? 'any time' : plural(cacheMaxDays, 'day');
      return [
        renderTable(['what', 'count', 'size'], rows, colors),
        `${String(inUse)} in use; bounds: ${bytes}, unused for ${days}`,
        ...(list.length === 0 ? [] : [`least recently used: ${timeText(oldest)} UTC`]),
      ].join('\n');
    },
  };
}

/** Reads every byte. The status is 1 where something is not what was written. */
export function verifyStored(user: CacheUser): Outcome {
  const damaged = new Set<string>();
  using store = openGraphStore({
    ...user,
    // What is put away is told below.
    warn: (message) => {
      if (damaged.size === 0) user.warn(message);
    },
  });
  const directory = placeOf(store);
  const { whole, faults } = verifyCache(directory);
  // What is only read stays as it is.
  for (const { name, reason } of store.readable === undefined ? faults.filter(({ kind }) => kind === 'entry') : []) {
    damaged.add(name);
    store.discard(name, reason);
  }
  return {
    data: { directory, whole, faults },
    status: faults.length === 0 ? 0 : 1,
    text: (colors) =>
      [
        `${plural(whole, 'entry or bridge', 'entries and bridges')} whole, ${colors[faults.length === 0 ? 'reset' : 'red'](`${String(faults.length)} not`)}`,
        ...faults.map(({ name, reason }) =>
          damaged.has(name)
            ? `${name.slice(0, 16)} is put away: ${reason}`
            : `${name.slice(0, 16)} is made anew when it is needed: ${reason}`,
        ),
      ].join('\n'),
  };
}

/** Nothing can be removed from a cache that is only read. */
function checkWritable({ readable }: ArtifactStore): void {
  if (readable !== undefined) throw cacheOnlyRead(readable);
}

/** Removes what is beyond the bounds. */
export function collectCache(user: CacheUser): Outcome {
  using store = openGraphStore(user);
  checkWritable(store);
  const collected = collectGarbage(boundsOf(user.config, store.root));
  return {
    data: { directory: store.root, collected: collected ?? null },
    status: collected === undefined ? 1 : 0,
    text: () =>
      collected === undefined ? 'another process is at it, or the cache cannot be written' : collectedText(collected),
  };
}

const collectedText = ({ entries, bytes, leftovers, machine, records, kept }: Collected): string =>
  [
    `removed ${plural(entries, 'entry', 'entries')}, ${formatBytes(bytes)}; ${plural(leftovers, 'leftover')}, ` +
      `${plural(machine, 'bridge or record', 'bridges and records')} of the machine, ${plural(records, 'tuned kernel')}`,
    `kept ${plural(kept.entries, 'entry', 'entries')}, ${formatBytes(kept.bytes)}, ${String(kept.inUse)} of them in use`,
  ].join('\n');

/** Removes entries, and with `all` whatever else is kept there. */
export function clearCache(user: CacheUser, { all }: { readonly all: boolean }): Outcome {
  using store = openGraphStore(user);
  checkWritable(store);
  const bytes = totalBytes(store.list());
  const removed = store.clear();
  const directory = store.root;
  const { cacheDir, autotuneCacheDir } = user.config;
  let others = 0;
  if (all) {
    using records = openRecords({
      root: autotuneCacheDir ?? cacheDir,
      temporaryDirectory: tmpdir(),
      report: ({ message }) => {
        user.warn(message);
      },
    });
    others = records.clear() + removeMachine(directory);
  }
  return {
    data: { directory, removed, bytes, ...(all ? { others } : {}) },
    status: 0,
    text: () =>
      `removed ${plural(removed, 'entry', 'entries')}, ${formatBytes(bytes)}, ` +
      `${all ? `and ${plural(others, 'other thing')}, ` : ''}from ${directory}`,
  };
}
