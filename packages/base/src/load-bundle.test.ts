import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { codeFile, loadBundle, packCode } from './load-bundle.ts';
import type { CompiledText } from './load-bundle.ts';

const text = `
const { join } = require('node:path');
const squares = (n) => Array.from({ length: n }, (_, i) => i * i);
module.exports = { squares, home: join(__dirname, 'x') };
`;

let directory: string;
let filename: string;
let seen: CompiledText[];
const see = (message: unknown): void => void seen.push(message as CompiledText);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'load-bundle-'));
  filename = join(directory, 'bundle-text.cjs');
  writeFileSync(filename, text);
  seen = [];
  subscribe('tsinductor:bundle', see);
});

afterEach(() => {
  unsubscribe('tsinductor:bundle', see);
  rmSync(directory, { recursive: true, force: true });
});

interface Exports {
  readonly squares: (n: number) => number[];
  readonly home: string;
}

const load = (): Exports => loadBundle(filename, createRequire(filename)) as Exports;

/** Leaves the code of what has run beside the text. */
function keepCode(): void {
  expect(load().squares(4)).toEqual([0, 1, 4, 9]);
  for (const compiled of seen.splice(0)) writeFileSync(codeFile(filename), packCode(compiled));
}

describe('a text', () => {
  test('runs as CommonJS does', () => {
    expect(load().squares(3)).toEqual([0, 1, 4]);
    expect(load().home).toBe(join(directory, 'x'));
  });

  test('runs from its code, which V8 takes', () => {
    keepCode();
    expect(load().squares(5)).toEqual([0, 1, 4, 9, 16]);
    expect(seen.map(({ script }) => script.cachedDataRejected)).toEqual([false]);
  });

  test('does not need its own file beside its code', () => {
    keepCode();
    rmSync(filename);
    expect(load().squares(2)).toEqual([0, 1]);
  });
});

describe('code that cannot be used', () => {
  test.each([0, 1, 4, 5, 100])('cut to %i bytes is passed over', (length) => {
    keepCode();
    writeFileSync(codeFile(filename), readFileSync(codeFile(filename)).subarray(0, length));
    expect(load().squares(3)).toEqual([0, 1, 4]);
    expect(seen.map(({ script }) => script.cachedDataRejected)).toEqual([undefined]);
  });

  // In another process, as this one still knows the text.
  const elsewhere = (...flags: string[]): string => {
    const loader = join(import.meta.dirname, '../dist/loader.cjs');
    const program = `
      require('node:diagnostics_channel').subscribe('tsinductor:bundle', ({ script }) => console.log(script.cachedDataRejected));
      console.log(require(${JSON.stringify(loader)}).loadBundle(${JSON.stringify(filename)}, require).squares(3).join());`;
    return execFileSync(process.execPath, [...flags, '-e', program], { encoding: 'utf8' });
  };

  test('cut in its code is refused by V8, and the text compiled', () => {
    keepCode();
    const bytes = readFileSync(codeFile(filename));
    writeFileSync(codeFile(filename), bytes.subarray(0, bytes.length - 64));
    expect(elsewhere()).toBe('true\n0,1,4\n');
  });

  test('of other flags is refused, and the text compiled', () => {
    keepCode();
    expect(elsewhere('--no-opt')).toBe('true\n0,1,4\n');
  });
});
