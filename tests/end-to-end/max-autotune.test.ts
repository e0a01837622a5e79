// Products whose choices a clock has made: the numbers are those of eager mode, and what was measured once is not measured again.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { stableHash } from '@tsinductor/base';
import { openRecords } from '@tsinductor/cache';
import type { RecordStore } from '@tsinductor/cache';
import { tuneRecorded } from '@tsinductor/compiler';
import { resolveConfig, withConfig } from '@tsinductor/config';
import { compile, manualSeed, nn, randn, setConfig } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

afterEach(() => {
  setConfig({ autotuneCacheDir: null });
});

const quiet = { maxAutotuneReportChoicesStats: false };
const product = (a: Tensor, b: Tensor): Tensor => a.matmul(b).relu();

function given(): [Tensor, Tensor] {
  manualSeed(2);
  return [randn([96, 70]), randn([70, 90])];
}

const farthest = (a: Tensor, b: Tensor): number => Number(a.sub(b).abs().amax().item());

/** All records in a directory of measurements. */
function recordsIn(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .map((name) => join(directory, name))
    .sort();
}

const decisionsOf = <Args extends Tensor[]>(
  compiled: { explain: (...args: Args) => { toString: () => string } },
  ...args: Args
): readonly string[] =>
  compiled
    .explain(...args)
    .toString()
    .split('\n')
    .filter((line) => line.includes('tuned '));

/** The times of a product and what follows it, as one kernel and as two. */
const epilogueTimes = (compiled: { explain: (a: Tensor, b: Tensor) => { toString: () => string } }): string =>
  /measured .* as one kernel, .* apart/.exec(compiled.explain(...given()).toString())?.[0] ?? 'none';

describe('maxAutotuneGemm', () => {
  test('measures once, and gives what eager mode gives', () => {
    const autotuneCacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-tuned-'));
    setConfig({ autotuneCacheDir });
    const options = { ...quiet, maxAutotuneGemm: true };
    const [a, b] = given();
    const tuned = compile(product, { options });
    expect(farthest(tuned(a, b), product(a, b))).toBeLessThan(1e-4);
    expect(decisionsOf(tuned, a, b)).toEqual([expect.stringMatching(/measured now/)]);
    const records = recordsIn(autotuneCacheDir);
    expect(records.length).toBeGreaterThan(3);
    // Another function with an equal product, in code that is generated anew.
    const again = compile((x: Tensor, y: Tensor) => x.matmul(y).relu(), {
      options: { ...options, comboKernels: true },
    });
    expect(farthest(again(a, b), product(a, b))).toBeLessThan(1e-4);
    expect(decisionsOf(again, a, b)).toEqual([expect.stringMatching(/measured before/)]);
    expect(epilogueTimes(tuned)).not.toBe('none');
    expect(epilogueTimes(again)).toBe(epilogueTimes(tuned));
    // Where nothing may be measured, what was measured before holds.
    const untimed = compile(product, { options: { ...options, autotunePolicy: 'heuristics' } });
    expect(farthest(untimed(a, b), product(a, b))).toBeLessThan(1e-4);
    expect(epilogueTimes(untimed)).toBe(epilogueTimes(tuned));
    expect(decisionsOf(untimed, a, b)).toEqual([expect.stringMatching(/measured before/)]);
    expect(recordsIn(autotuneCacheDir)).toEqual(records);
  });

  test('what a record says beside times is not taken', () => {
    const autotuneCacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-tuned-'));
    setConfig({ autotuneCacheDir });
    const options = { ...quiet, maxAutotuneGemm: true };
    const [a, b] = given();
    compile(product, { options })(a, b);
    for (const file of recordsIn(autotuneCacheDir))
      writeFileSync(file, readFileSync(file, 'utf8').replaceAll('"patch":{', '"patch":{"contractDepth":"0); evil("'));
    const again = compile(product, { options: { ...options, comboKernels: true } });
    expect(farthest(again(a, b), product(a, b))).toBeLessThan(1e-4);
    expect(JSON.stringify(decisionsOf(again, a, b))).not.toMatch(/evil/);
  });

  test('attention and convolutions, in every candidate space', () => {
    manualSeed(4);
    const [q, k, v] = [1, 2, 3].map(() => randn([1, 2, 128, 32])) as [Tensor, Tensor, Tensor];
    const [x, w] = [randn([1, 16, 20, 20]), randn([24, 16, 3, 3])];
    const net = (): Tensor =>
      nn.functional.scaledDotProductAttention(q, k, v, { isCausal: true }).sum().add(nn.functional.conv2d(x, w).sum());
    const options = { ...quiet, maxAutotuneGemm: true, 'cpp.attentionFusionBytes': 0, forceDisableCaches: true };
    const tuned = compile(net, { options });
    expect(farthest(tuned(), net())).toBeLessThan(0.05);
    expect(decisionsOf(tuned)).toHaveLength(2);
  });

  test('small products, and those of symbolic sizes, are not measured', () => {
    const [a, b] = [randn([8, 8]), randn([8, 8])];
    const options = { ...quiet, maxAutotuneGemm: true };
    const small = compile(product, { options });
    small(a, b);
    expect(decisionsOf(small, a, b)).toEqual([]);
    const symbolic = compile(product, { dynamic: true, options });
    const [c, d] = given();
    symbolic(c, d);
    expect(decisionsOf(symbolic, c, d)).toEqual([]);
  });
});

const recordsAt = (root: string): RecordStore =>
  openRecords({ root, temporaryDirectory: tmpdir(), report: () => undefined });

describe('what was not measured here', () => {
  // Whether a product and what follows it are one kernel is left to no clock, so that there is one group to decide of.
  const options = { ...quiet, maxAutotuneGemm: true, benchmarkEpilogueFusion: false };
  const heuristics = { ...options, autotunePolicy: 'heuristics' } as const;
  let rows = 0;
  let [a, b] = given();
  beforeEach(() => {
    // A product of its own for each test: code that was tuned before is found, and measures nothing.
    [a, b] = [randn([96 + (rows += 1), 70]), randn([70, 90])];
  });
  const told = (one: Readonly<Record<string, unknown>>): readonly string[] => {
    const tuned = compile((x: Tensor, y: Tensor) => x.matmul(y).relu(), { options: one });
    expect(farthest(tuned(a, b), product(a, b))).toBeLessThan(1e-4);
    return decisionsOf(tuned, a, b);
  };

  test('is as on the nearest machine that has a record, which may say places among our values only', () => {
    const autotuneCacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-tuned-'));
    setConfig({ autotuneCacheDir });
    expect(told(heuristics)).toEqual([expect.stringMatching(/usual choices: .*no record of another one/)]);
    expect(told(options)).toEqual([expect.stringMatching(/measured now/)]);
    expect(told(heuristics)).toEqual([expect.stringMatching(/measured before/)]);
    using measured = recordsAt(autotuneCacheDir);
    const [problem, record] = measured
      .list()
      .flatMap((name) => [...measured.read(name).values()].map((value) => [name, value as object] as const))
      .find(([, value]) => 'offsets' in value) ?? ['', {}];
    const other = mkdtempSync(join(tmpdir(), 'tsinductor-tuned-'));
    setConfig({ autotuneCacheDir: other });
    using elsewhere = recordsAt(other);
    const leave = (offsets: unknown): void => {
      elsewhere.write(problem, 'a'.repeat(64), { ...record, cpu: 'another one', offsets });
    };
    leave({ contractDepth: -1 });
    expect(told(heuristics)).toEqual([
      expect.stringMatching(/"contractDepth":\d+.*nearest one with a record: another one/),
    ]);
    leave({ contractDepth: '0); evil(' });
    expect(told({ ...heuristics, comboKernels: true })).toEqual([expect.stringMatching(/no record of another one/)]);
  });

  test('holds for the process where it cannot be kept', () => {
    const [first, second] = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'tsinductor-tuned-')));
    if (first === undefined || second === undefined) throw new RangeError('no directories');
    setConfig({ autotuneCacheDir: first });
    told(options);
    using measured = recordsAt(first);
    mkdirSync(join(second, 'autotune'), { mode: 0o700 });
    // A record would be a file in a directory of this name.
    for (const problem of measured.list()) writeFileSync(join(second, 'autotune', problem), '');
    setConfig({ autotuneCacheDir: second });
    expect(told({ ...options, comboKernels: true })).toEqual([expect.stringMatching(/measured now/)]);
  });
});

test('a recorded graph that is none fails by itself', () => {
  const autotuneCacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-tuned-'));
  using records = recordsAt(autotuneCacheDir);
  const problem = stableHash({ kind: 'recorded graphs' });
  const texts = ['no JSON', '{"format":"another"}', '{"format":"tsinductor graph 1"}'];
  const graphs = texts.map((text) => ({ graph: deflateSync(text).toString('base64') }));
  [null, 7, { graph: 'x' }, ...graphs].forEach((record, place) => {
    records.write(problem, String(place).padStart(64, '0'), record);
  });
  const seen: string[] = [];
  const voice = { warn: () => undefined, log: () => undefined };
  tuneRecorded(withConfig(resolveConfig({ env: {} }), { autotuneCacheDir }), {
    voice,
    report: (done, total, { failure }) =>
      seen.push(`${String(done)} of ${String(total)} ${failure === undefined ? '' : 'failed'}`),
  });
  expect(seen).toEqual(['1 of 3 failed', '2 of 3 failed', '3 of 3 failed']);
});
