import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { watchProject } from './watch-project.ts';

let directory = '';
let file = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tsinductor-watch-'));
  file = join(directory, 'model.ts');
});
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** How many times it said that it waits, when the second build begins. */
function waitsBeforeSecondBuild(during: () => void, onWait: () => void): Promise<number> {
  return new Promise((done) => {
    writeFileSync(file, 'old');
    utimesSync(file, 0, 0);
    let [builds, waits] = [0, 0];
    const once = (): Promise<{ readonly tsconfig: string; readonly files: readonly string[] }> => {
      builds++;
      // The second build never ends: nothing is left to watch.
      if (builds === 2) {
        done(waits);
        return new Promise(() => undefined);
      }
      during();
      return Promise.resolve({ tsconfig: file, files: [] });
    };
    const said = (): void => {
      waits++;
      onWait();
    };
    void watchProject(once, said);
  });
}

const nothing = (): void => undefined;
const write = (): void => {
  writeFileSync(file, 'new');
};
const remove = (): void => {
  rmSync(file);
};

describe('builds again', () => {
  test.each([
    ['a file that is written while a build runs', write, nothing],
    ['a file that is removed while a build runs', remove, nothing],
    ['a file that is written as soon as it says that it waits', nothing, write],
  ])('for %s', async (_name, during, onWait) => {
    expect(await waitsBeforeSecondBuild(during, onWait)).toBe(1);
  });
});

test('a first build that throws ends it', async () => {
  await expect(watchProject(() => Promise.reject(new Error('no project')), nothing)).rejects.toThrow('no project');
});
