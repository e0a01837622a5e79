// Loads a user's module, TypeScript too, from wherever it lies.
import { register } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { typeScriptLoader } from './typescript-loader.ts';

/** A module beside this file, as source or built. */
function beside(name: string): string {
  return new URL(`./${name}${extname(import.meta.url)}`, import.meta.url).href;
}

/** The loader hook of programs. */
export const resolveHook: string = beside('resolve-hook');
/** What a program loads that is to say what memory it took. */
export const memoryReport: string = beside('memory-report');

/** The program that compiles examples. */
export const examplesProgram: string = fileURLToPath(beside('build-examples'));

/** Imports the module at an absolute path; gives its exports. */
export async function importModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  const loader = typeScriptLoader(path, './esm/api');
  if (loader !== undefined) ((await import(loader)) as { register(): unknown }).register();
  register(resolveHook);
  const module: unknown = await import(pathToFileURL(path).href);
  return module as Readonly<Record<string, unknown>>;
}
