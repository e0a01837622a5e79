// `tsinductor cache why`: what of a key differs from the key of the entry that is most like it. In: the beginning of a key, a name, or a
// module. Out: for each entry, why it was not found among those that were there before it.
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { describeEntries, explainMiss } from '@tsinductor/cache';
import type { DescribedEntry, MissExplanation } from '@tsinductor/cache';
import { noSuchEntry } from '../errors.ts';
import type { Colors, Outcome } from '../terminal.ts';
import { timeText } from './contents.ts';
import { graphRoot } from './open-cache.ts';
import type { CacheUser } from './open-cache.ts';

/** An entry, and why it had to be built; or that it was found. */
interface Explained extends Pick<DescribedEntry, 'key' | 'name'> {
  readonly outcome: 'built' | 'found';
  readonly miss: MissExplanation | undefined;
}

export async function explainKey(user: CacheUser, what: string): Promise<Outcome> {
  const root = graphRoot(user.config);
  const explained = isFile(what) ? await explainModule(root, resolve(what)) : explainStored(root, what);
  return {
    data: explained,
    status: 0,
    text: (colors) => explained.map((one) => textOf(one, colors)).join('\n'),
  };
}

/** A directory may have the name of a function. */
const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();

/** Entries by the beginning of their key, or by name, each among those that are older. */
function explainStored(root: string, what: string): readonly Explained[] {
  const entries = describeEntries(root);
  const chosen = entries.filter(({ key, name }) => key.startsWith(what) || name === what);
  if (chosen.length === 0) throw noSuchEntry(what, root);
  return chosen.map((entry) => explainAmong(entry, entries));
}

/** What a module compiles: found, or built among entries that were there before. */
async function explainModule(root: string, path: string): Promise<readonly Explained[]> {
  const { reportsOf } = await import('../explain-file.ts');
  const reports = await reportsOf(path);
  const entries = describeEntries(root);
  return reports.flatMap(({ name, origin, cacheKey }) => {
    const entry = entries.find(({ key }) => key === cacheKey);
    if (cacheKey === undefined) return [];
    if (origin === 'disk' || entry === undefined)
      return [
        { key: cacheKey, name, outcome: origin === 'disk' ? ('found' as const) : ('built' as const), miss: undefined },
      ];
    return [explainAmong(entry, entries)];
  });
}

function explainAmong(entry: DescribedEntry, entries: readonly DescribedEntry[]): Explained {
  const older = entries.filter(({ key, modified }) => key !== entry.key && modified <= entry.modified);
  return { key: entry.key, name: entry.name, outcome: 'built', miss: explainMiss(entry, older) };
}

function textOf({ key, name, outcome, miss }: Explained, colors: Colors): string {
  const head = `${colors.bold(key.slice(0, 16))} ${name}`;
  if (outcome === 'found') return `${head}: found in the cache`;
  if (miss === undefined) return `${head}: built, and not kept in the cache: see cacheInfo().bypasses`;
  const { nearest, differences } = miss;
  if (nearest === undefined) return `${head}: built, for the cache had no older entry`;
  const nearestText = `${nearest.key.slice(0, 16)} ${nearest.name}, built ${timeText(nearest.modified)} UTC`;
  const lines = differences.map(
    ({ field, wanted, found }) => `  ${field}\n    it was ${shown(found)}\n    and is ${shown(wanted)}`,
  );
  const why =
    differences.length === 0
      ? ['  in nothing that was noted: where it was called from, or what its entry does not tell']
      : lines;
  return [`${head}: built, for it differs from ${nearestText}, in`, ...why].join('\n');
}

const shown = (value: string | undefined): string => (value === undefined || value === '' ? 'nothing' : value);
