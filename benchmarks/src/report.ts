// The results as tables for people and as JSON for programs.
import Table from 'cli-table3';
import pc from 'picocolors';
import type { ArraySizes } from './array-sizes.ts';
import { ours, oursDisposed } from './contenders.ts';
import type { CompileRow } from './compile/measure-family.ts';
import type { EagerRow } from './eager-suite.ts';
import type { RowLimit } from './limits.ts';
import type { Machine } from './machine.ts';
import type { MemoryRow } from './memory-suite.ts';
import type { Absent } from './prepare.ts';
import type { Outcome, Row } from './rounds.ts';
import { pairedRatios, standings } from './standings.ts';
import { digits, duration, median } from './statistics.ts';

/** What `--json` writes. */
export interface Report {
  readonly machine: Machine;
  /** Bytes of the main arrays of programs bound by memory. */
  readonly arrays: ArraySizes;
  readonly limits: readonly LimitEntry[];
  readonly rows: readonly Row[];
  readonly absent: readonly AbsentEntry[];
  /** Of the suites of these names. */
  readonly memory: readonly MemoryRow[];
  readonly compile: readonly CompileRow[];
  readonly eager: readonly EagerRow[];
}
export interface LimitEntry extends RowLimit {
  readonly suite: string;
  readonly workload: string;
}
export interface AbsentEntry {
  readonly suite: string;
  readonly workload: string;
  readonly contender: string;
  readonly reason: string;
}

/** What a run measured. */
export interface Measured {
  /** Of the main arrays. */
  readonly sizes: ArraySizes;
  readonly outcomes: readonly Outcome[];
  readonly memory: readonly MemoryRow[];
  readonly compile: readonly CompileRow[];
  readonly eager: readonly EagerRow[];
}

export function reportOf(machine: Machine, { sizes: arrays, outcomes, memory, compile, eager }: Measured): Report {
  return {
    machine,
    arrays,
    limits: outcomes.flatMap(({ workload: { suite, name: workload }, limit }) =>
      limit === undefined ? [] : [{ suite, workload, ...limit }],
    ),
    rows: outcomes.flatMap(({ rows }) => rows),
    absent: outcomes.flatMap(({ workload: { suite, name: workload }, absent }) =>
      absent.map((entry) => ({ suite, workload, ...entry })),
    ),
    memory,
    compile,
    eager,
  };
}

// `native_cpp` is what a fusing compiler can reach, `kernels` the other way into ours: no peers that anybody could use instead.
const isPeer = ({ contender }: Row): boolean => ![ours, oursDisposed, 'native_cpp', 'kernels'].includes(contender);

const fastest = (rows: readonly Row[]): Row | undefined =>
  rows.reduce<Row | undefined>(
    (best, row) => (best === undefined || row.medianMs < best.medianMs ? row : best),
    undefined,
  );

const columns = [
  'workload',
  'limit',
  ours,
  'disposed',
  '% of limit',
  'rate',
  'best peer',
  'peer/ours',
  'g++/ours',
  'kernels',
];

/** How we stand: one line per workload. */
export function standingTable(outcomes: readonly Outcome[]): string {
  const head = [...columns, 'cold', 'warm'].map((text) => pc.bold(text));
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const outcome of outcomes) table.push(standingOf(outcome));
  return table.toString();
}

const timeOf = (row: Row | undefined): string => duration(row?.medianMs ?? Number.NaN);

function standingOf({ workload, rows, limit, absent }: Outcome): string[] {
  const [own, disposed] = [ours, oursDisposed].map((name) => rows.find(({ contender }) => contender === name));
  const best = fastest(rows.filter(isPeer));
  const native = rows.find(({ contender }) => contender === 'native_cpp');
  return [
    workload.name,
    limit === undefined ? '–' : `${duration(limit.ms)} ${limit.boundBy}`,
    own === undefined ? pc.red(whyMissing(absent)) : withSpread(own),
    timeOf(disposed),
    percent(own?.fractionOfLimit),
    rateOf(own, limit),
    best === undefined ? '–' : `${best.contender} ${duration(best.medianMs)}`,
    ratio(best, own),
    ratio(native, own),
    digits(own?.kernels ?? Number.NaN),
    duration(own?.compileColdMs ?? Number.NaN),
    duration(own?.compileWarmMs ?? Number.NaN),
  ];
}

const whyMissing = (absent: readonly Absent[]): string =>
  (absent.find(({ contender }) => contender === ours)?.reason ?? 'did not run').slice(0, 60);

/** Every contender's time, the fastest in bold, with a dash where it did not run. */
export function contenderTable(outcomes: readonly Outcome[], names: readonly string[]): string {
  const table = new Table({
    head: ['workload', ...names].map((text) => pc.bold(text)),
    style: { head: [], border: [] },
  });
  for (const { workload, rows } of outcomes) {
    const best = fastest(rows);
    const cells = names.map((name) => {
      const row = rows.find(({ contender }) => contender === name);
      if (row === undefined) return '–';
      const text = `${duration(row.medianMs)} ${pc.dim(percent(row.fractionOfLimit))}`;
      return row === best ? pc.bold(text) : text;
    });
    table.push([workload.name, ...cells]);
  }
  return table.toString();
}

/** Why contenders are missing from the table, each reason once, and whether the machine was quiet. */
export function notes(outcomes: readonly Outcome[]): readonly string[] {
  const reasons = new Map<string, string[]>();
  for (const { workload, absent } of outcomes) {
    for (const { contender, reason } of absent) {
      if (reason === 'has no such operation') continue;
      const key = `${contender}: ${reason}`;
      reasons.set(key, [...(reasons.get(key) ?? []), workload.name]);
    }
  }
  const absences = [...reasons].map(([reason, names]) =>
    names.length === outcomes.length
      ? reason
      : `${reason} (${names.slice(0, 3).join('; ')}${names.length > 3 ? '; …' : ''})`,
  );
  const company = outcomes.reduce((sum, outcome) => sum + outcome.company, 0);
  const measurements = outcomes.reduce((sum, outcome) => sum + outcome.measurements, 0);
  const over = outcomes.filter(({ rows }) => rows.some(({ fractionOfLimit }) => (fractionOfLimit ?? 0) > 1.02));
  return [
    ...absences,
    ...standings(outcomes),
    ...over.map(
      ({ workload }) =>
        `a contender passes the limit of ${workload.name}: it was measured in company, or memory changed its state`,
    ),
    `quiet: ${String(measurements - company)} of ${String(measurements)} measurements had the machine to themselves`,
  ];
}

const percent = (fraction: number | undefined): string =>
  fraction === undefined ? '–' : `${(fraction * 100).toFixed(0)} %`;

/** How many times longer another one took: the median of the rounds that both ran, side by side, and the least and most. */
function ratio(other: Row | undefined, own: Row | undefined): string {
  if (other === undefined || own === undefined) return '–';
  const pairs = pairedRatios(other, own);
  if (pairs.length < 2) return `${digits(other.medianMs / own.medianMs)}×`;
  const interval = `${digits(Math.min(...pairs))}–${digits(Math.max(...pairs))}`;
  return `${digits(median(pairs))}× ${pc.dim(`(${interval})`)}`;
}
const withSpread = ({ medianMs, spread }: Row): string =>
  `${duration(medianMs)} ${pc.dim(`±${digits((spread - 1) * 100)} %`)}`;

/** In the unit of what binds the row. */
function rateOf(row: Row | undefined, limit: RowLimit | undefined): string {
  if (row?.gflops !== undefined && limit?.boundBy !== 'memory') return `${digits(row.gflops)} GFLOP/s`;
  return row?.gbps === undefined ? '–' : `${digits(row.gbps)} GB/s`;
}
