import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sha256 } from '@tsinductor/base';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buildBridge, buildBridgeAsync } from './build-bridge.ts';
import { findToolchain } from './toolchain.ts';
import type { CompilerFingerprint, Toolchain } from './toolchain.ts';

const top = mkdtempSync(join(tmpdir(), 'tsinductor-build-bridge-'));
let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(top, 'home-'));
});
afterAll(() => {
  rmSync(top, { recursive: true, force: true });
});

/** A compiler that is a shell script; `$last` is the output's path. */
function scripted(script: string): Toolchain {
  const path = join(mkdtempSync(join(top, 'bin-')), 'compiler');
  writeFileSync(path, `#!/bin/sh\nfor last; do :; done\n${script}\n`, { mode: 0o755 });
  const fingerprint = 'fake' as CompilerFingerprint;
  return { command: [path], family: 'gcc', version: 'fake', fingerprint, environment: { PATH: '/usr/bin:/bin' } };
}

const build = (script: string, milliseconds = 20_000): string =>
  buildBridge({ toolchain: scripted(script), directory, milliseconds });

/** Leaves an addon that says `word`, which any Node can load. */
const addon = (word: string, more = ''): string =>
  `echo 'extern "C" void *napi_register_module_v1(void *, void *) { return 0; } const char word[] = "${word}"; ${more}' |
  g++ -shared -fPIC -x c++ - -o "$last" || exit 9`;

const { toolchain: real } = findToolchain({ path: process.env['PATH'] ?? '' });
if (real === undefined) console.log('skipped: addons that are built, because no compiler was found');
const host = real === undefined || process.platform !== 'linux' ? describe.skip : describe;

const linux = process.platform === 'linux' ? describe : describe.skip;
if (process.platform !== 'linux') console.log('skipped: building the bridge, because this is not Linux');

linux('buildBridge', () => {
  test.each([
    ['exit 1', 'COMPILER_FAILED'],
    ['exit 0', 'OUTPUT_MISSING'],
    ['kill -SEGV $$', 'COMPILER_CRASHED'],
    ['sleep 60', 'COMPILER_TIMEOUT'],
  ])('a compiler that does `%s` is a %s, and leaves nothing', (script, code) => {
    expect(() => build(script, 500)).toThrow(expect.objectContaining({ name: 'ToolchainError', code }));
    expect(readdirSync(directory)).toEqual([]);
  });

  test('a compiler that is gone', () => {
    const toolchain = { ...scripted(''), command: [join(top, 'none')] };
    const attempt = (): unknown => buildBridge({ toolchain, directory });
    expect(attempt).toThrow(expect.objectContaining({ code: 'COMPILER_NOT_STARTED' }));
  });

  test('a compiler that is stopped does not block, and leaves nothing', async () => {
    const attempt = buildBridgeAsync({ toolchain: scripted('sleep 60'), directory, milliseconds: 300 });
    await expect(attempt).rejects.toMatchObject({ code: 'COMPILER_TIMEOUT' });
    expect(readdirSync(directory)).toEqual([]);
  });

  test.each([
    ['head -c 9000 /dev/urandom > "$last"', /it is no ELF file/],
    [': > "$last"', /it has 0 bytes/],
    ['rm -f "$last"; mkfifo "$last"', /wrote no output/],
  ])('what `%s` leaves is no addon', (script, message) => {
    expect(() => build(script)).toThrow(message);
    expect(readdirSync(directory)).toEqual([]);
  });
});

host('buildBridge with the compiler of this machine', () => {
  test.each([
    [`${addon('cut')}; truncate -s 9000 "$last"`, 'OUTPUT_DAMAGED', /what it wrote is no library/],
    ['echo "int x;" | g++ -shared -fPIC -x c++ - -o "$last"', 'OUTPUT_DAMAGED', /no function napi_register_module_v1/],
    [addon('bad', 'static int bad = *(int *)8;'), 'BRIDGE_UNFIT', /SIGSEGV/],
    [addon('rude', '__attribute__((constructor)) void f() { __builtin_ia32_ldmxcsr(0x9fc0); }'), 'BRIDGE_UNFIT', /3/],
  ])('an addon that is no good is not published', (script, code, message) => {
    const attempt = (): unknown => build(script);
    expect(attempt).toThrow(expect.objectContaining({ code }));
    expect(attempt).toThrow(message);
    expect(readdirSync(directory)).toEqual([]);
  });

  test('compiles with the flags and headers, once', () => {
    const path = build(`echo "$@" > ${top}/words; ${addon('mine')}`);
    expect(readFileSync(join(top, 'words'), 'utf8')).toMatch(
      /-fno-exceptions .*-Wl,-z,nodelete .*-I \S*include \S*bridge\.cc -o \S+\n/,
    );
    expect(build('exit 1')).toBe(path);
    expect(readdirSync(directory)).toHaveLength(1);
  });

  test('one that lies where nothing may be written is used', () => {
    const readable = directory;
    const path = build(addon('shared'));
    directory = mkdtempSync(join(top, 'home-'));
    expect(buildBridge({ toolchain: scripted('exit 1'), directory, readable })).toBe(path);
    expect(readdirSync(directory)).toEqual([]);
  });

  test('when another process was faster, its addon stays', () => {
    const home = dirname(build(addon('mine')));
    rmSync(home, { recursive: true });
    const other = `mkdir ${home}; echo theirs > ${home}/bridge.node; echo ${sha256('theirs\n')} > ${home}/bridge.sha256`;
    expect(readFileSync(build(`${other}; ${addon('mine')}`), 'utf8')).toBe('theirs\n');
    expect(readdirSync(directory)).toHaveLength(1);
  });

  test('when what another process left is damaged, it is replaced', () => {
    const home = dirname(build(addon('mine')));
    rmSync(home, { recursive: true });
    const other = `mkdir ${home}; echo theirs > ${home}/bridge.node; echo wrong > ${home}/bridge.sha256`;
    expect(readFileSync(build(`${other}; ${addon('mine')}`), 'latin1')).toContain('mine');
    expect(readdirSync(directory)).toHaveLength(1);
  });

  test('a home that holds a FIFO is replaced', () => {
    const home = dirname(build(addon('mine')));
    rmSync(join(home, 'bridge.node'));
    execFileSync('mkfifo', [join(home, 'bridge.node')]);
    expect(readFileSync(build(addon('anew')), 'latin1')).toContain('anew');
  });
});
