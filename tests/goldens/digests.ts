// Digests of generated text, a file a suite: a line for each case and target, sorted. In: suites. Out: what is generated now, and what
// is stored.
import { get, isTsInductorError, sha256 } from '@tsinductor/base';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pointwiseCases } from '../structure/pointwise-cases.ts';
import { reductionCases } from '../structure/reduction-cases.ts';
import { trainingCases } from '../structure/training-cases.ts';
import { benchCases } from './bench-cases.ts';
import { tracedCase } from './golden-case.ts';
import type { GoldenCase } from './golden-case.ts';
import { allTargets, settingTargets } from './golden-targets.ts';
import type { GoldenTarget } from './golden-targets.ts';
import { loopCases } from './loop-cases.ts';
import { programCases } from './program-cases.ts';
import { opCases, settingCases } from './text-cases.ts';

export interface Suite {
  readonly name: string;
  readonly cases: readonly GoldenCase[];
  readonly targets: readonly GoldenTarget[];
}

const structures = { ...pointwiseCases, ...reductionCases, ...trainingCases };
const structureCases = Object.entries(structures).map(([name, described]) => tracedCase(name, described));

export const suites: readonly Suite[] = [
  { name: 'structure', cases: structureCases, targets: allTargets },
  { name: 'loops', cases: loopCases, targets: allTargets },
  { name: 'programs', cases: programCases, targets: allTargets },
  { name: 'ops', cases: opCases(100), targets: allTargets },
  { name: 'settings', cases: settingCases, targets: settingTargets },
  ...['pointwise', 'memory-bound', 'gemm', 'train'].map((name) => ({
    name,
    cases: benchCases(name),
    targets: allTargets,
  })),
];

const folder = join(import.meta.dirname, 'digests');
const fileOf = (suite: string): string => join(folder, `${suite}.txt`);

export const keyOf = (one: GoldenCase, target: GoldenTarget): string => `${one.name} | ${target.name}`;

export const keysOf = ({ cases, targets }: Suite): readonly string[] =>
  cases.flatMap((one) => targets.map((target) => keyOf(one, target)));

/** By case and target. */
export type Texts = ReadonlyMap<string, string>;

/** The text of a case for each of some targets, or why there is none. */
export function textsOf(one: GoldenCase, targets: readonly GoldenTarget[]): Texts {
  const schedules = one.schedules();
  const textFor = ({ text }: GoldenTarget): string => {
    try {
      return text(schedules);
    } catch (error) {
      if (!isTsInductorError(error)) throw error;
      return `${refusal}${error.message}`;
    }
  };
  return new Map(targets.map((target) => [keyOf(one, target), textFor(target)]));
}

const refusal = 'no text: ';

/** What is stored of a text: a digest, or why there is none. */
export const digestOf = (text: string): string => (text.startsWith(refusal) ? text : sha256(text).slice(0, 10));

export function storedDigests(suite: string): ReadonlyMap<string, string> {
  if (!existsSync(fileOf(suite))) return new Map();
  const lines = readFileSync(fileOf(suite), 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return new Map(
    lines.map((line) => {
      const [name = '', target = '', ...digest] = line.split(' | ');
      return [`${name} | ${target}`, digest.join(' | ')];
    }),
  );
}

export function storeDigests(suite: string, digests: ReadonlyMap<string, string>): void {
  mkdirSync(folder, { recursive: true });
  const lines = [...digests.keys()].sort().map((key) => `${key} | ${get(digests, key)}\n`);
  writeFileSync(fileOf(suite), lines.join(''));
  for (const other of storedSuites()) if (suites.every(({ name }) => name !== other)) rmSync(fileOf(other));
}

/** The suites of which there are digests. */
export const storedSuites = (): readonly string[] =>
  existsSync(folder) ? readdirSync(folder).map((name) => name.replace(/\.txt$/, '')) : [];

/** Writes each text to a file of its own, by which it can be compared with that of another commit. */
export function writeTexts(root: string, texts: Texts): void {
  for (const [key, text] of texts) {
    const [name = '', target = ''] = key.split(' | ').map((part) => part.replaceAll(/[^\w.,{}[\] -]/g, '_'));
    const path = join(root, name, `${target}.txt`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}
