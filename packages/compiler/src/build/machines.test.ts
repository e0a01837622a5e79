// The bridge of a session's machines: built beside what generates, and what happens where it cannot be built.
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
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
import { Session } from '../session.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tsinductor-machines-'));
});
afterAll(() => {
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
