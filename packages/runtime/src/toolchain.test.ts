import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
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

  test.each([
    ['sleep 60', 'hangs'],
    ['kill -KILL $$', 'crashes'],
    ['exit 1', 'fails'],
    ['echo garbage; exit', 'unknown'],
  ])('a compiler that does `%s` once is forgotten', (fault, outcome) => {
    fake('g++', `test -e ${join(bin, 'well')} || { ${fault}; }; ${gcc('12.2.0')}`);
    expect(outcomes(find({ milliseconds: 400 }))[0]).toBe(`g++ ${outcome}`);
    writeFileSync(join(bin, 'well'), '');
    expect(outcomes(find())).toEqual(['g++ chosen']);
  });

  test('a compiler that fails once is asked once more', () => {
    fake('g++', `mkdir ${join(bin, 'asked')} 2>/dev/null && kill -KILL $$; ${gcc('12.2.0')}`);
    expect(outcomes(find())).toEqual(['g++ chosen']);
  });

  test('what is chosen because a better one failed is not remembered either', () => {
    fake('mine', `test -e ${join(bin, 'well')} || exit 1; ${gcc('13.1.0')}`);
    fake('g++', gcc('12.2.0'));
    expect(outcomes(find({ cxx: 'mine' }))).toEqual(['mine fails', 'g++ chosen']);
    writeFileSync(join(bin, 'well'), '');
    expect(outcomes(find({ cxx: 'mine' }))).toEqual(['mine chosen']);
  });

  test('many that hang have one bound together', () => {
    const compilers = ['one', 'two', 'three', 'four'];
    for (const name of compilers) fake(name, 'sleep 60');
    const started = performance.now();
    expect(outcomes(find({ compilers, totalMilliseconds: 600 })).slice(0, 4)).toEqual(
      compilers.map((name) => `${name} hangs`),
    );
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test('flags that change numerics are not passed on, and the report says so', () => {
    fake('g++', gcc('12.2.0'));
    const cxx = 'g++ -ffast-math -m64 -Ofast -fno-signed-zeros -ffp-contract=fast -mrecip=all -O1';
    const report = find({ cxx });
    expect(requireToolchain(report).command).toEqual([join(bin, 'g++'), '-m64', '-O1']);
    expect(requireToolchain(report).droppedFlags).toEqual([
      ...['-ffast-math', '-Ofast', '-fno-signed-zeros', '-ffp-contract=fast', '-mrecip=all'],
    ]);
    expect(report.searched[0]?.detail).toContain('without -ffast-math -Ofast');
  });

  test('a record that is a FIFO is not waited for', () => {
    fake('g++', gcc('12.2.0'));
    mkdirSync(directory);
    execFileSync('mkfifo', [join(directory, 'toolchain.json')]);
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
    expect(report.probed.every(({ lasting }) => lasting)).toBe(true);
    for (const { isa, outcome, detail } of report.probed) {
      expect([outcome, detail]).toEqual(isa === 'scalar' ? ['runs', ''] : ['not executed', 'ended with SIGILL']);
    }
    const before = runs();
    expect(probeIsa(toolchain, { directory })).toEqual(report);
    expect(runs()).toBe(before);
  });
});

/** A compiler whose programs run, but for the first so many calls that build one. */
const failing = (times: number, fault: string): string => `case "$*" in *--version*) ${gcc('12.2.0')}; exit;; esac
for i in $(seq ${String(times)}); do mkdir ${join(root, `failed${String(round)}-`)}$i 2>/dev/null && { ${fault}; }; done
for last; do :; done
printf '#!/bin/sh\nexit 0\n' > "$last"; chmod +x "$last"`;

describe('a probe that fails for a reason that may pass', () => {
  const [best] = process.arch === 'x64' ? ['avx512'] : process.arch === 'arm64' ? ['neon'] : ['scalar'];

  test('is tried once more', () => {
    fake('g++', failing(1, 'kill -KILL $$'));
    expect(probeIsa(requireToolchain(find()), { directory }).isa).toBe(best);
  });

  test('costs this process alone its best instructions, and the next one has them', () => {
    fake('g++', failing(2, 'echo "cc1plus: fatal error: out of memory" >&2; exit 1'));
    const toolchain = requireToolchain(find());
    const first = probeIsa(toolchain, { directory });
    if (best !== 'scalar') expect(first.isa).not.toBe(best);
    expect(first.probed[0]).toMatchObject({ outcome: 'not compiled', lasting: false });
    expect(probeIsa(toolchain, { directory }).isa).toBe(best);
  });

  test('a compiler that hangs is given up in time', () => {
    fake('g++', `case "$*" in *--version*) ${gcc('12.2.0')}; exit;; esac; sleep 60`);
    const attempt = (): unknown => probeIsa(requireToolchain(find()), { directory, totalMilliseconds: 400 });
    const started = performance.now();
    expect(attempt).toThrow(expect.objectContaining({ code: 'COMPILER_UNUSABLE' }));
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});

const real = findToolchain({ path: process.env['PATH'] ?? '' });
if (real.toolchain === undefined) console.log('skipped: probing the real compiler, because none was found');
const host = real.toolchain === undefined ? describe.skip : describe;

host('the compiler of this machine', () => {
  test('that turns fast-math on by itself is refused', () => {
    fake('g++', `exec ${real.toolchain?.command.join(' ') ?? ''} -ffast-math "$@"`);
    const attempt = (): unknown => probeIsa(requireToolchain(find()), { directory });
    expect(attempt).toThrow(expect.objectContaining({ code: 'COMPILER_UNUSABLE' }));
    expect(attempt).toThrow(/turns -ffast-math on by itself/);
  });

  test('emits something that runs', () => {
    const report = probeIsa(requireToolchain(real), { directory });
    expect(report.probed.at(-1)).toEqual({ isa: report.isa, outcome: 'runs', detail: '', lasting: true });
    expect(['avx512', 'avx2', 'neon', 'scalar']).toContain(report.isa);
    expect(probeIsa(requireToolchain(real), { directory })).toEqual(report);
  });
});
