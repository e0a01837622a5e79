// How TypeScript is loaded: by tsx where the program or this package has it, else by Node itself where it can. In: the path of
// a module. Out: what to import before it.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { typeScriptNotLoaded } from './errors.ts';

/** What is used of tsx: what a process preloads, and what a running program registers. */
type Entry = '.' | './esm/api';
interface Manifest {
  readonly exports: Readonly<Record<Entry, string | { readonly import: { readonly default: string } }>>;
}

const typeScript: RegExp = /^\.[cm]?tsx?$/;

/** The address of a module of tsx that loads TypeScript; undefined where it is not needed. Throws UserError CLI_TYPESCRIPT. */
export function typeScriptLoader(path: string, entry: Entry): string | undefined {
  const found = [path, import.meta.url].flatMap((from) => addressFrom(from, entry) ?? []).at(0);
  const isLoaded = found !== undefined || !typeScript.test(extname(path)) || isStrippedByNode();
  if (!isLoaded) throw typeScriptNotLoaded(path);
  return found;
}

/** The address by which `import` finds an entry of tsx, which `require` would find another module for. */
function addressFrom(from: string, entry: Entry): string | undefined {
  try {
    const manifest = createRequire(from).resolve('tsx/package.json');
    const target = (JSON.parse(readFileSync(manifest, 'utf8')) as Manifest).exports[entry];
    return new URL(typeof target === 'string' ? target : target.import.default, pathToFileURL(manifest)).href;
  } catch {
    return undefined;
  }
}

/** Node has done so itself since 22.18. */
const isStrippedByNode = (): boolean =>
  ((process.features as { readonly typescript?: string | false }).typescript ?? false) !== false;
