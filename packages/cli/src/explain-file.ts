// Loads a module, and explains what was compiled in it: the compiled functions that it exports, and the entries of
// `workloads`, if it has them. In: a path. Out: an explanation for each.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { compile } from '@tsinductor/compiler';
import type { Explanation, GraphReport } from '@tsinductor/compiler';
import type { Tensor } from '@tsinductor/tensor';
import { fileMissing, loadFailed, nothingCompiled } from './errors.ts';
import { importModule } from './import-module.ts';
import type { Outcome } from './terminal.ts';

interface Workload {
  readonly name: string;
  readonly inputs: () => Tensor[];
  readonly fn: (...inputs: Tensor[]) => Tensor | Tensor[];
}

/** What is shown beside, or instead of, the explanation. */
interface ExplainOptions {
  readonly source: boolean;
  /** A stage of the compiler, whose output is all that is shown. */
  readonly stage: string | undefined;
}

export async function explainFile(file: string, options: ExplainOptions): Promise<Outcome> {
  const explained = await explainExports(file);
  const { stage } = options;
  return stage === undefined ? whole(explained, options.source) : oneStage(explained, stage);
}

/** The graphs that a module compiles, each with the name of its function. */
export async function reportsOf(file: string): Promise<readonly (GraphReport & { readonly name: string })[]> {
  return (await explainExports(file)).flatMap(({ name, explanation }) =>
    explanation.graphs.map((graph) => ({ ...graph, name })),
  );
}

async function explainExports(file: string): Promise<readonly Explained[]> {
  const path = resolve(file);
  if (!existsSync(path)) throw fileMissing(path);
  const exports = await loadModule(path);
  const explained = [
    ...Object.entries(exports).flatMap(([name, value]) =>
      isCompiled(value) ? [{ name, explanation: value.explain() }] : [],
    ),
    ...workloadsOf(exports).map(({ name, inputs, fn }) => ({ name, explanation: compile(fn).explain(...inputs()) })),
  ];
  if (explained.length === 0) throw nothingCompiled(path);
  return explained;
}

interface Explained {
  readonly name: string;
  readonly explanation: Explanation;
}

function whole(explained: readonly Explained[], showSource: boolean): Outcome {
  return {
    data: explained.map(({ name, explanation }) => ({ export: name, ...plainExplanation(explanation, showSource) })),
    status: 0,
    text: (colors) =>
      explained
        .map(
          ({ name, explanation }) =>
            `${colors.bold(name)}\n${explanation.toString()}${sourcesOf(explanation, showSource)}`,
        )
        .join('\n'),
  };
}

/** What one stage makes of each graph. Throws UserError STAGE_UNKNOWN. */
function oneStage(explained: readonly Explained[], stage: string): Outcome {
  const data = explained.map(({ name, explanation: { graphs } }) => ({
    export: name,
    stage,
    graphs: graphs.map(({ showStage }) => showStage?.(stage) ?? ''),
  }));
  return {
    data,
    status: 0,
    text: (colors) => data.map(({ export: name, graphs }) => `${colors.bold(name)}\n${graphs.join('\n')}`).join('\n'),
  };
}

/** Imports a module; what it prints goes to stderr, so that our output stays whole. */
async function loadModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  try {
    return await importModule(path);
  } catch (error) {
    throw loadFailed(path, error);
  } finally {
    process.stdout.write = write;
  }
}

const isCompiled = (value: unknown): value is { explain: () => Explanation } =>
  typeof value === 'function' && 'explain' in value && 'cacheInfo' in value;

function workloadsOf({ workloads }: Readonly<Record<string, unknown>>): readonly Workload[] {
  if (!Array.isArray(workloads)) return [];
  return workloads.filter((item: unknown): item is Workload => {
    const { name, inputs, fn } = (item ?? {}) as Partial<Workload>;
    return typeof name === 'string' && typeof inputs === 'function' && typeof fn === 'function';
  });
}

const sourcesOf = ({ graphs }: Explanation, wanted: boolean): string =>
  wanted ? graphs.map(({ source }) => source?.() ?? '').join('\n') : '';

/** An explanation as JSON: sources and timings are functions, and sources only read when they are wanted. */
const plainExplanation = ({ graphs, ...rest }: Explanation, wanted: boolean): object => ({
  ...rest,
  graphs: graphs.map(({ source, timings, showStage: _, ...graph }) => ({
    ...graph,
    ...(timings === undefined ? {} : { timings: timings() }),
    ...(wanted && source !== undefined ? { source: source() } : {}),
  })),
});
