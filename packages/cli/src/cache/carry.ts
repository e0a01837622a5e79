// `tsinductor cache export` and `import`: entries in a file, for another machine or an image, with what running them needs beside them.
// What is in it is code, so who imports a file trusts who exported it.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { Session } from '@tsinductor/compiler';
import { badArguments, noSuchEntry, nothingToExport } from '../errors.ts';
import { formatBytes, plural } from '../table.ts';
import type { Outcome } from '../terminal.ts';
import { openGraphStore } from './open-cache.ts';
import type { CacheUser } from './open-cache.ts';

const sessionOf = ({ config, warn }: CacheUser): Session =>
  new Session(config, {
    warn: (_, message) => {
      warn(message);
    },
    log: () => undefined,
  });

/** Writes entries whose keys begin so, or all. Damaged ones are left out, and put away. */
export function exportCache(
  user: CacheUser,
  { file, keys }: { readonly file: string; readonly keys: readonly string[] | undefined },
): Outcome {
  const [root, chosen] = keysOf(user, keys);
  using session = sessionOf(user);
  const saved = chosen.length === 0 ? undefined : session.builder.saveArtifacts(chosen);
  if (saved === undefined) throw keys === undefined ? nothingToExport(root) : noSuchEntry(keys.join(', '), root);
  const { bytes, entries } = saved;
  try {
    writeFileSync(file, bytes, { mode: 0o600 });
  } catch (error) {
    throw badArguments(`${file} cannot be written: ${String(error)}`);
  }
  return {
    data: { file, bytes: bytes.length, entries },
    status: 0,
    text: () => `wrote ${plural(entries.length, 'entry', 'entries')}, ${formatBytes(bytes.length)}, to ${file}`,
  };
}

/** Where the cache is, and the keys in it that begin so. */
function keysOf(user: CacheUser, prefixes: readonly string[] | undefined): readonly [string, readonly string[]] {
  using store = openGraphStore(user);
  const keys = store.list().map(({ key }) => key);
  const isWanted = (key: string): boolean =>
    prefixes === undefined || prefixes.some((prefix) => key.startsWith(prefix));
  return [store.readable ?? store.root, keys.filter(isWanted)];
}

/** Puts the entries of a file into the cache: all of them, or none if a byte is not as it was written. */
export function importCache(user: CacheUser, file: string): Outcome {
  const bytes = bytesIn(file);
  using session = sessionOf(user);
  const entries = session.builder.loadArtifacts(bytes);
  const { directory } = session.artifacts().place;
  return {
    data: { directory, entries },
    status: 0,
    text: () => `put ${plural(entries.length, 'entry', 'entries')} into ${directory}`,
  };
}

/** The whole of a regular file: nothing else has an end that can be relied on. */
function bytesIn(file: string): Uint8Array {
  if (!existsSync(file) || !statSync(file).isFile())
    throw badArguments(`${file} is no file; give the path of what \`tsinductor cache export\` wrote`);
  try {
    return readFileSync(file);
  } catch (error) {
    throw badArguments(`${file} cannot be read: ${String(error)}`);
  }
}
