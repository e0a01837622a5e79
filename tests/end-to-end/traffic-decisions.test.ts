// What was decided of memory traffic, as a user reads it: in `explain` with kernel, stage and reason, whether the kernels were
// generated now or found on disk, and among what a traced compilation keeps.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { hasCompiler } from '@tsinductor/testing/loops';
import { compile, randn, reset, setConfig } from 'tsinductor';
import type { GraphReport, Tensor } from 'tsinductor';

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

let top = '';
beforeAll(() => {
  top = mkdtempSync(join(tmpdir(), 'tsinductor-traffic-'));
});
afterAll(() => {
  reset();
  rmSync(top, { recursive: true, force: true });
});

/** Rows that a last pass is to prefetch the next of, on any processor. */
const x = randn([1024, 512]);

function compiledIn(
  cacheDir: string,
  fn: (x: Tensor) => Tensor,
): { readonly report: GraphReport; readonly text: string } {
  reset();
  setConfig({ cacheDir });
  const compiled = compile(fn);
  compiled(x);
  const [report] = compiled.graphs();
  if (report === undefined) throw new RangeError('nothing was compiled');
  return { report, text: compiled.explain().toString() };
}

const told = ({ decisions }: GraphReport): GraphReport['decisions'] =>
  decisions.filter(({ kind }) => kind === 'traffic');

ring('decisions about memory traffic', () => {
  test('stand in explain, and are the same where the code was found on disk', () => {
    const cacheDir = join(top, 'cache');
    const softmax = (input: Tensor): Tensor => input.softmax(-1);
    const [cold, warm] = [compiledIn(cacheDir, softmax), compiledIn(cacheDir, softmax)];
    expect([cold.report.origin, warm.report.origin]).toEqual(['built', 'disk']);
    const [kernel] = cold.report.kernels;
    expect(told(cold.report)).toContainEqual(
      expect.objectContaining({
        rule: 'next row',
        stage: 'bind',
        kernel: kernel?.name,
        what: expect.stringContaining('in0'),
      }),
    );
    expect(told(warm.report)).toEqual(told(cold.report));
    for (const { text } of [cold, warm])
      expect(text).toMatch(
        /- bind: next row in fused_softmax_\w+: rows of in0 are prefetched along \w+ \(the last pass/,
      );
  });

  test('are told once of kernels that are called several times', () => {
    const step = (input: Tensor): Tensor => input.softmax(-1).cumsum(0);
    const { report } = compiledIn(join(top, 'repeated'), (input) => step(step(step(step(input)))));
    const names = report.kernels.map(({ name }) => name);
    expect(new Set(names).size).toBeLessThan(names.length);
    const rows = told(report).filter((it) => it.kind === 'traffic' && it.rule === 'next row');
    expect(rows.length).toBeGreaterThan(0);
    expect(new Set(rows.map((it) => JSON.stringify(it))).size).toBe(rows.length);
  });

  test('are kept with the other decisions of a traced compilation', () => {
    reset();
    const debugDir = join(top, 'kept');
    setConfig({ cacheDir: join(top, 'traced'), trace: { enabled: true, debugDir } });
    compile((input: Tensor) => input.softmax(-1))(x);
    const files = readdirSync(debugDir, { recursive: true, encoding: 'utf8' });
    const kept = files.find((name) => name.endsWith('decisions.txt')) ?? '';
    expect(readFileSync(join(debugDir, kept), 'utf8')).toMatch(/^next row in fused_softmax_\w+: /m);
  });
});
