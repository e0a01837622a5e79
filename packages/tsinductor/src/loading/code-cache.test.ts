import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { codeFile, keepCode, readCode } from './code-cache.ts';

const source = `(function () { return Array.from({ length: 5 }, (_, i) => i * i).join(); })`;

let home: string;
let directory: string;
let text: string;
let file: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'code-cache-'));
  directory = join(home, 'code');
  text = join(home, 'core.cjs');
  writeFileSync(text, source);
  file = codeFile(directory, text, 'digest');
});

afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

/** Keeps the code of the text, once it has run. */
function keep(): void {
  const script = new Script(source, { filename: text });
  const run = script.runInThisContext() as () => string;
  expect(run()).toBe('0,1,4,9,16');
  keepCode([{ script, file }]);
}

describe('code', () => {
  test('that was kept is read, and V8 takes it', () => {
    expect(readCode(file)).toBeUndefined();
    keep();
    const cachedData = readCode(file);
    const script = new Script(source, { filename: text, ...(cachedData !== undefined && { cachedData }) });
    expect(script.cachedDataRejected).toBe(false);
    expect((script.runInThisContext() as () => string)()).toBe('0,1,4,9,16');
    expect(readdirSync(directory)).toHaveLength(1);
  });

  test('is another file for another text, another place, and a text that was changed', () => {
    const elsewhere = join(home, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'core.cjs'), source);
    const files = [
      file,
      codeFile(directory, text, 'other'),
      codeFile(directory, join(elsewhere, 'core.cjs'), 'digest'),
    ];
    utimesSync(text, 1, 1);
    files.push(codeFile(directory, text, 'digest'));
    expect(new Set(files).size).toBe(files.length);
  });

  test.each([0, 31, 32, 100, -1])('that was cut to %i bytes is as good as none', (length) => {
    keep();
    writeFileSync(file, readFileSync(file).subarray(0, length));
    expect(readCode(file)).toBeUndefined();
  });

  test('that was damaged is as good as none', () => {
    keep();
    const bytes = readFileSync(file);
    bytes[bytes.length - 5] = (bytes.at(-5) ?? 0) ^ 1;
    writeFileSync(file, bytes);
    expect(readCode(file)).toBeUndefined();
  });

  test('that is a FIFO or has gigabytes is not read', () => {
    keep();
    truncateSync(file, 2 ** 30);
    expect(readCode(file)).toBeUndefined();
    rmSync(file);
    execFileSync('mkfifo', [file]);
    expect(readCode(file)).toBeUndefined();
  });

  test('that others could have written is neither read nor kept', () => {
    keep();
    chmodSync(directory, 0o777);
    expect(readCode(file)).toBeUndefined();
    rmSync(file);
    keep();
    expect(readdirSync(directory)).toEqual([]);
  });

  test('that cannot be kept is left', () => {
    writeFileSync(directory, 'a file');
    keep();
    expect(readFileSync(directory, 'utf8')).toBe('a file');
  });

  test('of old is removed where there is much', () => {
    mkdirSync(directory, { mode: 0o700 });
    for (let index = 0; index < 30; index += 1) {
      const old = join(directory, `old-${String(index)}.bin`);
      writeFileSync(old, '');
      utimesSync(old, 1000 + index, 1000 + index);
    }
    keep();
    const left = readdirSync(directory);
    expect(left).toHaveLength(24);
    expect(left).toContain(file.slice(directory.length + 1));
    expect(left).not.toContain('old-0.bin');
  });
});
