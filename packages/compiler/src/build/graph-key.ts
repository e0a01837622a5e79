// Under what compiled graphs are kept. In: a graph as traced, the machine, the settings, the compiler. Out: a digest.
import { stableHash, stableStringify } from '@tsinductor/base';
import type { KeyFields } from '@tsinductor/cache';
import { fingerprint, settingNames, settings, valueOf, withConfig } from '@tsinductor/config';
import type { Config, Setting } from '@tsinductor/config';
import { printNode } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import { buildFingerprint } from './build-fingerprint.ts';
import type { NativeMachine } from './machine.ts';
import { planFormat } from '../run/plan.ts';

interface KeyContext {
  readonly native: NativeMachine;
  readonly config: Config;
  /** Of the compiler that generates the code (default: this one). */
  readonly build?: string;
  /** Stands for the measurements that are there, where code goes by what is found of them without measuring. */
  readonly records?: string | undefined;
}

/**
 * Covers everything that decides the code: the graph, settings, both compilers, CPU, caches, threads. Where the user wrote it does not:
 * moving a function in its file must not compile it again. Nor must the number of threads that run it, under
 * `cpp.dynamicThreads`.
 */
export function graphKey(graph: Graph, context: KeyContext): string {
  const { graph: plain, config, ...parts } = partsOf(graph, context);
  return stableHash({ ...parts, graph: plain, config: fingerprint(config) });
}

const partsOf = (
  { decisions: _, ...graph }: Graph,
  { native, config, build = buildFingerprint, records }: KeyContext,
) => ({
  format: planFormat,
  build,
  // What passes did is in the graph itself.
  graph: { ...graph, nodes: keyedNodes(graph) },
  config: config.cpp.dynamicThreads ? withConfig(config, { cpp: { threads: -1 } }) : config,
  compiler: native.toolchain.fingerprint,
  cpu: native.isaReport.cpu,
  isa: native.isa,
  caches: native.caches,
  threads: native.codeThreads,
  ...(records !== undefined && { records }),
});

/**
 * The same parts by name, each short enough to be read: what of two keys differs is one of these. Settings are those that affect code
 * and are not as they are by default.
 */
export function graphFields(graph: Graph, context: KeyContext): KeyFields {
  const { graph: plain, config, build, compiler, ...parts } = partsOf(graph, context);
  const changed = settingNames.flatMap((name): readonly [string, string][] => {
    const row: Setting = settings[name];
    const value = stableStringify(valueOf(config, name));
    return row.affects === 'code' && value !== stableStringify(row.default) ? [[`setting ${name}`, value]] : [];
  });
  return {
    ...Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, short(part)])),
    build: build.slice(0, 16),
    compiler: compiler.slice(0, 16),
    graph: stableHash(plain).slice(0, 16),
    inputs: short(graph.nodes.flatMap((node) => (node.kind === 'placeholder' ? [describe(node)] : [])).join('; ')),
    operators: short(graph.nodes.flatMap((node) => (node.kind === 'call' ? [node.target] : [])).join(' ')),
    ...Object.fromEntries(changed),
  };
}

/** `x: f32[4, 40]`. */
const describe = (node: Graph['nodes'][number]): string =>
  printNode(node).replace(/^%\d+ : (.*) = placeholder\((.*?)\).*$/s, '$2: $1');

const mostText = 500;

/** A part as text; the beginning of a long one, and the digest of all of it. */
function short(part: unknown): string {
  const text = typeof part === 'string' ? part : stableStringify(part);
  return text.length <= mostText ? text : `${text.slice(0, mostText)}... ${stableHash(text).slice(0, 16)}`;
}

/** Nodes without where they came from, but for the marks by which a graph is partitioned; checkpoints are counted as they come. */
function keyedNodes({ nodes }: Graph): readonly unknown[] {
  const regions = new Map<number, number>();
  return nodes.map((node) => {
    const { pass, region } = node.origin;
    if (pass === undefined && region === undefined) return { ...node, origin: undefined };
    if (region !== undefined && !regions.has(region)) regions.set(region, regions.size);
    return { ...node, origin: { pass, region: region === undefined ? undefined : regions.get(region) } };
  });
}
