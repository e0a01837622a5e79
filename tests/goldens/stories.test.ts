// What a program is at each stage, against the files of its directory in `cases`: see stories.ts.
import { expect, test } from '@jest/globals';
import { softmaxCase } from '@tsinductor/testing/sample-kernels';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { advice, goldenMode } from './golden-mode.ts';
import { blockStory, storyOf } from './stories.ts';
import type { Story } from './stories.ts';
import { storyCases } from './story-cases.ts';

const folder = join(import.meta.dirname, 'cases');
const mode = goldenMode();

const stories: readonly (readonly [string, () => Story])[] = [
  ...Object.entries(storyCases).map(([name, one]) => [name, () => storyOf(one)] as const),
  [
    'kernel-softmax',
    () => blockStory(softmaxCase({ rows: 64, n: 200 }).program, { isa: 'avx512', family: 'rapids', threads: 2 }),
  ],
];

const filesIn = (directory: string): readonly string[] => (existsSync(directory) ? readdirSync(directory).sort() : []);

test.each(stories)('%s', (name, make) => {
  const story = make();
  const directory = join(folder, name);
  if (mode.kind === 'update') {
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    for (const [file, text] of story) writeFileSync(join(directory, file), text);
    return;
  }
  const stored = filesIn(directory).map((file) => [file, readFileSync(join(directory, file), 'utf8')] as const);
  if (mode.kind === 'check')
    expect({ name, ...Object.fromEntries(stored), advice }).toEqual({ name, ...Object.fromEntries(story), advice });
});

test('every directory is a case', () => {
  const names = stories.map(([name]) => name);
  const orphans = filesIn(folder).filter((name) => !names.includes(name));
  if (mode.kind === 'update') for (const name of orphans) rmSync(join(folder, name), { recursive: true });
  else expect(orphans).toEqual([]);
});
