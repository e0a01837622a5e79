// How long a graph takes from a function to native code, stage by stage, and how much text it becomes.
//
// Times of our own stages are of this process's CPU, which a busy machine does not stretch, the better of two runs of code that has run
// before: what grows with a graph is asked here, and not what a first run costs. A C++ compiler's time is that on the wall, one
// compiler after the other.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultSession, planPipeline } from '@tsinductor/compiler';
import { resolveConfig } from '@tsinductor/config';
import { generateCpp } from '@tsinductor/codegen-cpp';
import type { CppProgram, CpuTarget } from '@tsinductor/codegen-cpp';
import { decompose } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import type { Schedule } from '@tsinductor/ir';
import { compileUnitsSync } from '@tsinductor/runtime';
import { empty } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { TraceSession } from '@tsinductor/tensor/internal';
import type { Family } from './families.ts';

/** One graph of a family. */
export interface CompileRow {
  readonly family: string;
  /** Calls of operators that the function makes, as recorded, and the primitives that they become. */
  readonly nodes: number;
  readonly primitives: number;
  readonly kernels: number;
  /** Kernels that are written and compiled: equal ones once. */
  readonly distinct: number;
  readonly textBytes: number;
  /** Milliseconds. */
  readonly traceMs: number;
  readonly scheduleMs: number;
  readonly printMs: number;
  readonly compilerMs: number;
}

/** A graph as a call of the family's function records it, with as many calls as are asked for. */
export function tracedFamily(family: Family, calls: number): Graph {
  const tensors = family.inputs(calls).map((shape) => empty([...shape]));
  const session = new TraceSession();
  const standIns = tensors.map((tensor) => session.input(tensor));
  const isOne = (result: Tensor | readonly Tensor[]): result is Tensor => !Array.isArray(result);
  const results = session.run(() => {
    const result = family.run(calls, standIns);
    return isOne(result) ? [result] : [...result];
  });
  const { graph } = session.finish(results);
  for (const tensor of tensors) tensor.dispose();
  return graph;
}

const config = resolveConfig({ env: {} });

/** Down to what runs as which kernel, under the default settings. */
export const plannedFamily = (graph: Graph): Schedule =>
  planPipeline().run({ graph, primitives: decompose(graph) }, { config });

/** Measures graphs of one family, of so many calls each. */
export function* measureFamily(family: Family, sizes: readonly number[]): Generator<CompileRow> {
  // The first runs of code are slow: that is not what grows.
  for (let run = 0; run < 3; run += 1) generated(family, Math.min(...sizes));
  for (const calls of sizes) {
    const [first, second] = [generated(family, calls), generated(family, calls)];
    const { graph, plan, program } = second;
    yield {
      family: family.name,
      nodes: graph.nodes.filter(({ kind }) => kind === 'call').length,
      primitives: decompose(graph).nodes.filter(({ kind }) => kind === 'call').length,
      kernels: plan.groups.length,
      distinct: new Set(program.kernels.map(({ name }) => name)).size,
      textBytes: program.units.reduce((sum, { source }) => sum + Buffer.byteLength(source), 0),
      traceMs: Math.min(first.traceMs, second.traceMs),
      scheduleMs: Math.min(first.scheduleMs, second.scheduleMs),
      printMs: Math.min(first.printMs, second.printMs),
      compilerMs: compilerTime(program),
    };
  }
}

interface Generated {
  readonly graph: Graph;
  readonly plan: Schedule;
  readonly program: CppProgram;
  readonly traceMs: number;
  readonly scheduleMs: number;
  readonly printMs: number;
}

function generated(family: Family, calls: number): Generated {
  const [graph, traceMs] = timed(() => tracedFamily(family, calls));
  const [plan, scheduleMs] = timed(() => plannedFamily(graph));
  const [program, printMs] = timed(() => generateCpp(plan, target()));
  return { graph, plan, program, traceMs, scheduleMs, printMs };
}

function target(): CpuTarget {
  const { isa, codeThreads } = defaultSession().requireNative();
  return { isa, threads: codeThreads, units: config.compileThreads };
}

/** Milliseconds of CPU that a step takes, and what it gives. */
function timed<Result>(work: () => Result): readonly [Result, number] {
  const start = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(start);
  return [result, (user + system) / 1000];
}

/** Milliseconds of the C++ compiler for a graph of a family, the least of some runs. */
export function compilerTimeOf(family: Family, calls: number): number {
  const { program } = generated(family, calls);
  return Math.min(...Array.from({ length: 3 }, () => compilerTime(program)));
}

/** Milliseconds of the C++ compiler, for one unit after the other. */
function compilerTime({ units }: CppProgram): number {
  const directory = mkdtempSync(join(tmpdir(), 'tsinductor-bench-'));
  try {
    const { toolchain } = defaultSession().requireNative();
    return compileUnitsSync(toolchain, units, { outPath: join(directory, 'graph.so') }).milliseconds;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
