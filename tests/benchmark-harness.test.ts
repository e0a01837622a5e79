// The benchmark harness: its arithmetic, its references, and a whole run with the peer that needs no installation.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { limitOf, limitOverRounds } from '../benchmarks/src/limits.ts';
import type { RowLimit } from '../benchmarks/src/limits.ts';
import { memoryCases, memoryTable, rowOf } from '../benchmarks/src/memory-suite.ts';
import { Patience } from '../benchmarks/src/patience.ts';
import { elementOf, fillInput } from '../benchmarks/src/random-input.ts';
import type { Outcome } from '../benchmarks/src/rounds.ts';
import { standings } from '../benchmarks/src/standings.ts';
import { startupCases, startupRows, startupTable } from '../benchmarks/src/startup-suite.ts';
import { duration, median, medianInterval, spreadOf } from '../benchmarks/src/statistics.ts';
import { suites } from '../benchmarks/src/suites.ts';
import { erf } from '../benchmarks/src/suites/pointwise.ts';
import { sampleIndices } from '../benchmarks/src/workload.ts';

const root = join(import.meta.dirname, '..');

test('medians and spreads', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(spreadOf([2, 3, 4])).toBe(2);
  expect([0.0000021, 0.0123, 4.56, 1234].map(duration)).toEqual(['2.1 ns', '12.3 µs', '4.56 ms', '1.23 s']);
});

test('inputs are uniform, and the same element by element', () => {
  const spec = { size: 20_000, seed: 7, low: -1, high: 3 };
  const values = fillInput(spec);
  expect(values[12_345]).toBe(elementOf(spec, 12_345));
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const quarters = [0, 1, 2, 3].map((part) => values.filter((value) => Math.floor(value + 1) === part).length);
  expect(Math.abs(mean - 1)).toBeLessThan(0.05);
  expect(quarters.every((count) => Math.abs(count - 5000) < 300)).toBe(true);
});

test('the reference erf is exact to double precision', () => {
  // Abramowitz and Stegun, table 7.1, and the limits.
  const known = [
    [0, 0],
    [0.5, 0.5204998778130465],
    [1, 0.8427007929497149],
    [2, 0.9953222650189527],
    [3, 0.9999779095030014],
  ] as const;
  for (const [x, value] of known) {
    expect(erf(x)).toBeCloseTo(value, 14);
    expect(erf(-x)).toBeCloseTo(-value, 14);
  }
});

describe('limits', () => {
  const sample = { ordinary: 30, streaming: 40, asked: 50, peak: 200, rates: { exp: 1000, sigmoid: 1000, erf: 500 } };

  test('memory binds what has little arithmetic', () => {
    const limit = limitOf({ reads: 1, writes: 1, streamBytes: 50e6, functions: { exp: 1e5 } }, [sample]);
    expect(limit).toMatchObject({ boundBy: 'memory', gbps: 50 });
    expect(limit.ms).toBeCloseTo(2, 10);
    expect(limit.plainMs).toBeCloseTo(2.5, 10);
  });

  test('arithmetic adds up, and the best sample counts', () => {
    const slower = { ...sample, peak: 100 };
    const work = { reads: 1, writes: 0, streamBytes: 1, flops: 200e6, functions: { exp: 1e6, erf: 1e6 } };
    const limit = limitOf(work, [slower, sample]);
    expect(limit.boundBy).toBe('arithmetic');
    expect(limit.ms).toBeCloseTo(1 + 1 + 2, 10);
  });

  test.each([
    [1e6, 3],
    [5e6, 5],
  ])('%i divisions go on beside the rest', (divide, ms) => {
    const rates = { ...sample.rates, divide: 1000 };
    const work = { reads: 1, writes: 0, streamBytes: 1, flops: 200e6, functions: { erf: 1e6, divide } };
    expect(limitOf(work, [{ ...sample, rates }]).ms).toBeCloseTo(ms, 10);
  });

  test('a row has the limits of its rounds, of which the middle one stands for it', () => {
    const work = { reads: 1, writes: 1, streamBytes: 50e6 };
    const rounds = [25, 50, 40].map((streaming) => [{ ...sample, streaming, asked: 0, ordinary: 0 }]);
    const all = { roundsMs: [4, 2, 2.5], roundsPlainMs: [4, 2, 2.5], ms: 2.5, gbps: 40, bestMs: 2 };
    expect(limitOverRounds(work, rounds)).toMatchObject(all);
    expect(limitOverRounds(work, [])).toBeUndefined();
  });

  test('what the cores can do is that of their round, the best of its samples', () => {
    const work = { reads: 1, writes: 0, streamBytes: 1, flops: 200e6 };
    const rounds = [[100, 50], [200]].map((round) => round.map((peak) => ({ ...sample, peak })));
    expect(limitOverRounds(work, rounds)?.roundsMs).toEqual([2, 1]);
  });
});

describe.each(Object.entries(suites))('suite %s', (_, workloads) => {
  test.each(workloads.map((workload) => [workload.name, workload] as const))(
    '%s has finite references',
    (_name, it) => {
      it.outputs.forEach((size, output) => {
        const indices = sampleIndices(size);
        expect(indices.every((index) => index >= 0 && index < size)).toBe(true);
        const few = indices.filter((_value, i) => i % 64 === 0);
        expect(few.every((index) => Number.isFinite(it.reference(output, index)))).toBe(true);
      });
    },
  );
});

test('what a workload may be waited for is used up once', async () => {
  const patience = new Patience(5);
  expect(patience.isLeft).toBe(true);
  await patience.spend(() => new Promise((resolve) => setTimeout(resolve, 60)));
  expect(patience.isLeft).toBe(false);
  expect(new Patience(0).isLeft).toBe(false);
});

test('a run is summed up by place, and what is far below its limit says why', () => {
  const limit: RowLimit = {
    ms: 1,
    plainMs: 1.5,
    boundBy: 'memory',
    gbps: 1,
    peakGflops: 1,
    roundsMs: [1],
    roundsPlainMs: [1.5],
    bestMs: 0.5,
  };
  const machine = { rows: [], absent: [], limit, company: 0, measurements: 0 };
  const outcome = (name: string, fractionOfLimit: number, shortfall?: string): Outcome => {
    const { shortfall: _, ...workload } = at(suites['memory-bound'] ?? [], 0);
    const row = { suite: 's', workload: name, contender: 'tsinductor', medianMs: 1, roundsMs: [1], spread: 1 };
    const reason = shortfall === undefined ? {} : { shortfall };
    return {
      ...machine,
      workload: { ...workload, name, place: 'in memory', ...reason },
      rows: [{ ...row, fractionOfLimit, notes: ['padded'] }],
    };
  };
  expect(standings([outcome('a', 0.8), outcome('b', 0.5, 'it waits'), outcome('c', 0.4)])).toEqual([
    'a: padded',
    'b: padded',
    'c: padded',
    'in memory: 54 % of the limit in the geometric mean of 3 workloads; 150 % of that with ordinary and non-temporal stores alone; 50 % of that of the best round',
    'b: 50 % of the limit: it waits',
    'c: 40 % of the limit: no reason is known',
  ]);
});

test.each([
  [15, [4, 12]],
  [6, [1, 6]],
  [5, [1, 5]],
  [1, [1, 1]],
  [100, [40, 61]],
])('the median of what %i numbers are a sample of lies between some of them', (count, ends) => {
  expect(medianInterval(Array.from({ length: count }, (_, i) => count - i))).toEqual(ends);
});

test('hand-fused C++ that is faster beyond what rounds differ by is told, with the reason', () => {
  const { shortfall: _, handFused: __, ...workload } = at(suites['memory-bound'] ?? [], 0);
  const row = { suite: 's', workload: 'w', medianMs: 1, spread: 1 };
  const toldOf = (ratios: readonly number[], handFused?: string): readonly string[] =>
    standings([
      {
        workload: { ...workload, name: 'w', ...(handFused === undefined ? {} : { handFused }) },
        rows: [
          { ...row, contender: 'tsinductor', roundsMs: ratios.map(() => 2) },
          { ...row, contender: 'native_cpp', roundsMs: ratios.map((ratio) => 2 * ratio) },
        ],
        absent: [],
        limit: undefined,
        company: 0,
        measurements: 0,
      },
    ]);
  expect(toldOf([0.8, 0.9, 0.85, 0.9, 0.95, 0.97], 'the call')).toEqual([
    'w: hand-fused C++ takes 0.9 (0.8 to 0.97) of our time: the call',
  ]);
  expect(toldOf([0.8, 0.8])).toEqual(['w: hand-fused C++ takes 0.8 (0.8 to 0.8) of our time: no reason is known']);
  expect(toldOf([0.8, 0.9, 0.85, 0.9, 0.95, 1.01])).toEqual([]);
});

test('the memory-bound suite has at least forty workloads over three sizes', () => {
  const names = (suites['memory-bound'] ?? []).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const places = ['in cache', 'in L3', 'in memory'].map((where) => names.filter((name) => name.endsWith(where)).length);
  expect(Math.min(...places) * places.length).toBeGreaterThanOrEqual(40);
  expect(new Set(places).size).toBe(1);
});

const built = existsSync(join(root, 'benchmarks/dist/main.js'));
const maybe = built ? test : test.skip;
if (!built) process.stderr.write('harness runs skipped: benchmarks/dist is not there, npm run build makes it\n');

maybe('a run against plain JavaScript writes rows that agree with the protocol', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tsinductor-bench-test-'));
  try {
    const json = join(directory, 'rows.json');
    const options = ['--suite', 'call,pointwise', '--filter', '^(x . z 16$|row sum .64)', '--peers', 'js'];
    const quick = ['--rounds', '2', '--budget', '5', '--patience', '0', '--json', json];
    execFileSync(process.execPath, [join(root, 'benchmarks/dist/main.js'), ...options, ...quick], { stdio: 'pipe' });
    const { machine, limits, rows } = JSON.parse(readFileSync(json, 'utf8')) as {
      machine: { cpu: string };
      limits: unknown[];
      rows: { suite: string; workload: string; contender: string; medianMs: number; spread: number }[];
    };
    expect(machine.cpu).not.toBe('');
    expect(Array.isArray(limits)).toBe(true);
    const javascript = rows.filter(({ contender }) => contender === 'js');
    expect(javascript.map(({ workload }) => workload).sort()).toEqual(['row sum [64,64]', 'x + z 16']);
    for (const { medianMs, spread } of javascript) {
      expect(medianMs).toBeGreaterThan(0);
      expect(spread).toBeGreaterThanOrEqual(1);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test('the suite of memory has each kind of loop at each size, and tells what is beyond its bound', () => {
  expect(memoryCases().length).toBe(15);
  expect(memoryCases(/promises, 4 KiB/)).toMatchObject([{ kind: 'promises', bytes: 4096 }]);
  const result = { calls: 1, droppedUs: 2, disposedUs: 1, ratio: 2, live: 0, pooled: 0, external: 0 };
  const row = (residentPeak: number) =>
    rowOf({ kind: 'loop', bytes: 2 ** 20 }, { ...result, residentBefore: 2 ** 27, residentPeak });
  expect(row(2 ** 27 + 2 ** 28).isBounded).toBe(true);
  expect(row(2 ** 27 + 2 ** 28 + 5 * 2 ** 20).isBounded).toBe(false);
  expect(memoryTable([row(2 ** 27)])).toMatch(/1 MiB .*one synchronous loop.*2 µs.*1 µs.*2\.00/);
});

maybe('a run of the suite of memory measures both ways, and memory against its bound', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tsinductor-bench-test-'));
  try {
    const json = join(directory, 'rows.json');
    const options = ['--suite', 'memory', '--filter', 'loop, 64 B', '--peers', 'none', '--json', json];
    const args = [join(root, 'benchmarks/dist/main.js'), ...options];
    const said = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    expect(said).toContain('one synchronous loop');
    const { own } = JSON.parse(readFileSync(json, 'utf8')) as { own: { memory: unknown[] } };
    expect(own.memory).toMatchObject([{ kind: 'loop', bytes: 64, isBounded: true }]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

maybe('a module of workloads may lie anywhere, in TypeScript, and is compared with eager mode', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tsinductor-bench-test-'));
  try {
    const file = join(directory, 'mine.ts');
    const json = join(directory, 'rows.json');
    const fn = '(x: Tensor, y: Tensor) => [x.add(y), x.mul(y).sum(1)]';
    const inputs = '(): Tensor[] => [randn([16, 8]), randn([16, 8])]';
    const body = `export const workloads = [{ name: 'pair', inputs: ${inputs}, fn: ${fn}, bytes: 2048 }];`;
    writeFileSync(file, `import { randn, type Tensor } from 'tsinductor';\n${body}\n`);
    const options = ['--workload', file, '--rounds', '1', '--budget', '5', '--patience', '0', '--json', json];
    execFileSync(process.execPath, [join(root, 'benchmarks/dist/main.js'), ...options], { stdio: 'pipe' });
    const { rows, absent } = JSON.parse(readFileSync(json, 'utf8')) as { rows: unknown[]; absent: unknown[] };
    expect(absent).toEqual([]);
    // Both ways of using results, undisposed first.
    expect(rows).toMatchObject([
      { suite: 'mine', workload: 'pair', contender: 'tsinductor' },
      { suite: 'mine', workload: 'pair', contender: 'tsinductor, disposed' },
    ]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test('the suite of startup has a small function and transformers', () => {
  const names = [
    'three operators',
    'a transformer of 1 layer',
    'a transformer of 12 layers',
    'a transformer of 48 layers',
  ];
  expect(startupCases.map(({ name }) => name)).toEqual(names);
});

maybe('a program starts in three ways, and the compiler is timed alone where it runs', () => {
  const rows = startupRows(join(root, 'benchmarks'), at(startupCases, 0), 1);
  expect(rows.map(({ start }) => start)).toEqual(['new machine', 'compiler known', 'in the cache']);
  for (const { importMs, firstMs, secondMs } of rows)
    for (const time of [importMs, firstMs, secondMs]) expect(time).toBeGreaterThan(0);
  expect(rows.map(({ compilerMs }) => compilerMs === undefined)).toEqual([false, false, true]);
  expect(startupTable(rows)).toMatch(/three operators.*in the cache/);
});
