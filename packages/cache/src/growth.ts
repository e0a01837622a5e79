// When it is time to look whether a cache is beyond its bounds: looking reads the sizes of all entries, so it waits until all processes
// together have added a hundredth of what the cache may hold, or a day has passed. In: how much was added. Out: whether to look.
//
// What was added is the length of a file, a byte for every 64 KiB: adding to its end needs no lock.
import { join } from 'node:path';
import { collectGarbage } from './collect.ts';
import type { CacheLimits, Collected, CollectOptions } from './collect.ts';
import { nodeFileSystem } from './file-system.ts';
import type { FileSystem } from './file-system.ts';

const grownName = '.grown';
const collectedName = '.collected';
const unitBytes = 1 << 16;
const day = 86_400_000;

/** Notes that `bytes` were added to the cache, and keeps it within its bounds. Never throws for what is on disk. */
export function keepWithin(options: CollectOptions, bytes: number): Collected | undefined {
  const fs = options.fs ?? nodeFileSystem();
  const grown = join(options.root, grownName);
  try {
    fs.appendFileSync(grown, 'x'.repeat(Math.ceil(bytes / unitBytes)), { mode: 0o600 });
    if (!isTime(fs, options.root, options.limits)) return undefined;
    fs.writeFileSync(join(options.root, collectedName), '', { mode: 0o600 });
    fs.rmSync(grown, { force: true });
  } catch {
    return undefined; // a cache that is full, or only read
  }
  return collectGarbage({ ...options, fs });
}

function isTime(fs: FileSystem, root: string, { bytes, milliseconds }: CacheLimits): boolean {
  const units = fs.lstatSync(join(root, grownName)).size;
  if (bytes !== null && units * unitBytes * 100 >= bytes) return true;
  const collected = fs.lstatSync(join(root, collectedName), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return milliseconds !== null && Date.now() - collected > day;
}
