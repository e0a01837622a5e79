// The effects of the settings of caching and building.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { openStore } from '@tsinductor/cache';
import { compileGraphs, Session } from '@tsinductor/compiler';
import { resolveConfig } from '@tsinductor/config';
import type { Config } from '@tsinductor/config';
import { GraphBuilder } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import { full, randn, reset } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { forGraphs, freshDirectory, reportOf, stderrOf, wrappedCompiler } from './effect.ts';
import type { Effect, Options } from './effect.ts';

const addOne = (x: Tensor): Tensor => x.add(1);
const origin = (options: Options): string | undefined => reportOf(addOne, [full([3], 1)], options).origin;
const entries = (root: string): readonly string[] =>
  existsSync(join(root, 'fx')) ? readdirSync(join(root, 'fx')).filter((name) => !name.startsWith('.')) : [];

/** Nothing is kept in the cache directory where `options` switch it off, and what was there before is not used. */
const leavesAlone = (options: Options): void => {
  const cacheDir = freshDirectory();
  origin({ cacheDir, ...options });
  expect(entries(cacheDir)).toEqual([]);
  expect(origin({ cacheDir })).toBe('built');
  expect(entries(cacheDir)).toHaveLength(1);
};

/** An entry of 2 MB that nobody has used for a hundred days; gives its directory. */
export function leaveEntry(cacheDir: string): string {
  using store = openStore({ root: cacheDir, namespace: 'fx', temporaryDirectory: cacheDir, report: () => undefined });
  const key = 'ab'.repeat(32);
  const info = { inputs: {}, versions: {}, data: null };
  const { directory } = store.put(key, { 'graph.so': new Uint8Array(2 << 20) }, info);
  const time = new Date(Date.now() - 100 * 86_400_000);
  rmSync(join(cacheDir, 'fx', '.used', key));
  utimesSync(directory, time, time);
  return directory;
}

/** Holds a lock as another process of ours would: a directory whose time is kept new. */
const lockKeeper = `
const { mkdirSync, utimesSync } = require('node:fs');
const [lock] = process.argv.slice(1);
mkdirSync(lock, { recursive: true });
setInterval(() => utimesSync(lock, new Date(), new Date()), 200);
`;

const graphOf = (target: string): Graph => {
  const builder = new GraphBuilder();
  const x = builder.placeholder('x', { dtype: 'f32', shape: [int(3)], strides: [int(1)] });
  builder.output(builder.call(target, [x]));
  return builder.finish();
};

/** Whether workers are up after a compilation; after a second without one; and, where they ended, after another one. */
async function workersAfter(options: Options): Promise<readonly boolean[]> {
  const program = { cacheDir: freshDirectory(), compileThreads: 2, quiesceAsyncCompileTime: 1, ...options };
  using session = new Session(resolveConfig({ program }), { warn: () => undefined, log: () => undefined });
  await compileGraphs([graphOf('neg')], session);
  const first = session.builder.hasWorkers;
  const patience = program.quiesceAsyncCompileTime > 60 || options['quiesceAsyncCompilePool'] !== true ? 15 : 1000;
  for (let waits = 0; waits < patience && session.builder.hasWorkers; waits += 1) await setTimeout(100);
  const second = session.builder.hasWorkers;
  if (second) return [first, second];
  await compileGraphs([graphOf('exp')], session);
  return [first, second, session.builder.hasWorkers];
}

export const cachingEffects = {
  cacheDir: () => {
    const [first, second] = [freshDirectory(), freshDirectory()];
    expect(origin({ cacheDir: first })).toBe('built');
    expect(origin({ cacheDir: second })).toBe('built');
    expect([entries(first), entries(second)].map((list) => list.length)).toEqual([1, 1]);
  },
  fxGraphCache: () => {
    leavesAlone({ fxGraphCache: false });
  },
  forceDisableCaches: () => {
    leavesAlone({ forceDisableCaches: true });
    expect([1, 2].map(() => origin({ forceDisableCaches: true, cacheDir: freshDirectory() }))).toEqual([
      'built',
      'built',
    ]);
  },
  compiledFunctionsDir: () => {
    const [cacheDir, compiledFunctionsDir] = [freshDirectory(), freshDirectory()];
    expect(origin({ cacheDir, compiledFunctionsDir })).toBe('built');
    expect([readdirSync(cacheDir), entries(compiledFunctionsDir).length]).toEqual([[], 1]);
    reset();
    expect(origin({ cacheDir: freshDirectory(), compiledFunctionsDir })).toBe('disk');
  },
  cacheMaxBytes: () => {
    // Entries of a process that is no more, as large as the bound: the next build makes room.
    const cacheDir = freshDirectory();
    const old = leaveEntry(cacheDir);
    expect(origin({ cacheDir, cacheMaxDays: null, cacheMaxBytes: null })).toBe('built');
    reset();
    expect([
      existsSync(old),
      reportOf((x) => x.add(2), [full([3], 1)], { cacheDir, cacheMaxDays: null }).origin,
    ]).toEqual([true, 'built']);
    reset();
    expect(
      reportOf((x) => x.add(3), [full([3], 1)], { cacheDir, cacheMaxDays: null, cacheMaxBytes: 1 << 20 }).origin,
    ).toBe('built');
    expect([existsSync(old), entries(cacheDir).length]).toEqual([false, 3]);
  },
  cacheMaxDays: () => {
    const cacheDir = freshDirectory();
    const old = leaveEntry(cacheDir);
    expect(origin({ cacheDir, cacheMaxDays: 200 })).toBe('built');
    expect(existsSync(old)).toBe(true);
    reset();
    rmSync(join(cacheDir, '.collected'));
    expect(reportOf((x) => x.add(2), [full([3], 1)], { cacheDir }).origin).toBe('built');
    expect([existsSync(old), entries(cacheDir).length]).toEqual([false, 2]);
  },
  forceRecompile: () => {
    const cacheDir = freshDirectory();
    expect(origin({ cacheDir })).toBe('built');
    const made = (): number => statSync(join(cacheDir, 'fx', entries(cacheDir)[0] ?? '')).mtimeMs;
    const first = made();
    reset();
    expect(origin({ cacheDir, forceRecompile: true })).toBe('built');
    const second = made();
    expect(second).toBeGreaterThan(first);
    reset();
    expect([origin({ cacheDir }), made()]).toEqual(['disk', second]);
  },
  fileLockTimeout: () => {
    // Another process holds the lock of the entry: it is not waited for longer than the setting says.
    const cacheDir = freshDirectory();
    const key = reportOf(addOne, [full([3], 1)], { cacheDir, compileThreads: 1 }).cacheKey ?? '';
    reset();
    rmSync(join(cacheDir, 'fx', key), { recursive: true });
    const lock = join(cacheDir, 'fx', '.locks', `${key}.lock`);
    const keeper = spawn(process.execPath, ['-e', lockKeeper, lock], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      while (!existsSync(lock)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      const started = performance.now();
      expect(origin({ cacheDir, fileLockTimeout: 1, compileThreads: 1 })).toBe('built');
      expect(performance.now() - started).toBeGreaterThan(900);
    } finally {
      keeper.kill();
    }
  },
  workerLogPath: () => {
    const path = join(freshDirectory(), 'logs', 'worker-');
    const logged = (name: 'workerLogPath' | 'worker_log_path', compileThreads: number): string => {
      reset();
      origin({ cacheDir: freshDirectory(), compileThreads, [name]: `${path}${name}-` });
      const [file = ''] = readdirSync(dirname(path)).filter((found) => found.includes(name));
      return readFileSync(join(dirname(path), file), 'utf8');
    };
    expect(logged('workerLogPath', 2)).toMatch(
      /^addOne \([0-9a-f]{16}\) in \d+ ms\n +\/.*(g\+\+|c\+\+|clang).* -shared/,
    );
    expect(logged('worker_log_path', 1)).toMatch(/^addOne /);
    reset();
    const cxx = [wrappedCompiler(forGraphs('echo "no such luck" >&2; exit 3'))];
    expect(() => origin({ cacheDir: freshDirectory(), cpp: { cxx }, workerLogPath: `${path}failed-` })).toThrow();
    const [failed = ''] = readdirSync(dirname(path)).filter((found) => found.startsWith('worker-failed'));
    expect(readFileSync(join(dirname(path), failed), 'utf8')).toContain('| no such luck');
    reset();
  },
  workerSuppressLogging: () => {
    const text = (workerSuppressLogging: boolean): string =>
      stderrOf(() => origin({ cacheDir: freshDirectory(), compileThreads: 1, workerSuppressLogging }));
    expect(text(true)).toBe('');
    expect(text(false)).toMatch(/^\[worker 0\] addOne .*\n\[worker 0\] +\/.*-shared/);
  },
  quiesceAsyncCompilePool: async () => {
    expect(await workersAfter({ quiesceAsyncCompilePool: false })).toEqual([true, true]);
    expect(await workersAfter({ quiesceAsyncCompilePool: true })).toEqual([true, false, true]);
  },
  quiesceAsyncCompileTime: async () => {
    expect(await workersAfter({ quiesceAsyncCompilePool: true, quiesceAsyncCompileTime: 3600 })).toEqual([true, true]);
  },
  workerStartMethod: async () => {
    const startersWith = async (workerStartMethod: Config['workerStartMethod']): Promise<readonly number[]> => {
      const log = join(freshDirectory(), 'log');
      const cxx = [wrappedCompiler(forGraphs(`echo $PPID >> ${log}; sleep 0.3`))];
      const program = { cacheDir: freshDirectory(), compileThreads: 2, workerStartMethod, cpp: { cxx } };
      using session = new Session(resolveConfig({ program }), { warn: () => undefined, log: () => undefined });
      const built = await Promise.all(['neg', 'exp', 'sin'].map((target) => compileGraphs([graphOf(target)], session)));
      expect(built.flat().map(({ kind }) => kind)).toEqual(['compiled', 'compiled', 'compiled']);
      return [...new Set(readFileSync(log, 'utf8').trim().split('\n').map(Number))];
    };
    expect(await startersWith('spawn')).toEqual([process.pid]);
    const [beside, ...others] = await startersWith('subprocess');
    expect([beside === process.pid, others]).toEqual([false, []]);
    const forked = await startersWith('fork');
    expect([forked.includes(process.pid), forked.length]).toEqual([false, 2]);
    // A compiler that takes its process with it takes nobody else's: what was lost is built again.
    const taken = join(freshDirectory(), 'taken');
    const killer = wrappedCompiler(forGraphs(`if mkdir ${taken} 2> /dev/null; then kill -9 $PPID; fi`));
    const program = {
      cacheDir: freshDirectory(),
      compileThreads: 2,
      workerStartMethod: 'fork' as const,
      cpp: { cxx: [killer] },
    };
    using session = new Session(resolveConfig({ program }), { warn: () => undefined, log: () => undefined });
    const [built] = await compileGraphs([graphOf('neg')], session);
    expect([built?.kind, existsSync(taken)]).toEqual(['compiled', true]);
    expect(() => resolveConfig({ env: { TORCHINDUCTOR_WORKER_START: 'magic' } })).toThrow(/magic/);
  },
  disableProgress: () => {
    const written = (options: Options): string =>
      stderrOf(() => origin({ cacheDir: freshDirectory(), compileThreads: 1, ...options }));
    expect(written({})).toBe('');
    expect(written({ disableProgress: false })).toMatch(/^\[progress\] \d+\/\d+ addOne in \d+\.\d\d s\n$/);
  },
  verboseProgress: () => {
    const written = (options: Options): string =>
      stderrOf(() => origin({ cacheDir: freshDirectory(), compileThreads: 1, verboseProgress: true, ...options }));
    expect(written({})).toBe('');
    expect(written({ disableProgress: false })).toMatch(/^\[progress\] .* addOne in [^]*int run_/);
  },
  compileThreads: () => {
    // Two sums over different axes are two kernels, so two units where two compilers may run.
    const sums = (x: Tensor, y: Tensor): Tensor[] => [x.sum(0), y.exp().sum(1)];
    const most = (compileThreads: number): number => {
      const log = join(freshDirectory(), 'log');
      const cxx = [wrappedCompiler(`echo + >> ${log}; sleep 0.3; echo - >> ${log}`)];
      reportOf(sums, [randn([60, 70]), randn([80, 90])], { compileThreads, cacheDir: freshDirectory(), cpp: { cxx } });
      let running = 0;
      return Math.max(
        ...readFileSync(log, 'utf8')
          .trim()
          .split('\n')
          .map((sign) => (running += sign === '+' ? 1 : -1)),
      );
    };
    expect([most(1), most(2)]).toEqual([1, 2]);
  },
} satisfies Record<string, Effect>;
