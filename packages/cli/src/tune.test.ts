// `tsinductor tune`, as a user has it: a program records, the command measures, and the program measures nothing.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';

const directory = mkdtempSync(join(tmpdir(), 'tsinductor-tune-'));
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

// The command as it is built: it loads a module with Node's own loader, which jest replaces.
const bin = join(import.meta.dirname, '../../tsinductor/lib/cli/tsinductor.js');

/** What the command says, with a cache of this test. */
function ran(args: readonly string[], variables: Readonly<Record<string, string>> = {}): string {
  const env = { ...process.env, TORCHINDUCTOR_CACHE_DIR: join(directory, 'cache'), ...variables };
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], { encoding: 'utf8', env });
  expect([status, stderr]).toEqual([0, expect.any(String)]);
  return stdout;
}

test('what a program has recorded is measured without it, and then no more', () => {
  const file = join(directory, 'product.mjs');
  const lines = [
    "import { compile, randn } from 'tsinductor';",
    "const f = compile((a, b) => a.matmul(b), { name: 'product' });",
    'const same = compile((a, b) => a.matmul(b));',
    'const other = compile((a) => a.exp());',
    'const [a, b] = [randn([70, 80]), randn([80, 96])];',
    'f(a, b), same(a, b), other(a);',
    'console.log(f.explain(a, b).toString());',
  ];
  writeFileSync(file, lines.join('\n'));
  expect(ran(['tune'])).toContain('nothing is recorded here');
  ran(['run', file], { EJKERNEL_OPS_RECORD: '1' });
  expect(ran(['tune'])).toMatch(/^product: .*measured now\n1 graph tuned, 0 failed$/m);
  const tuned = { TORCHINDUCTOR_MAX_AUTOTUNE_GEMM: '1', TORCHINDUCTOR_FX_GRAPH_CACHE: '0' };
  expect(ran(['run', file], tuned)).toMatch(/tuned .*measured before/);
});
