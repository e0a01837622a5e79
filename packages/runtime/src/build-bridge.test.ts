import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sha256 } from '@tsinductor/base';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buildBridge } from './build-bridge.ts';
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

  test('compiles with the flags and headers, once', () => {
    const path = build('echo "$@" > "$last"');
    expect(readFileSync(path, 'utf8')).toMatch(
      /-fno-exceptions .*-Wl,-z,nodelete .*-I \S*include \S*bridge\.cc -o \S+\n/,
    );
    expect(build('exit 1')).toBe(path);
    expect(readdirSync(directory)).toHaveLength(1);
  });

  test('when another process was faster, its addon stays', () => {
    const home = dirname(build('echo mine > "$last"'));
    rmSync(home, { recursive: true });
    const other = `mkdir ${home}; echo theirs > ${home}/bridge.node; echo ${sha256('theirs\n')} > ${home}/bridge.sha256`;
    expect(readFileSync(build(`${other}; echo mine > "$last"`), 'utf8')).toBe('theirs\n');
    expect(readdirSync(directory)).toHaveLength(1);
  });

  test('when what another process left is damaged, it is replaced', () => {
    const home = dirname(build('echo mine > "$last"'));
    rmSync(home, { recursive: true });
    const other = `mkdir ${home}; echo theirs > ${home}/bridge.node; echo wrong > ${home}/bridge.sha256`;
    expect(readFileSync(build(`${other}; echo mine > "$last"`), 'utf8')).toBe('mine\n');
    expect(readdirSync(directory)).toHaveLength(1);
  });
});
