import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { probeIsa } from './isa.ts';
import { findToolchain, requireToolchain } from './toolchain.ts';
import type { ToolchainReport } from './toolchain.ts';

const root = mkdtempSync(join(tmpdir(), 'tsinductor-toolchain-'));
let round = 0;
let bin = '';
let directory = '';
beforeEach(() => {
  round += 1;
  bin = join(root, `bin${String(round)}`);
  directory = join(root, `records${String(round)}`);
  mkdirSync(bin);
});
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

/** Writes an executable script that answers as a compiler would, or not. */
function fake(name: string, script: string, mode = 0o755): string {
  const path = join(bin, name);
  writeFileSync(path, `#!/bin/sh\nPATH=/usr/bin:/bin\necho run >> ${join(root, `runs${String(round)}`)}\n${script}\n`);
  chmodSync(path, mode);
  return path;
}

const runs = (): number => {
  try {
    return readFileSync(join(root, `runs${String(round)}`), 'utf8').split('\n').length - 1;
  } catch {
    return 0;
  }
};

const gcc = (version: string): string =>
  `echo 'g++ (Fake 1) ${version}'; echo 'Copyright (C) 2022 Free Software Foundation, Inc.'`;
const find = (more: Partial<Parameters<typeof findToolchain>[0]> = {}): ToolchainReport =>
  findToolchain({ path: bin, directory, milliseconds: 5000, ...more });
const outcomes = ({ searched }: ToolchainReport): string[] =>
  searched.map(({ name, outcome }) => `${name.replace(`${bin}/`, '')} ${outcome}`);

describe('findToolchain', () => {
  test('nothing there: every place is listed, and requiring one names them with a remedy', () => {
    const report = find();
    expect(outcomes(report)).toEqual(['g++ missing', 'clang++ missing', 'c++ missing']);
    expect(() => requireToolchain(report)).toThrow(expect.objectContaining({ code: 'COMPILER_NOT_FOUND' }));
    expect(() => requireToolchain(report)).toThrow(/g\+\+ \(PATH\): missing, not in .*install g\+\+ or clang\+\+/s);
  });

  test('order: configuration, CXX, then PATH', () => {
    fake('g++', gcc('12.2.0'));
    fake('mine', gcc('13.1.0'));
    fake('configured', gcc('14.1.0'));
    expect(requireToolchain(find()).command).toEqual([join(bin, 'g++')]);
    expect(requireToolchain(find({ cxx: 'mine' })).command).toEqual([join(bin, 'mine')]);
    const report = find({ cxx: 'mine', compilers: [join(bin, 'configured')] });
    expect(requireToolchain(report).command).toEqual([join(bin, 'configured')]);
    expect(outcomes(report)).toEqual(['configured chosen']);
  });

  test('a command may have words after it', () => {
    fake('wrapper', gcc('12.2.0'));
    const toolchain = requireToolchain(find({ cxx: 'wrapper g++ -m64' }));
    expect(toolchain.command).toEqual([join(bin, 'wrapper'), 'g++', '-m64']);
  });

  test('what hangs, crashes, fails, prints garbage or is too old is passed over, and reported', () => {
    fake('hangs', 'sleep 60');
    fake('crashes', 'kill -SEGV $$');
    fake('fails', 'exit 7');
    fake('garbage', 'head -c 300 /dev/urandom');
    fake('notes', 'echo hello 12.2.0');
    fake('old', gcc('4.8.5'));
    fake('plain', gcc('12.2.0'), 0o644);
    fake('c++', 'echo "Debian clang version 14.0.6"');
    const compilers = ['hangs', 'crashes', 'fails', 'garbage', 'notes', 'old', 'plain', 'no/such', ''];
    const report = find({ compilers, milliseconds: 500 });
    expect(outcomes(report)).toEqual([
      'hangs hangs',
      'crashes crashes',
      'fails fails',
      'garbage unknown',
      'notes unknown',
      'old too old',
      'plain missing',
      'no/such missing',
      ' missing',
      'g++ missing',
      'clang++ missing',
      'c++ chosen',
    ]);
    expect(report.toolchain?.family).toBe('clang');
  });

  test('a file that the system cannot execute is reported', () => {
    writeFileSync(join(bin, 'g++'), 'not a program\n\0\x01\x02', { mode: 0o755 });
    const [place] = find().searched;
    expect(place?.outcome).toBe('fails');
    expect(place?.detail).not.toBe('');
  });

  test('versioned names serve where no plain name works, the newest first', () => {
    fake('g++', 'exit 1');
    fake('g++-9', gcc('9.4.0'));
    fake('g++-12', gcc('12.2.0'));
    fake('clang++-11', 'echo "clang version 11.0.1"');
    fake('g++-12.bak', gcc('12.2.0'));
    const report = find();
    expect(outcomes(report)).toEqual(['g++ fails', 'clang++ missing', 'c++ missing', 'g++-12 chosen']);
    expect(requireToolchain(report).version).toBe('g++ (Fake 1) 12.2.0');
  });

  test('relative directories in PATH are not searched', () => {
    fake('g++', gcc('12.2.0'));
    expect(find({ path: 'bin:.::' }).toolchain).toBeUndefined();
  });

  test('a warm start runs nothing; a changed compiler is asked again', () => {
    const path = fake('g++', gcc('12.2.0'));
    const first = find();
    expect(runs()).toBe(1);
    expect(find()).toEqual(first);
    expect(runs()).toBe(1);
    fake('g++', gcc('12.3.0'));
    const second = requireToolchain(find());
    expect(runs()).toBe(2);
    expect(second.command).toEqual([path]);
    expect(second.fingerprint).not.toBe(requireToolchain(first).fingerprint);
  });

  test('a better candidate that appears is seen', () => {
    fake('c++', gcc('12.2.0'));
    expect(requireToolchain(find()).command).toEqual([join(bin, 'c++')]);
    fake('g++', gcc('12.2.0'));
    expect(requireToolchain(find()).command).toEqual([join(bin, 'g++')]);
  });

  test('a damaged record is not believed', () => {
    fake('g++', gcc('12.2.0'));
    const report = find();
    const record = join(directory, 'toolchain.json');
    const text = readFileSync(record, 'utf8');
    for (const damaged of ['', '{', 'null', text.replace('12.2.0', '66.6.0'), text.replace(bin, '/evil')]) {
      writeFileSync(record, damaged);
      expect(find()).toEqual(report);
    }
  });

  test('a time-out is not remembered', () => {
    fake('g++', `test -e ${join(bin, 'awake')} || sleep 60; ${gcc('12.2.0')}`);
    expect(outcomes(find({ milliseconds: 400 }))[0]).toBe('g++ hangs');
    writeFileSync(join(bin, 'awake'), '');
    expect(outcomes(find())).toEqual(['g++ chosen']);
  });

  test('records that cannot be written are done without', () => {
    fake('g++', gcc('12.2.0'));
    writeFileSync(directory, 'a file where the directory should be');
    expect(find().toolchain).toBeDefined();
  });
});

describe('probeIsa', () => {
  test('a compiler that builds nothing is an error that says what was tried', () => {
    fake('g++', `case "$*" in *--version*) ${gcc('12.2.0')};; *) echo no way >&2; exit 1;; esac`);
    const toolchain = requireToolchain(find());
    const attempt = (): unknown => probeIsa(toolchain, { directory });
    expect(attempt).toThrow(expect.objectContaining({ code: 'COMPILER_UNUSABLE' }));
    expect(attempt).toThrow(/scalar: status 1, no way/);
  });

  test('an illegal instruction is an answer: the next best is taken, and remembered', () => {
    // Builds a "program" that dies like one with unknown instructions, unless it was made for plain code.
    fake(
      'g++',
      `case "$*" in *--version*) ${gcc('12.2.0')}; exit;; esac
for last; do :; done
if grep -q six; then echo '#!/bin/sh
exit 0' > "$last"; else echo '#!/bin/sh
kill -ILL $$' > "$last"; fi
chmod +x "$last"`,
    );
    const toolchain = requireToolchain(find());
    const report = probeIsa(toolchain, { directory });
    expect(report.isa).toBe('scalar');
    for (const { isa, outcome, detail } of report.probed) {
      expect([outcome, detail]).toEqual(isa === 'scalar' ? ['runs', ''] : ['not executed', 'ended with SIGILL']);
    }
    const before = runs();
    expect(probeIsa(toolchain, { directory })).toEqual(report);
    expect(runs()).toBe(before);
  });
});

const real = findToolchain({ path: process.env['PATH'] ?? '' });
if (real.toolchain === undefined) console.log('skipped: probing the real compiler, because none was found');
const host = real.toolchain === undefined ? describe.skip : describe;

host('the compiler of this machine', () => {
  test('emits something that runs', () => {
    const report = probeIsa(requireToolchain(real), { directory });
    expect(report.probed.at(-1)).toEqual({ isa: report.isa, outcome: 'runs', detail: '' });
    expect(['avx512', 'avx2', 'neon', 'scalar']).toContain(report.isa);
    expect(probeIsa(requireToolchain(real), { directory })).toEqual(report);
  });
});
