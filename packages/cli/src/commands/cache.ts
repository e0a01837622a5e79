// `tsinductor cache ls` and `tsinductor cache clear`: what compiled graphs are kept on disk.
import { tmpdir } from 'node:os';
import { graphNamespace, openStore } from '@tsinductor/cache';
import type { ArtifactStore, EntrySummary } from '@tsinductor/cache';
import type { Config } from '@tsinductor/config';
import type { AddCommand } from '../context.ts';
import { formatBytes, renderTable, plural } from '../table.ts';
import type { Outcome } from '../terminal.ts';

/** Opens the store that compiled functions use. */
export const openGraphStore = (config: Config, warn: (message: string) => void): ArtifactStore =>
  openStore({
    root: config.cacheDir,
    namespace: graphNamespace,
    temporaryDirectory: tmpdir(),
    report: ({ message }) => {
      warn(message);
    },
  });

export const addCacheCommand: AddCommand = (parser, context) =>
  parser.command('cache', 'compiled graphs on disk', (command) =>
    command
      .command('ls', 'list them', {}, () => {
        context.finish(listCache(context.resolve().config, context.warn));
      })
      .command('clear', 'remove them', {}, () => {
        context.finish(clearCache(context.resolve().config, context.warn));
      })
      .demandCommand(1, 'cache needs a command: ls or clear'),
  );

const totalBytes = (entries: readonly EntrySummary[]): number => entries.reduce((sum, { bytes }) => sum + bytes, 0);

function listCache(config: Config, warn: (message: string) => void): Outcome {
  using store = openGraphStore(config, warn);
  const entries = [...store.list()].sort((a, b) =>
    a.modified === b.modified ? (a.key < b.key ? -1 : 1) : b.modified - a.modified,
  );
  const directory = store.root;
  return {
    data: { directory, bytes: totalBytes(entries), entries },
    status: 0,
    text: (colors) => {
      const summary = `${directory}: ${plural(entries.length, 'graph')}, ${formatBytes(totalBytes(entries))}`;
      if (entries.length === 0) return summary;
      const rows = entries.map(({ key, bytes, modified }) => [
        key.slice(0, 16),
        formatBytes(bytes),
        new Date(modified).toISOString().replace('T', ' ').slice(0, 19),
      ]);
      return `${renderTable(['key', 'size', 'built (UTC)'], rows, colors)}\n${summary}`;
    },
  };
}

function clearCache(config: Config, warn: (message: string) => void): Outcome {
  using store = openGraphStore(config, warn);
  const bytes = totalBytes(store.list());
  const removed = store.clear();
  const directory = store.root;
  return {
    data: { directory, removed, bytes },
    status: 0,
    text: () => `removed ${plural(removed, 'graph')}, ${formatBytes(bytes)}, from ${directory}`,
  };
}
