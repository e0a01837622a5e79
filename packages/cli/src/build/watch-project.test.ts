import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { watchProject } from './watch-project.ts';

let directory = '';
let file = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tsinductor-watch-'));
  file = join(directory, 'model.ts');
  writeFileSync(file, 'old');
  utimesSync(file, 0, 0);
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const list = (): readonly string[] =>
  readdirSync(directory, { recursive: true })
    .map((name) => join(directory, String(name)))
    .filter((path) => path.endsWith('.ts'))
    .sort();

/** How many times it said that it waits, when the second build begins. */
function waitsBeforeSecondBuild(during: () => void, onWait: () => void): Promise<number> {
  return new Promise((done) => {
    let [builds, waits] = [0, 0];
    const once = (): Promise<{ readonly files: readonly string[] }> => {
      builds++;
      // The second build never ends: nothing is left to watch.
      if (builds === 2) {
        done(waits);
        return new Promise(() => undefined);
      }
      during();
      return Promise.resolve({ files: [file] });
    };
    const say = (): void => {
      waits++;
      onWait();
    };
    void watchProject({ once, list, say });
  });
}

const nothing = (): void => undefined;
const write = (): void => {
  writeFileSync(file, 'new');
};
const remove = (): void => {
  rmSync(file);
};
/** A file that no clock tells from those that were there. */
const make = (...path: readonly string[]): void => {
  const made = join(directory, ...path);
  mkdirSync(join(made, '..'), { recursive: true });
  writeFileSync(made, 'other');
  utimesSync(made, 0, 0);
};

describe('builds again', () => {
  test.each([
    ['a file that is written while a build runs', write, nothing],
    ['a file that is removed while a build runs', remove, nothing],
    ['a file that is made while a build runs', () => make('other.ts'), nothing],
    ['a file that is made in a new folder while a build runs', () => make('new', 'deep', 'other.ts'), nothing],
    ['a file that is written as soon as it says that it waits', nothing, write],
    ['a file that is made as soon as it says that it waits', nothing, () => make('other.ts')],
    ['a file that is made in a new folder as soon as it says so', nothing, () => make('new', 'deep', 'other.ts')],
  ])('for %s', async (_name, during, onWait) => {
    expect(await waitsBeforeSecondBuild(during, onWait)).toBe(1);
  });
});

test('a first build that throws ends it', async () => {
  const once = (): Promise<never> => Promise.reject(new Error('no project'));
  await expect(watchProject({ once, list, say: nothing })).rejects.toThrow('no project');
});
