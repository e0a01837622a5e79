import { afterAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkFirstLibrary, checkFirstLibraryNow } from './first-library.ts';
import { findToolchain } from './toolchain.ts';

const { toolchain } = findToolchain({ path: process.env['PATH'] ?? '' });
const host = toolchain === undefined || process.platform !== 'linux' ? describe.skip : describe;
const top = mkdtempSync(join(tmpdir(), 'tsinductor-first-'));
afterAll(() => {
  rmSync(top, { recursive: true, force: true });
});

host('the first library of a compiler', () => {
  test.each([
    ['int f() { return 1; }', undefined],
    ['static int f = *(volatile int *)8;', /SIGSEGV/],
    ['__attribute__((constructor)) void f() { __builtin_ia32_ldmxcsr(0x9fc0); }', /rounds otherwise/],
  ])('`%s`', async (source, fault) => {
    if (toolchain === undefined || process.arch !== 'x64') return;
    const directory = mkdtempSync(join(top, 'records-'));
    const library = join(directory, 'library.so');
    const [file = '', ...words] = toolchain.command;
    execFileSync(file, [...words, '-shared', '-fPIC', '-x', 'c++', '-', '-o', library], { input: source });
    const first = { toolchain, library, directory };
    if (fault === undefined) {
      await checkFirstLibrary(first);
      expect(readdirSync(directory)).toHaveLength(2);
      // It is known from now on, and nothing is loaded any more.
      checkFirstLibraryNow({ ...first, library: '/nowhere.so' });
      return;
    }
    await expect(checkFirstLibrary(first)).rejects.toThrow(fault);
    expect(() => {
      checkFirstLibraryNow(first);
    }).toThrow(expect.objectContaining({ code: 'LIBRARY_UNFIT' }));
    expect(readdirSync(directory)).toEqual(['library.so']);
  });
});
