// The `startup` suite: what a program waits for before its first result. Each run is a process of its own, on a new machine (an empty
// cache folder), on one that knows its compiler but not the function, and on one that has the function in its cache.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Table from 'cli-table3';
import pc from 'picocolors';
import { childFailed } from './errors.ts';
import { matching } from './own-suite.ts';
import type { OwnOptions, OwnSuite } from './own-suite.ts';
import type { StartupProgram, StartupRequest, StartupTimes } from './startup-program.ts';
import { duration, median } from './statistics.ts';

/** What the machine has when the program starts. */
type Start = 'new machine' | 'compiler known' | 'in the cache';

export interface StartupRow {
  readonly program: string;
  readonly start: Start;
  /** Milliseconds, medians of the runs; what the C++ compiler takes alone for the text is the least of some, where it runs. */
  readonly importMs: number;
  readonly firstMs: number;
  readonly secondMs: number;
  readonly compilerMs: number | undefined;
}

export interface StartupCase {
  readonly name: string;
  readonly program: StartupProgram;
}

export const startupCases: readonly StartupCase[] = [
  { name: 'three operators', program: { kind: 'three operators' } },
  ...[1, 12, 48].map((layers) => ({
    name: `a transformer of ${String(layers)} layer${layers === 1 ? '' : 's'}`,
    program: { kind: 'layers', layers } as const,
  })),
];

const runs = 7;

function measureStartup({ root, filter, progress }: OwnOptions): readonly StartupRow[] {
  return matching(startupCases, filter).flatMap((one, index) => {
    progress(index, one.name);
    return startupRows(root, one, runs);
  });
}

/** What one case takes from each start, in so many runs of each. */
export function startupRows(root: string, one: StartupCase, runs: number): readonly StartupRow[] {
  const times: Record<Start, StartupTimes[]> = { 'new machine': [], 'compiler known': [], 'in the cache': [] };
  for (let run = 0; run < runs; run += 1) {
    const folder = mkdtempSync(join(tmpdir(), 'tsinductor-startup-'));
    const started = (program: StartupProgram, asksCompiler = false): StartupTimes =>
      runProgram({ root, name: one.name }, { program, folder, asksCompiler });
    try {
      times['new machine'].push(started(one.program, run === 0));
      times['in the cache'].push(started(one.program));
      rmSync(folder, { recursive: true, force: true });
      // Another function, so that the machine knows its compiler.
      started({ kind: 'layers', layers: 2 });
      times['compiler known'].push(started(one.program));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  const [asked] = times['new machine'];
  return (['new machine', 'compiler known', 'in the cache'] as const).map((start) => {
    const middle = (of: (run: StartupTimes) => number): number => median(times[start].map(of));
    return {
      program: one.name,
      start,
      importMs: middle(({ importMs }) => importMs),
      firstMs: middle(({ firstMs }) => firstMs),
      secondMs: middle(({ secondMs }) => secondMs),
      compilerMs: start === 'in the cache' ? undefined : asked?.compilerMs,
    };
  });
}

interface Run {
  readonly root: string;
  readonly name: string;
}

function runProgram({ root, name }: Run, request: StartupRequest): StartupTimes {
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    [join('dist', 'startup-program.js'), JSON.stringify(request)],
    { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
  );
  if (status !== 0) throw childFailed(name, signal ?? stderr.slice(-400));
  return JSON.parse(stdout) as StartupTimes;
}

const columns = ['program', 'starts with', 'import', 'first call', 'C++ compiler', 'beyond it', 'second call'];

export function startupTable(rows: readonly StartupRow[]): string {
  const table = new Table({ head: columns.map((text) => pc.bold(text)), style: { head: [], border: [] } });
  for (const { program, start, importMs, firstMs, secondMs, compilerMs } of rows) {
    const compiler = compilerMs === undefined ? ['–', '–'] : [compilerMs, firstMs - compilerMs].map(duration);
    table.push([program, start, duration(importMs), duration(firstMs), ...compiler, duration(secondMs)]);
  }
  return table.toString();
}

export const startupSuite: OwnSuite<StartupRow> = {
  name: 'startup',
  cases: (filter) => matching(startupCases, filter).map(({ name }) => name),
  measure: measureStartup,
  tables: (rows) => [startupTable(rows)],
};
