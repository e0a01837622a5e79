import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileUnits, compileUnitsSync } from './compile-units.ts';
import type { BuildResult, CompileOptions, CompileUnit } from './compile-units.ts';
import { bridgeFlags, codeFlags, linkFlags } from './flags.ts';
import { findToolchain } from './toolchain.ts';
import type { CompilerFingerprint, Toolchain } from './toolchain.ts';

const root = mkdtempSync(join(tmpdir(), 'tsinductor-compile-'));
let out = '';
let round = 0;
beforeEach(() => {
  round += 1;
  out = join(root, `out${String(round)}`);
  mkdirSync(out);
});
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const one: CompileUnit[] = [{ name: 'kernel', source: 'extern "C" int f() { return 1; }\n' }];

/** A toolchain whose compiler is a shell script; `$last` is the output's path. */
function scripted(script: string): Toolchain {
  const path = join(out, 'compiler');
  writeFileSync(path, `#!/bin/sh\nfor last; do :; done\n${script}\n`, { mode: 0o755 });
  return {
    command: [path],
    family: 'gcc',
    version: 'fake',
    fingerprint: 'fake' as CompilerFingerprint,
    environment: { PATH: '/usr/bin:/bin' },
  };
}

type Compile = (
  toolchain: Toolchain,
  units: readonly CompileUnit[],
  options: CompileOptions,
) => BuildResult | Promise<BuildResult>;
const both: [string, Compile][] = [
  ['compileUnits', compileUnits],
  ['compileUnitsSync', compileUnitsSync],
];

/** What lies in the output directory beside the script. */
const left = (): string[] => readdirSync(out).filter((name) => name !== 'compiler');

describe.each(both)('%s with a hostile compiler', (_name, compile) => {
  const failure = async (
    toolchain: Toolchain,
    options: Partial<CompileOptions> = {},
  ): Promise<Record<string, unknown>> => {
    try {
      await compile(toolchain, one, { outPath: join(out, 'result.so'), ...options });
    } catch (error) {
      return error as Record<string, unknown>;
    }
    return { code: 'no error' };
  };

  test('a failure names command, messages and the source that was kept', async () => {
    const error = await failure(scripted('echo "-:1:2: error: what is this" >&2; exit 1'));
    expect(error).toMatchObject({
      name: 'ToolchainError',
      code: 'COMPILER_FAILED',
      stderr: expect.stringContaining('what'),
    });
    expect((error['command'] as string[])[0]).toBe(join(out, 'compiler'));
    const kept = join(out, 'result.so.failed', 'kernel.cc');
    expect(error['message']).toContain(kept);
    expect(readFileSync(kept, 'utf8')).toBe(one[0]?.source);
    expect(left()).toEqual(['result.so.failed']);
  });

  test('exit 0 without output', async () => {
    expect(await failure(scripted('exit 0'))).toMatchObject({ code: 'OUTPUT_MISSING' });
    expect(await failure(scripted(': > "$last"'))).toMatchObject({ code: 'OUTPUT_MISSING' });
    expect(left()).toEqual(['result.so.failed']);
  });

  test('a crash of the driver, or of the compiler proper', async () => {
    expect(await failure(scripted('kill -SEGV $$'))).toMatchObject({ code: 'COMPILER_CRASHED' });
    const ice = scripted('echo "internal compiler error: in foo, at bar.c:1" >&2; exit 4');
    expect(await failure(ice)).toMatchObject({ code: 'COMPILER_CRASHED' });
    const killed = scripted('echo "g++: fatal error: Killed signal terminated program cc1plus" >&2; exit 1');
    expect(await failure(killed)).toMatchObject({ code: 'COMPILER_CRASHED' });
  });

  test('a compiler that hangs is stopped', async () => {
    const started = performance.now();
    expect(await failure(scripted('sleep 60 & wait'), { milliseconds: 300 })).toMatchObject({
      code: 'COMPILER_TIMEOUT',
    });
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(left()).toEqual(['result.so.failed']);
  });

  test('a compiler that is gone', async () => {
    const toolchain = scripted('');
    rmSync(join(out, 'compiler'));
    expect(await failure(toolchain)).toMatchObject({ code: 'COMPILER_NOT_STARTED' });
  });

  test('a place that cannot be written to', async () => {
    writeFileSync(join(out, 'file'), '');
    const attempt = async (): Promise<unknown> =>
      compile(scripted(''), one, { outPath: join(out, 'file', 'result.so') });
    await expect(attempt()).rejects.toMatchObject({ code: 'OUTPUT_NOT_WRITTEN' });
  });

  test('an output path that is a directory', async () => {
    mkdirSync(join(out, 'result.so', 'x'), { recursive: true });
    expect(await failure(scripted('echo > "$last"'))).toMatchObject({ code: 'OUTPUT_NOT_WRITTEN' });
    expect(left()).toEqual(['result.so']);
  });

  test('temporary files of the compiler lie in the stage, which is gone afterwards', async () => {
    const result = await compile(scripted('echo > "$TMPDIR/left"; echo "$TMPDIR" > "$last"'), one, {
      outPath: join(out, 'result.so'),
    });
    const stage = readFileSync(result.path, 'utf8').trim();
    expect(stage.startsWith(join(out, '.build-'))).toBe(true);
    expect(left()).toEqual(['result.so']);
  });

  test('a unit name is no path', async () => {
    const units = [{ name: '../../evil; rm -rf', source: 'x' }];
    const attempt = async (): Promise<unknown> =>
      compile(scripted('exit 1'), units, { outPath: join(out, 'result.so') });
    await expect(attempt()).rejects.toMatchObject({ code: 'COMPILER_FAILED' });
    expect(readdirSync(join(out, 'result.so.failed'))).toEqual(['______evil__rm__rf.cc']);
  });
});

describe('compileUnits', () => {
  test('after a failure no further unit starts, and nothing is left', async () => {
    const units = [1, 2, 3, 4, 5].map((n) => ({ name: `u${String(n)}`, source: String(n) }));
    const toolchain = scripted(`read n; echo $n >> ${join(out, 'seen')}; echo x > "$last"; test $n != 2`);
    const attempt = compileUnits(toolchain, units, { outPath: join(out, 'result.so'), concurrency: 1 });
    await expect(attempt).rejects.toMatchObject({ code: 'COMPILER_FAILED' });
    expect(readFileSync(join(out, 'seen'), 'utf8')).toBe('1\n2\n');
  });

  test('runs as many compilers at once as it is told', async () => {
    const units = [1, 2, 3, 4, 5, 6].map((n) => ({ name: `u${String(n)}`, source: String(n) }));
    const marks = join(out, 'marks');
    mkdirSync(marks);
    const toolchain = scripted(
      `: > ${marks}/$$; ls ${marks} | wc -l >> ${join(out, 'counts')}; sleep 0.2; rm ${marks}/$$; echo x > "$last"`,
    );
    await compileUnits(toolchain, units, { outPath: join(out, 'result.so'), concurrency: 2 });
    const counts = readFileSync(join(out, 'counts'), 'utf8').trim().split('\n').map(Number);
    expect(Math.max(...counts)).toBe(2);
  });

  test('an abort ends it', async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 100);
    const attempt = compileUnits(scripted('sleep 60'), one, {
      outPath: join(out, 'result.so'),
      signal: controller.signal,
    });
    await expect(attempt).rejects.toMatchObject({ code: 'COMPILE_ABORTED' });
    expect(left()).toEqual([]);
  });
});

test('no flag weakens IEEE arithmetic', () => {
  const flags = [...codeFlags('gcc'), ...codeFlags('clang'), ...linkFlags, ...bridgeFlags].join(' ');
  expect(flags).not.toMatch(/fast|unsafe|finite|associative|reciprocal|signed-zeros|trapping|Ofast/);
  expect(flags).toContain('-ffp-contract=off');
});

const { toolchain } = findToolchain({ path: process.env['PATH'] ?? '' });
if (toolchain === undefined) console.log('skipped: compiling for real, because no compiler was found');
const host = toolchain === undefined ? describe.skip : describe;

host('with the real compiler', () => {
  const compiler = toolchain ?? scripted('');

  test.each(both)('%s: one unit in one call, several with a link', async (_name, compile) => {
    const single = await compile(compiler, one, { outPath: join(out, 'single.so') });
    expect(single.commands).toHaveLength(1);
    const units = [
      { name: 'part', source: 'int part(int x) { return x + 1; }\n' },
      { name: 'entry', source: 'int part(int); extern "C" int f() { return part(1); }\n' },
    ];
    const linked = await compile(compiler, units, { outPath: join(out, 'linked.so'), concurrency: 2 });
    expect(linked.commands).toHaveLength(3);
    expect(linked.bytes).toBeGreaterThan(0);
    expect(left().sort()).toEqual(['linked.so', 'single.so']);
  });

  test('text that would be code to a shell is only text to the compiler', async () => {
    const mark = join(out, 'mark');
    const units = [{ name: '$(touch x)', source: `// $(touch ${mark}) \`touch ${mark}\` ; touch ${mark}\nint x;\n` }];
    await compileUnits(compiler, units, { outPath: join(out, 'it\'s $(x) "fine".so') });
    expect(existsSync(mark)).toBe(false);
  });

  test('equal text gives equal bytes', () => {
    const a = compileUnitsSync(compiler, one, { outPath: join(out, 'a.so') });
    const b = compileUnitsSync(compiler, one, { outPath: join(out, 'b.so') });
    expect(readFileSync(a.path).equals(readFileSync(b.path))).toBe(true);
  });
});
