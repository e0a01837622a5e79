// The `memory` suite: what results cost that nobody disposes, in time beside those that are disposed, and in memory. Each loop is
// a process of its own.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import Table from 'cli-table3';
import pc from 'picocolors';
import { childFailed } from './errors.ts';
import type { LoopKind, LoopRequest, LoopResult } from './memory-loops.ts';
import { matching } from './own-suite.ts';
import type { OwnOptions, OwnSuite } from './own-suite.ts';
import { duration } from './statistics.ts';

export interface MemoryRow extends LoopResult {
  readonly kind: LoopKind;
  readonly bytes: number;
  /** What the process may have at most. */
  readonly bound: number;
  readonly isBounded: boolean;
}

const kinds: Readonly<Record<LoopKind, string>> = {
  loop: 'one synchronous loop',
  promises: 'a chain of promises',
  workers: 'two worker threads',
};
const sizes: readonly number[] = [64, 4096, 65_536, 4 << 20, 64 << 20];

const calls = 100_000;
const milliseconds = 20_000;

/** Beside what the process had, what is live, and so many results: bytes. */
const results = 3;
const slack = 256 * 2 ** 20;

interface MemoryCase {
  readonly kind: LoopKind;
  readonly bytes: number;
  readonly name: string;
}

/** The loops whose names match. */
export function memoryCases(filter?: RegExp): readonly MemoryCase[] {
  const all = (['loop', 'promises', 'workers'] as const).flatMap((kind) =>
    sizes.map((bytes) => ({ kind, bytes, name: `${kinds[kind]}, ${sizeText(bytes)}` })),
  );
  return matching(all, filter);
}

function measureMemory({ root, filter, progress }: OwnOptions): readonly MemoryRow[] {
  return memoryCases(filter).map((one, index) => {
    progress(index, one.name);
    return rowOf(one, runLoop(root, one));
  });
}

/** The bound holds for each thread; the process is counted once. */
export function rowOf({ kind, bytes }: Pick<MemoryCase, 'kind' | 'bytes'>, result: LoopResult): MemoryRow {
  const threads = kind === 'workers' ? 2 : 1;
  // A thread beside the first has an engine of its own, with an input and a result; the others were there before.
  const own = kind === 'workers' ? threads * (engine + 2 * bytes) : bytes;
  const bound = result.residentBefore + own + threads * (results * bytes + slack);
  return { kind, bytes, ...result, bound, isBounded: result.residentPeak <= bound };
}

/** What a worker's engine takes with this program loaded. */
const engine = 64 * 2 ** 20;

function runLoop(root: string, { kind, bytes, name }: MemoryCase): LoopResult {
  const request: LoopRequest = { kind, bytes, calls, milliseconds };
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    [join('dist', 'memory-loops.js'), JSON.stringify(request)],
    { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
  );
  if (status !== 0) throw childFailed(name, signal ?? stderr.slice(-400));
  return JSON.parse(stdout) as LoopResult;
}

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${String(bytes)} B`;
  return bytes < 2 ** 20 ? `${String(bytes / 1024)} KiB` : mebibytes(bytes);
}

const columns = [
  'results of',
  'in',
  'calls',
  'a call',
  'disposed',
  'ratio',
  'most memory',
  'bound',
  'pooled',
  'external',
];

/** One line for each loop, undisposed results first. */
export function memoryTable(rows: readonly MemoryRow[]): string {
  const table = new Table({ head: columns.map((text) => pc.bold(text)), style: { head: [], border: [] } });
  for (const row of rows) {
    const most = mebibytes(row.residentPeak);
    table.push([
      sizeText(row.bytes),
      kinds[row.kind],
      String(row.calls),
      duration(row.droppedUs / 1000),
      duration(row.disposedUs / 1000),
      row.ratio.toFixed(2),
      row.isBounded ? most : pc.red(most),
      mebibytes(row.bound),
      mebibytes(row.pooled),
      mebibytes(row.external),
    ]);
  }
  return table.toString();
}

export const memorySuite: OwnSuite<MemoryRow> = {
  name: 'memory',
  cases: (filter) => memoryCases(filter).map(({ name }) => name),
  measure: measureMemory,
  tables: (rows) => [memoryTable(rows)],
};
