// Under what compiled graphs are kept. In: a graph as traced, the machine, the settings, the compiler. Out: a digest.
import { stableHash } from '@tsinductor/base';
import { fingerprint, withConfig } from '@tsinductor/config';
import type { Config } from '@tsinductor/config';
import type { Graph } from '@tsinductor/graph';
import { buildFingerprint } from './build-fingerprint.ts';
import type { NativeMachine } from './machine.ts';
import { planFormat } from '../run/plan.ts';

interface KeyContext {
  readonly native: NativeMachine;
  readonly config: Config;
  /** Of the compiler that generates the code (default: this one). */
  readonly build?: string;
}

/**
 * Covers everything that decides the code: the graph, settings, both compilers, CPU, caches, threads. Where the user wrote it does not:
 * moving a function in its file must not compile it again. Nor must the number of threads that run it, under
 * `cpp.dynamicThreads`.
 */
export function graphKey(graph: Graph, { native, config, build = buildFingerprint }: KeyContext): string {
  return stableHash({
    format: planFormat,
    build,
    graph: { ...graph, nodes: keyedNodes(graph) },
    config: fingerprint(config.cpp.dynamicThreads ? withConfig(config, { cpp: { threads: -1 } }) : config),
    compiler: native.toolchain.fingerprint,
    cpu: native.isaReport.cpu,
    isa: native.isa,
    caches: native.caches,
    threads: native.codeThreads,
  });
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
