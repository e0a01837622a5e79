import { describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sharedObjectFault } from './shared-object.ts';
import { findToolchain } from './toolchain.ts';

const { toolchain } = findToolchain({ path: process.env['PATH'] ?? '' });
if (toolchain === undefined || process.platform !== 'linux')
  console.log('skipped: there is no compiler for Linux here');
const host = toolchain === undefined || process.platform !== 'linux' ? describe.skip : describe;

/** What the compiler makes of a text with these flags. */
function made(source: string, flags: readonly string[]): Buffer {
  const [file = '', ...words] = toolchain?.command ?? [];
  const directory = mkdtempSync(join(tmpdir(), 'tsinductor-elf-'));
  try {
    const output = join(directory, 'output');
    execFileSync(file, [...words, ...flags, '-x', 'c++', '-', '-o', output], { input: source });
    return readFileSync(output);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const library = (): Buffer =>
  made('extern "C" int f() { return 1; } extern "C" int g(); extern "C" int h() { return g(); }', [
    '-shared',
    '-nostdlib',
    '-fPIC',
  ]);

host('a library', () => {
  test('that is whole has no fault; it must have its functions, and define them', () => {
    const bytes = library();
    expect(sharedObjectFault(bytes, [])).toBeUndefined();
    expect(sharedObjectFault(bytes, ['f', 'h'])).toBeUndefined();
    expect(sharedObjectFault(bytes, ['f', 'other'])).toBe('it has no function other');
    expect(sharedObjectFault(bytes, ['g'])).toBe('it has no function g');
  });

  test('that is cut off anywhere is none', () => {
    const bytes = library();
    for (let length = 0; length < bytes.length; length += 61)
      expect(sharedObjectFault(bytes.subarray(0, length), ['f'])).toEqual(expect.any(String));
    expect(sharedObjectFault(bytes.subarray(0, bytes.length - 1), ['f'])).toEqual(expect.any(String));
  });

  test('with any byte of its headers changed is judged, and nothing is thrown', () => {
    const bytes = library();
    const tables = [0, Number(bytes.readBigUInt64LE(40))];
    for (const start of tables) {
      for (let at = start; at < Math.min(bytes.length, start + 900); at += 1) {
        const changed = Buffer.from(bytes);
        changed[at] = 0xff;
        expect([undefined, expect.any(String)]).toContainEqual(sharedObjectFault(changed, ['f']));
      }
    }
  });

  test('is told from an object, a program of another machine and text', () => {
    expect(sharedObjectFault(made('int x;', ['-c']), [])).toBe('it is no shared object');
    const other = library();
    other.writeUInt16LE(8, 18); // MIPS
    expect(sharedObjectFault(other, [])).toBe('it is for another machine');
    expect(sharedObjectFault(Buffer.from('not a library at all'.repeat(10)), [])).toBe('it is no ELF file');
    expect(sharedObjectFault(Buffer.alloc(0), [])).toBe('it has 0 bytes');
  });
});
