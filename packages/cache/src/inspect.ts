// What is in a cache, for whoever looks into it: nothing here counts as a use. In: a root. Out: what its entries were made of, how much of
// what lies there, and what is not as it was written.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { manifestOf, readEntry } from './entry.ts';
import type { DescribedEntry, KeyFields } from './explain-miss.ts';
import { nodeFileSystem, readOwnFile, removeQuietly } from './file-system.ts';
import type { FileSystem } from './file-system.ts';
import { graphNamespace, isKey, recordNamespace } from './key.ts';
import { damagedName, namesIn, stagePrefix } from './leftovers.ts';

/** Every entry with what its key was made of; those whose manifest cannot be read are left out. */
export function describeEntries(root: string, fs: FileSystem = nodeFileSystem()): readonly DescribedEntry[] {
  const home = join(root, graphNamespace);
  return keysIn(fs, home).flatMap((key) => {
    try {
      const directory = join(home, key);
      const manifest = manifestOf(fs, directory);
      if (manifest === undefined) return [];
      const { name, inputs } = (manifest.inputs ?? {}) as { readonly name?: unknown; readonly inputs?: unknown };
      const fields = textsOf({ ...versionsOf(manifest.versions), ...objectOf(inputs) });
      const modified = fs.lstatSync(directory).mtimeMs;
      return [{ key, name: typeof name === 'string' ? name : '', fields, modified }];
    } catch {
      return []; // removed meanwhile, or it cannot be read
    }
  });
}

const objectOf = (value: unknown): object => (typeof value === 'object' && value !== null ? value : {});

/** The versions of the tools are fields too, so that people see more of a compiler than a digest. */
const versionsOf = (versions: unknown): object =>
  Object.fromEntries(
    Object.entries(objectOf(versions)).map(([tool, version]) => [`${tool} version`, version as unknown]),
  );

const textsOf = (value: object): KeyFields =>
  Object.fromEntries(
    Object.entries(value).flatMap(([name, text]: [string, unknown]) =>
      typeof text === 'string' ? [[name, text]] : [],
    ),
  );

/** Removes bridges, what was found out of compilers and processors, and code of our texts; returns how many. They are made anew. */
export function removeMachine(root: string, fs: FileSystem = nodeFileSystem()): number {
  const gone = [
    ...namesIn(fs, root).filter((name) => bridgePattern.test(name) || machinePattern.test(name)),
    ...namesIn(fs, join(root, 'code')).map((name) => join('code', name)),
  ];
  for (const name of gone) removeQuietly(fs, join(root, name));
  return gone.length;
}

/** Something that is not what was written. */
interface Fault {
  readonly kind: 'entry' | 'bridge';
  /** A key, or the name of a directory. */
  readonly name: string;
  readonly reason: string;
}

/** Reads every byte of every entry and bridge; gives how many are whole, and what is not. */
export function verifyCache(
  root: string,
  fs: FileSystem = nodeFileSystem(),
): { readonly whole: number; readonly faults: readonly Fault[] } {
  const home = join(root, graphNamespace);
  const entries = keysIn(fs, home).flatMap((key): readonly (Fault | undefined)[] => {
    const reading = readEntry(fs, { directory: join(home, key), namespace: graphNamespace, key });
    if (reading.kind === 'absent') return [];
    return [reading.kind === 'found' ? undefined : { kind: 'entry', name: key, reason: reading.reason }];
  });
  const bridges = namesIn(fs, root)
    .filter((name) => bridgePattern.test(name))
    .map((name): Fault | undefined => {
      const reason = bridgeFault(fs, join(root, name));
      return reason === undefined ? undefined : { kind: 'bridge', name, reason };
    });
  const all = [...entries, ...bridges];
  return {
    whole: all.filter((fault) => fault === undefined).length,
    faults: all.filter((fault) => fault !== undefined),
  };
}

/** Records of what was found out of a machine. */
export const machinePattern: RegExp = /^(isa|loads)-[0-9a-f]{16}\.json$|^toolchain[a-z-]*\.json$/;

/** Directories of native bridges. */
export const bridgePattern: RegExp = /^bridge-[0-9a-f]{32}$/;

const mostBridgeBytes = 64 << 20;

function bridgeFault(fs: FileSystem, home: string): string | undefined {
  try {
    const { bytes } = readOwnFile(fs, join(home, 'bridge.node'), mostBridgeBytes);
    const digest = readOwnFile(fs, join(home, 'bridge.sha256'), 1024).bytes.toString('utf8').trim();
    const isWhole = createHash('sha256').update(bytes).digest('hex') === digest;
    return isWhole ? undefined : 'bridge.node is not what was written';
  } catch (error) {
    return String(error);
  }
}

/** How many there are of everything in a cache, and their bytes. */
export interface CacheContents {
  readonly entries: Amount;
  readonly damaged: Amount;
  readonly stages: Amount;
  readonly bridges: Amount;
  /** Records of what was found out of compilers and processors. */
  readonly machine: Amount;
  readonly records: Amount;
  /** Code that V8 made of our texts. */
  readonly code: Amount;
}

interface Amount {
  readonly count: number;
  readonly bytes: number;
}

/** The whole of a cache, by kind. */
export function contentsOf(root: string, fs: FileSystem = nodeFileSystem()): CacheContents {
  const amount = (directory: string, test: (name: string) => boolean): Amount => {
    const names = namesIn(fs, directory).filter(test);
    return { count: names.length, bytes: names.reduce((sum, name) => sum + bytesBelow(fs, join(directory, name)), 0) };
  };
  const home = join(root, graphNamespace);
  return {
    entries: amount(home, isKey),
    damaged: amount(join(home, damagedName), () => true),
    stages: amount(home, (name) => name.startsWith(stagePrefix)),
    bridges: amount(root, (name) => bridgePattern.test(name)),
    machine: amount(root, (name) => machinePattern.test(name)),
    records: amount(join(root, recordNamespace), isKey),
    code: amount(join(root, 'code'), () => true),
  };
}

function bytesBelow(fs: FileSystem, path: string): number {
  try {
    const status = fs.lstatSync(path);
    if (!status.isDirectory()) return status.size;
    return namesIn(fs, path).reduce((sum, name) => sum + bytesBelow(fs, join(path, name)), 0);
  } catch {
    return 0;
  }
}

const keysIn = (fs: FileSystem, home: string): readonly string[] => namesIn(fs, home).filter(isKey);
