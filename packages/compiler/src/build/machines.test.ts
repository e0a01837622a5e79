// The bridge of a session's machines: built beside what generates, and what happens where it cannot be built.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { graphNamespace, openStore } from '@tsinductor/cache';
import { mostLastLevel, standardCaches } from '@tsinductor/codegen-cpp';
import { resolveConfig, withConfig } from '@tsinductor/config';
import type { Config, ConfigPatch } from '@tsinductor/config';
import { decompose } from '@tsinductor/graph';
import { cpuCaches } from '@tsinductor/runtime';
import { tensor } from '@tsinductor/tensor';
import { trace } from '@tsinductor/tensor/internal';
import type { Executable } from '../run/executable.ts';
import { countedCaches, familyOf } from './machine.ts';
import { targetOf } from './stage-options.ts';
import { reset, setConfig, useNativeMemory } from '../default-compiler.ts';
import { lowerTierName } from '../run/lower-tier.ts';
import { Session } from '../session.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tsinductor-machines-'));
  setConfig({ cacheDir: join(directory, 'default') });
  useNativeMemory();
});
afterAll(() => {
  reset();
  rmSync(directory, { recursive: true, force: true });
});

const hasCompiler = existsSync('/usr/bin/g++');
const whereCompiled = hasCompiler ? describe : describe.skip;
if (!hasCompiler) console.warn('no /usr/bin/g++: how the bridge is built is not tested');

const configOf = (patch: ConfigPatch): Config =>
  withConfig(resolveConfig({ env: {} }), { cacheDir: mkdtempSync(join(directory, 'cache-')), ...patch });

const small = { first: 16 << 10, second: 256 << 10, last: 1 << 20 };

const x = tensor([1, 2, 3], { dtype: 'f32' });

function prepareIn(session: Session): Executable {
  const { graph } = trace(() => x.mul(2).add(1), []);
  const placement = { device: 'cpu', outputs: ['cpu'] } as const;
  return session.prepare(
    { graph, primitives: decompose(graph) },
    { name: 'f', backend: 'inductor', examples: [], placement },
  );
}

whereCompiled('the bridge', () => {
  test.each([1, 2])('is there when it is asked for, with %i compile threads', (compileThreads) => {
    using session = new Session(configOf({ compileThreads }), { warn: () => undefined, log: () => undefined });
    const { bridge } = session.requireNative();
    expect(bridge.setThreads(1)).toBe(1);
    expect(session.requireNative().bridge).toBe(bridge);
  });

  test.each([1, 2])(
    'where it does not build, one warning, and generated JavaScript (%i compile threads)',
    (compileThreads) => {
      const compiler = join(directory, `broken-${String(compileThreads)}`);
      writeFileSync(
        compiler,
        '#!/bin/sh\ncase "$*" in *bridge.cc*) echo "no bridge today" >&2; exit 1;; esac\nexec /usr/bin/g++ "$@"\n',
      );
      chmodSync(compiler, 0o755);
      const warnings: string[] = [];
      const config = configOf({ compileThreads, cpp: { cxx: [compiler] } });
      using session = new Session(config, { warn: (code) => warnings.push(code), log: () => undefined });
      for (let call = 0; call < 2; call++) {
        const executable = prepareIn(session);
        expect(executable.report.runsOn).toContain('generated JavaScript');
        expect(executable.run([x])[0]?.toArray()).toEqual([3, 5, 7]);
      }
      expect(warnings).toEqual(['COMPILER_FAILED']);
    },
  );
});

/** A compiler that does `fault` where a graph is built, and is the real one otherwise. */
function failing(fault: string): string {
  const compiler = join(mkdtempSync(join(directory, 'bin-')), 'g++');
  const script = `for last; do :; done\ncase "$*" in *-nostdlib*) ${fault};; esac\nexec /usr/bin/g++ "$@"`;
  writeFileSync(compiler, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return compiler;
}

const cut = '/usr/bin/g++ "$@" || exit 1; truncate -s 9000 "$last"; exit 0';

whereCompiled('a compiler that fails where a graph is built', () => {
  test.each([
    ['exit 1', 'COMPILER_FAILED'],
    ['kill -KILL $$', 'COMPILER_CRASHED'],
    [cut, 'OUTPUT_DAMAGED'],
  ])('`%s`: the lower tier answers, with one warning %s; the next session is native', (fault, code) => {
    const warnings: string[] = [];
    const voice = { warn: (told: string) => warnings.push(told), log: () => undefined };
    const config = configOf({
      compileThreads: 1,
      cpp: { cxx: [failing(`test -e ${directory}/well || { ${fault}; }`)] },
    });
    rmSync(join(directory, 'well'), { force: true });
    {
      using session = new Session(config, voice);
      for (let call = 0; call < 2; call++) expect(prepareIn(session).run([x])[0]?.toArray()).toEqual([3, 5, 7]);
      expect(prepareIn(session).report.runsOn).toContain(lowerTierName);
      expect(warnings).toEqual([code]);
    }
    writeFileSync(join(directory, 'well'), '');
    using session = new Session(config, voice);
    const executable = prepareIn(session);
    expect(executable.report.runsOn).toContain('native code');
    expect(executable.run([x])[0]?.toArray()).toEqual([3, 5, 7]);
    expect(warnings).toEqual([code]);
  });

  test('is an error where suppressErrors is false', () => {
    const config = configOf({ compileThreads: 1, suppressErrors: false, cpp: { cxx: [failing('exit 1')] } });
    using session = new Session(config, { warn: () => undefined, log: () => undefined });
    expect(() => prepareIn(session)).toThrow(expect.objectContaining({ code: 'COMPILER_FAILED' }));
  });

  test('once is asked once more', () => {
    const once = `if mkdir ${join(directory, 'once')} 2>/dev/null; then ${cut}; fi`;
    const config = configOf({ compileThreads: 1, suppressErrors: false, cpp: { cxx: [failing(once)] } });
    using session = new Session(config, { warn: () => undefined, log: () => undefined });
    expect(prepareIn(session).report.runsOn).toContain('native code');
  });

  test('flags that change numerics are not passed on, and one warning says so', () => {
    const warnings: string[] = [];
    const config = configOf({ cpp: { cxx: ['/usr/bin/g++ -ffast-math'] } });
    using session = new Session(config, { warn: (code) => warnings.push(code), log: () => undefined });
    prepareIn(session);
    prepareIn(session);
    const { bridge, toolchain } = session.requireNative();
    expect(toolchain.command).toEqual(['/usr/bin/g++']);
    expect(bridge.readMxcsr() & 0x8040).toBe(0);
    expect(warnings).toEqual(['COMPILER_FLAGS']);
  });
});

whereCompiled('an entry that does not load', () => {
  test('is put away with a report, and built once more', () => {
    const config = configOf({ compileThreads: 1, suppressErrors: false });
    const warnings: string[] = [];
    const voice = { warn: (code: string) => warnings.push(code), log: () => undefined };
    const other = join(directory, 'other.so');
    execFileSync('/usr/bin/g++', ['-shared', '-x', 'c++', '-', '-o', other], { input: 'int other;' });
    let key = '';
    {
      using session = new Session(config, voice);
      key = prepareIn(session).report.cacheKey ?? '';
    }
    // What another version of the compiler might have kept under this key: every digest is right.
    using store = openStore({
      root: config.cacheDir,
      namespace: graphNamespace,
      temporaryDirectory: directory,
      report: () => undefined,
    });
    const found = store.get(key);
    const textOf = (name: string): Buffer => readFileSync(found?.paths[name] ?? '');
    const files = { 'graph.so': readFileSync(other), 'graph.cc': textOf('graph.cc'), 'plan.json': textOf('plan.json') };
    const elsewhere = withConfig(config, { cacheDir: mkdtempSync(join(directory, 'cache-')) });
    using otherStore = openStore({
      root: elsewhere.cacheDir,
      namespace: graphNamespace,
      temporaryDirectory: directory,
      report: () => undefined,
    });
    otherStore.put(key, files, { inputs: {}, versions: {}, data: null });
    using session = new Session(elsewhere, voice);
    const executable = prepareIn(session);
    expect(executable.report.origin).toBe('built');
    expect(executable.run([x])[0]?.toArray()).toEqual([3, 5, 7]);
    expect(warnings).toEqual(['CACHE_DAMAGED']);
  });
});

test.each([
  ['AuthenticAMD', ['avx512_fp16'], 'zen'],
  ['GenuineIntel', [], 'other'],
  ['GenuineIntel', ['avx512f', 'avx512_fp16'], 'rapids'],
  ['', [], 'other'],
] as const)('the family of a processor made by "%s" with %j is %s', (vendor, features, family) => {
  expect(familyOf({ vendor, features })).toBe(family);
});

test('code is made for the caches that the system describes, of the last level for the part that a process counts on', () => {
  const described = { first: 48 << 10, second: 2 << 20, last: 8 << 20 };
  expect(countedCaches(described)).toEqual(described);
  expect(countedCaches({ ...described, last: 480 << 20 })).toEqual({ ...described, last: mostLastLevel });
  expect(countedCaches({})).toEqual(standardCaches);
});

whereCompiled('the machine', () => {
  test('has the caches of this system, and code is made for them', () => {
    using session = new Session(configOf({}), { warn: () => undefined, log: () => undefined });
    const machine = session.requireNative();
    expect(machine.caches).toEqual(countedCaches(cpuCaches()));
    expect(targetOf({ ...machine, caches: small }, session.config)).toMatchObject({ caches: small });
  });
});
