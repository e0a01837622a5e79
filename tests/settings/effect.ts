// What the tests of settings share: an effect is a check that fails when its setting does nothing. It compiles small
// functions under some settings and looks at what a user can see: `explain`, files, stderr, results.
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile } from 'tsinductor';
import type { CompiledFunction, GraphReport, Tensor } from 'tsinductor';

export type Effect = () => void | Promise<void>;
export type Options = Readonly<Record<string, unknown>>;

/** A directory for the tests of one run, below which each gets its own. */
const top = mkdtempSync(join(tmpdir(), 'tsinductor-settings-'));
export const temporaryTop: string = top;
export const freshDirectory = (): string => mkdtempSync(join(top, 'dir-'));
const sharedCache = freshDirectory();

/** Every test compiles into a cache of this run, unless it says otherwise. */
export const compiledWith = <F extends (...args: never[]) => unknown>(fn: F, options: Options): CompiledFunction<F> =>
  compile(fn, { options: { cacheDir: sharedCache, ...options } });

/** The report of the graph that `fn` becomes for these arguments. */
export function reportOf(
  fn: (...inputs: Tensor[]) => unknown,
  inputs: readonly Tensor[],
  options: Options,
): GraphReport {
  const compiled = compiledWith(fn, options);
  compiled(...inputs);
  const [report] = compiled.graphs();
  if (report === undefined) throw new RangeError('nothing was compiled');
  return report;
}

export const sourceOf = (fn: (...inputs: Tensor[]) => unknown, inputs: readonly Tensor[], options: Options): string =>
  reportOf(fn, inputs, options).source?.() ?? '';

/** What is written to stderr meanwhile. */
export function stderrOf(run: () => void): string {
  const written: string[] = [];
  const { write } = process.stderr;
  process.stderr.write = (text: string) => written.push(text) > 0;
  try {
    run();
  } finally {
    process.stderr.write = write;
  }
  return written.join('');
}

/** The codes of the warnings that are given meanwhile. */
export function warningsOf(run: () => void): readonly string[] {
  const codes: string[] = [];
  const { emitWarning } = process;
  process.emitWarning = (_message: unknown, options: unknown): void => {
    codes.push(String((options as { code?: unknown }).code));
  };
  try {
    run();
  } finally {
    process.emitWarning = emitWarning;
  }
  return codes;
}

/**
 * A C++ compiler that does `before` first; the real one otherwise. `$text` is the file with what came on standard
 * input, and generated graphs are told from probes by their entry.
 */
export function wrappedCompiler(before: string): string {
  const path = join(freshDirectory(), 'c++');
  const lines = [
    '#!/bin/sh',
    'text=$(mktemp)',
    'trap "rm -f $text" EXIT',
    'cat > $text',
    before,
    '/usr/bin/c++ "$@" < $text',
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** For `wrappedCompiler`: a command for generated graphs only. */
export const forGraphs = (command: string): string => `if grep -q 'int run_' $text; then ${command}; fi`;

/**
 * A C++ compiler that compiles the same text with the same flags once: settings that change keys but not the code cost a copy.
 * The file to write is the last argument.
 */
export function copyingCompiler(): string {
  const copies = freshDirectory();
  const path = join(freshDirectory(), 'c++');
  const lines = [
    '#!/bin/sh',
    'text=$(mktemp)',
    'trap "rm -f $text" EXIT',
    'cat > $text',
    'for output; do :; done',
    `copy=${copies}/$(echo "$*" | sed 's/ [^ ]*$//' | cat - $text | cksum | tr ' ' -)`,
    'if [ -f $copy ]; then cp $copy "$output"; exit; fi',
    '/usr/bin/c++ "$@" < $text || exit',
    'if [ -f "$output" ]; then cp "$output" $copy; fi',
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  chmodSync(path, 0o755);
  return path;
}
