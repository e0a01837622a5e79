import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { replaceFile } from './replace-file.ts';

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tsinductor-replace-'));
});
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

test('a file that is open elsewhere is not written to: another one takes its name', () => {
  const [file, other] = [join(directory, 'bundle'), join(directory, 'kept')];
  writeFileSync(file, 'old');
  linkSync(file, other);
  replaceFile(file, Buffer.from('new'));
  expect(readFileSync(file, 'utf8')).toBe('new');
  expect(readFileSync(other, 'utf8')).toBe('old');
  expect(readdirSync(directory).sort()).toEqual(['bundle', 'kept']);
});

test('where it cannot be replaced, what was there stays, and nothing is left beside it', () => {
  const place = join(directory, 'folder');
  mkdirSync(join(place, 'full'), { recursive: true });
  expect(() => {
    replaceFile(join(place, 'full'), 'new');
  }).toThrow();
  expect(readdirSync(place)).toEqual(['full']);
});
