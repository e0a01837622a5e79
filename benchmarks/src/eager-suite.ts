// The `eager` suite: programs on tensors, eager and compiled, beside the loop over typed arrays that computes the same. The three take
// turns, so that what else the machine does meets all of them.
import { at } from '@tsinductor/base';
import Table from 'cli-table3';
import pc from 'picocolors';
import { compile } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { wrongResult } from './errors.ts';
import { matching } from './own-suite.ts';
import type { OwnOptions, OwnSuite } from './own-suite.ts';
import { digits, duration, geometricMean, median } from './statistics.ts';
import { differenceFrom, tensorsOf } from './suites/programs/check-program.ts';
import type { SizedProgram } from './suites/programs/program.ts';
import { programs } from './suites/programs/programs.ts';

export interface EagerRow {
  readonly program: string;
  readonly plainMs: number;
  readonly eagerMs: number;
  readonly compiledMs: number;
  /** The first call of the program, before anything of it was met. */
  readonly firstEagerMs: number;
  /** The first call of the compiled program, which compiles it. */
  readonly firstCompiledMs: number;
  /** Medians of the ratios within a round. */
  readonly eagerToPlain: number;
  readonly compiledToPlain: number;
}

function measureEager({ rounds, filter, progress }: OwnOptions): readonly EagerRow[] {
  return matching(programs, filter).map((program, index) => {
    progress(index, program.name);
    return rowOf(program, rounds);
  });
}

function timed(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/** Calls before the first round: V8 has compiled the loops by then. */
const warmUps = 5;

function rowOf({ name, full, make }: SizedProgram, rounds: number): EagerRow {
  const program = make(full);
  const inputs = tensorsOf(program);
  const compiled = compile((...given: Tensor[]) => program.tensors(...given));
  const contenders = [program.plain, () => program.tensors(...inputs), () => compiled(...inputs)] as const;
  const [firstEagerMs, firstCompiledMs] = [timed(contenders[1]), timed(contenders[2])];
  const wanted = program.plain();
  for (const run of [contenders[1], contenders[2]]) {
    const difference = differenceFrom(wanted, run(), program.tolerance);
    if (difference !== undefined) throw wrongResult(name, difference);
  }
  for (let turn = 0; turn < warmUps; turn += 1) for (const contender of contenders) contender();
  const times = Array.from({ length: rounds }, () => contenders.map(timed));
  const of = (position: number): number => median(times.map((round) => at(round, position)));
  const toPlain = (position: number): number => median(times.map((round) => at(round, position) / at(round, 0)));
  return {
    program: name,
    plainMs: of(0),
    eagerMs: of(1),
    compiledMs: of(2),
    firstEagerMs,
    firstCompiledMs,
    eagerToPlain: toPlain(1),
    compiledToPlain: toPlain(2),
  };
}

const columns = [
  'program',
  'plain loop',
  'eager',
  'compiled',
  'first eager call',
  'first compiled call',
  'eager / plain',
  'compiled / plain',
];

/** One line for each program, and the geometric means of the ratios. */
function eagerTable(rows: readonly EagerRow[]): string {
  const table = new Table({ head: columns.map((text) => pc.bold(text)), style: { head: [], border: [] } });
  for (const row of rows) {
    const { plainMs, eagerMs, compiledMs, firstEagerMs, firstCompiledMs, eagerToPlain, compiledToPlain } = row;
    const times = [plainMs, eagerMs, compiledMs, firstEagerMs, firstCompiledMs].map(duration);
    table.push([row.program, ...times, digits(eagerToPlain), digits(compiledToPlain)]);
  }
  const mean = (ratio: (row: EagerRow) => number): string => digits(geometricMean(rows.map(ratio)));
  table.push([
    'geometric mean',
    '',
    '',
    '',
    '',
    '',
    mean((row) => row.eagerToPlain),
    mean((row) => row.compiledToPlain),
  ]);
  return table.toString();
}

export const eagerSuite: OwnSuite<EagerRow> = {
  name: 'eager',
  cases: (filter) => matching(programs, filter).map(({ name }) => name),
  measure: measureEager,
  tables: (rows) => [eagerTable(rows)],
};
