// What `explain` shows: for each compiled graph its kernels, its guards, and every decision with its reason. Plain data
// with one rendering as text.
import { Lines } from '@tsinductor/base';
import type { StageTime } from '@tsinductor/base';
import { timesText } from './build/stage-times.ts';
import { printDecision } from '@tsinductor/ir';
import type { Decision } from '@tsinductor/ir';
import type { TemporaryStats } from '@tsinductor/tensor';
import type { KernelTiming } from './profile/kernel-profile.ts';
import { profileTable } from './profile/profile-table.ts';
import type { TierState } from './run/executable.ts';

export interface KernelReport {
  readonly name: string;
  /** What one call reads and writes, in bytes; undefined where it depends on symbolic sizes. */
  readonly bytes?: number;
  /** What any kernel with its inputs and results would move, and how many arithmetic operations one call takes. */
  readonly leastBytes?: number;
  readonly operations?: number;
  readonly description: string;
}

/** Which tier answers where native code is built in the background, and how many calls the lower one has answered meanwhile. */
export interface TierReport {
  readonly state: TierState;
  readonly calls: number;
}

export interface GraphReport {
  /** How it runs: native code, or generated JavaScript or the interpreter with the reason. */
  readonly runsOn: string;
  /** Set where native code is built in the background. */
  readonly tiers?: TierReport;
  readonly guards: readonly string[];
  /** The traced graph as text. */
  readonly graph: string;
  /** Loop nodes before fusion. */
  readonly loopNodes: number;
  readonly kernels: readonly KernelReport[];
  readonly decisions: readonly Decision[];
  /** Custom ops without a lowering, which run between native parts: name, place and reason. */
  readonly hosts?: readonly string[];
  /** What is computed once of frozen tensors, and not at every call. */
  readonly frozen?: readonly string[];
  /** Gives the generated C++; undefined where there is none. */
  readonly source?: () => string;
  readonly cacheKey?: string;
  /** Where the native code came from, and how long that took. */
  readonly origin?: 'built' | 'disk' | 'remote' | 'memory';
  readonly milliseconds?: number;
  readonly workspaceBytes?: number;
  /** What one call takes for temporaries; undefined where that depends on symbolic sizes. */
  readonly temporaries?: TemporaryStats;
  /** What each stage of the pipeline took, under `timeStages`, where the code was not found on disk. */
  readonly stages?: readonly StageTime[];
  /** Prints what the stage of that name makes of the graph. Throws UserError STAGE_UNKNOWN, which lists the names. */
  readonly showStage?: (name: string) => string;
  /** Gives what its kernels took until now, under `profileBandwidth`. */
  readonly timings?: () => readonly KernelTiming[];
}

export interface Break {
  readonly reason: string;
  readonly file?: string;
  readonly line?: number;
}

export interface Explanation {
  readonly name: string;
  readonly calls: number;
  readonly graphs: readonly GraphReport[];
  /** Why a call was recompiled: the guard that failed, what it expected and what it found. */
  readonly recompiles: readonly string[];
  readonly breaks: readonly Break[];
  readonly notes: readonly string[];
  toString(): string;
}

export function makeExplanation(parts: Omit<Explanation, 'toString'>): Explanation {
  return { ...parts, toString: () => printExplanation(parts) };
}

function printExplanation(parts: Omit<Explanation, 'toString'>): string {
  const lines = new Lines();
  lines.line(`${parts.name}: ${count(parts.graphs.length, 'graph')}, ${count(parts.calls, 'call')}`);
  for (const [index, graph] of parts.graphs.entries()) {
    lines.block(
      `graph ${String(index)}: ${graph.runsOn}`,
      () => {
        printGraphReport(lines, graph);
      },
      '',
    );
  }
  list(lines, 'recompiled because', parts.recompiles);
  list(
    lines,
    'broken into segments because',
    parts.breaks.map(({ reason, file, line }) =>
      file === undefined ? reason : `${reason}, at ${file}:${String(line)}`,
    ),
  );
  list(lines, 'notes', parts.notes);
  return lines.toString();
}

function printGraphReport(lines: Lines, graph: GraphReport): void {
  const source = graph.origin === undefined ? '' : `, ${graph.origin}`;
  const time = graph.milliseconds === undefined ? '' : ` in ${graph.milliseconds.toFixed(1)} ms`;
  lines.line(`${count(graph.loopNodes, 'loop node')} became ${countKernels(graph.kernels)}${source}${time}`);
  if (graph.tiers !== undefined) lines.line(tiersText(graph.tiers));
  if (graph.workspaceBytes !== undefined) lines.line(`workspace: ${String(graph.workspaceBytes)} bytes`);
  if (graph.temporaries !== undefined) lines.line(printTemporaries(graph.temporaries));
  list(
    lines,
    'kernels',
    graph.kernels.map((kernel) => `${kernel.name}${printCost(kernel)}: ${kernel.description}`),
  );
  const { stages } = graph;
  if (stages !== undefined) lines.block('stages', () => lines.line(timesText(stages)), '');
  const timings = graph.timings?.() ?? [];
  if (timings.length > 0) lines.block('profile', () => lines.line(profileTable(timings)), '');
  list(lines, 'host callbacks', graph.hosts ?? []);
  list(lines, 'computed once of frozen tensors', graph.frozen ?? []);
  list(lines, 'guards', graph.guards);
  list(lines, 'decisions', graph.decisions.map(printStaged));
  lines.block(
    'graph',
    () => {
      lines.line(graph.graph.trimEnd());
    },
    '',
  );
}

function tiersText({ state, calls }: TierReport): string {
  const answered = `${count(calls, 'call')} ${calls === 1 ? 'was' : 'were'} answered`;
  switch (state) {
    case 'building':
      return `native code is being built: ${answered} meanwhile`;
    case 'native':
      return `native code was built in the background: ${answered} before`;
    case 'lower':
      return `no native code came about: ${answered} while it was built`;
  }
}

/** With the stage that decided it. */
const printStaged = (decision: Decision): string =>
  `${decision.stage === undefined ? '' : `${decision.stage}: `}${printDecision(decision)}`;

/** What the graphs take together. */
export const sumTemporaries = (reports: readonly Pick<GraphReport, 'temporaries'>[]): TemporaryStats =>
  reports.reduce<TemporaryStats>(
    (sum, { temporaries = none }) => ({
      total: sum.total + temporaries.total,
      peakBefore: sum.peakBefore + temporaries.peakBefore,
      peakAfter: sum.peakAfter + temporaries.peakAfter,
    }),
    none,
  );

const none: TemporaryStats = { total: 0, peakBefore: 0, peakAfter: 0 };

const printTemporaries = ({ total, peakBefore, peakAfter }: TemporaryStats): string =>
  `temporaries: ${String(total)} bytes; at their peak ${String(peakBefore)} in the order of the program, ${String(peakAfter)} as planned`;

function printCost({ bytes, leastBytes, operations }: KernelReport): string {
  if (bytes === undefined) return '';
  const millions = (value: number): string => (value / 1e6).toFixed(3);
  const least = leastBytes === undefined ? '' : ` of at least ${millions(leastBytes)} MB`;
  const work = operations === undefined ? '' : `, ${millions(operations)} M operations`;
  return ` (${millions(bytes)} MB${least}${work})`;
}

function list(lines: Lines, title: string, items: readonly string[]): void {
  if (items.length === 0) return;
  lines.block(
    title,
    () => {
      for (const item of items) lines.line(`- ${item}`);
    },
    '',
  );
}

/** Calls of kernels, and where equal ones share their code how many there are of it. */
function countKernels(kernels: readonly KernelReport[]): string {
  const different = new Set(kernels.map(({ name }) => name)).size;
  const calls = count(kernels.length, 'kernel');
  return different === kernels.length ? calls : `${calls}, ${String(different)} of them different`;
}

const count = (number: number, noun: string): string => `${String(number)} ${noun}${number === 1 ? '' : 's'}`;
