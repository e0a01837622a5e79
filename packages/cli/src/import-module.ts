// Loads a user's module: TypeScript through tsx, from wherever it lies.
import { register } from 'node:module';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A module beside this file, as source or built. */
function beside(name: string): string {
  return new URL(`./${name}${extname(import.meta.url)}`, import.meta.url).href;
}

/** The loader hook of programs. */
export const resolveHook: string = beside('resolve-hook');
/** What a program loads that is to say what memory it took. */
export const memoryReport: string = beside('memory-report');

const typeScript: RegExp = /^\.[cm]?tsx?$/;

/** Imports the module at an absolute path; gives its exports. */
export async function importModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  if (typeScript.test(extname(path))) (await import('tsx/esm/api')).register();
  register(resolveHook);
  const module: unknown = await import(pathToFileURL(path).href);
  return module as Readonly<Record<string, unknown>>;
}
