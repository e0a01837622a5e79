// Runs the texts that the workspaces' modules were bundled to (`tools/bundle.mjs`), each once, whoever imports it and whether by
// `import` or by `require`. In: the name by which a module is imported. Out: the object of its exports. What V8 makes of a text is
// kept on this machine for the next process (`code-cache.ts`).
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInThisContext, Script } from 'node:vm';
import { isMainThread } from 'node:worker_threads';
import { codeDirectoryIn } from '@tsinductor/config';
import { codeFile, keepCode, readCode } from './code-cache.ts';
import type { CompiledText } from './code-cache.ts';
import { bundledAway, textUnreadable } from './errors.ts';

/** The digest of each text, and which text an entry is in that is not in the core's: bundling writes both in. */
declare const TSINDUCTOR_DIGESTS: Readonly<Record<string, string>>;
declare const TSINDUCTOR_TEXTS: Readonly<Record<string, string>>;

/** A CommonJS text as V8 sees it. */
type WrappedText = (
  module: { exports: Exports },
  ...others: readonly [exports: object, require: (id: string) => unknown, filename: string, directory: string]
) => void;
/** An object of exports for each entry in a text. */
type Exports = Readonly<Record<string, object>>;

const wrap = (text: string): string => `(function (module, exports, require, __filename, __dirname) { ${text}\n})`;

/** The texts that have run, by name. */
const loaded: Partial<Record<string, Exports>> = {};
/** Texts whose code no earlier process has kept. */
const unkept: CompiledText[] = [];

/** What the module exports that is imported by this name. */
export function load(specifier: string): object {
  const name = TSINDUCTOR_TEXTS[specifier] ?? 'core';
  const exported = (loaded[name] ??= run(name))[specifier];
  if (exported === undefined) throw bundledAway(specifier, fileURLToPath(import.meta.url));
  return exported;
}

function run(name: string): Exports {
  const filename = fileURLToPath(new URL(`./texts/${name}.cjs`, import.meta.url));
  if (!existsSync(filename)) throw bundledAway(name, fileURLToPath(import.meta.url));
  const script = compile(filename, TSINDUCTOR_DIGESTS[name] ?? '');
  const module: { exports: Exports } = { exports: {} };
  const wrapped = script.runInThisContext() as WrappedText;
  wrapped(module, module.exports, requireFromTexts, filename, dirname(filename));
  return module.exports;
}

/** Texts are ASCII: V8 keeps such a text at a byte a character. */
function compile(filename: string, digest: string): Script {
  const source = wrap(read(filename));
  const file = placeOfCode(filename, digest);
  if (file === undefined) return new Script(source, { filename });
  const cachedData = readCode(file);
  const script = new Script(source, { filename, ...(cachedData !== undefined && { cachedData }) });
  if (script.cachedDataRejected !== false) keepAtExit({ script, file });
  return script;
}

/** A text; it is asked for once more, should the system fail to read it. */
function read(filename: string): string {
  try {
    return readFileSync(filename, 'latin1');
  } catch {
    try {
      return readFileSync(filename, 'latin1');
    } catch (cause) {
      throw textUnreadable(filename, cause);
    }
  }
}

/** Where the code of a text is kept; nowhere, if settings say so or the file cannot be looked at. */
function placeOfCode(filename: string, digest: string): string | undefined {
  const directory = codeDirectoryIn(process.env);
  if (directory === undefined) return undefined;
  try {
    return codeFile(directory, filename, digest);
  } catch {
    return undefined;
  }
}

/**
 * Has the code kept when the process ends, so that it is that of the functions which ran. A process that loaded one text alone
 * has computed nothing, and leaves it to a later one. Contexts of test runners and worker threads keep none: there are many.
 */
function keepAtExit(text: CompiledText): void {
  if (!isMainThread || runInThisContext('globalThis') !== globalThis) return;
  unkept.push(text);
  if (unkept.length > 1) return;
  process.once('exit', () => {
    if (Object.keys(loaded).length > 1) keepCode(unkept);
  });
}

const outside = createRequire(import.meta.url);
const requireFromTexts = (id: string): unknown => (id.startsWith('@tsinductor/') ? load(id) : (outside(id) as unknown));
