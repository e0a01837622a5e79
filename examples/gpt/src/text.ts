// The text to learn: the documentation and declarations of Node's modules, which the npm package `@types/node` ships, or a file of the
// user's. Characters that are rare in it are read as one sign.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { tensor } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { shortText } from './errors.ts';

export interface Corpus {
  readonly name: string;
  /** The characters that are told apart, each by its place. */
  readonly alphabet: readonly string[];
  /** What the model is trained on, and what it is tested on: the last part of the text. i64[characters]. */
  readonly train: Tensor;
  readonly test: Tensor;
}

/** Stands for every character that is too rare. */
const rare = '\ufffd';

/** Reads `path`, or else the declarations of Node's modules. `least` characters are needed. */
export function loadCorpus(path: string | undefined, least: number): Corpus {
  const text = Array.from(path === undefined ? declarations() : readFileSync(path, 'utf8'));
  const name = path ?? 'the declarations of @types/node';
  if (text.length < 20 * least) throw shortText(name, text.length, 20 * least);
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  const common = [...counts].filter(([, count]) => count * 20_000 >= text.length).map(([character]) => character);
  const alphabet = [rare, ...common.filter((character) => character !== rare).sort()];
  const numbers = new Map(alphabet.map((character, number) => [character, BigInt(number)]));
  const tokens = BigInt64Array.from(text, (character) => numbers.get(character) ?? 0n);
  const end = Math.floor(tokens.length * 0.95);
  return { name, alphabet, train: tensor(tokens.subarray(0, end)), test: tensor(tokens.subarray(end)) };
}

function declarations(): string {
  const folder = dirname(createRequire(import.meta.url).resolve('@types/node/package.json'));
  const files = readdirSync(folder).filter((name) => name.endsWith('.d.ts') && !name.includes('generated'));
  return files
    .sort()
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
}
