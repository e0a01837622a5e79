// Under what compiled graphs are kept. In: a graph as traced, the machine, the settings. Out: a digest.
import { stableHash } from '@tsinductor/base';
import { fingerprint, withConfig } from '@tsinductor/config';
import type { Config } from '@tsinductor/config';
import type { Graph } from '@tsinductor/graph';
import type { NativeMachine } from './machine.ts';
import { planFormat } from './plan.ts';

/**
 * Covers everything that decides the code: the graph, settings, compiler, CPU, threads. Where the user wrote it does not:
 * moving a function in its file must not compile it again. Nor must the number of threads that run it, under
 * `cpp.dynamicThreads`.
 */
export function graphKey(graph: Graph, native: NativeMachine, config: Config): string {
  return stableHash({
    format: planFormat,
    graph: { ...graph, nodes: graph.nodes.map((node) => ({ ...node, origin: undefined })) },
    config: fingerprint(config.cpp.dynamicThreads ? withConfig(config, { cpp: { threads: -1 } }) : config),
    compiler: native.toolchain.fingerprint,
    cpu: native.isaReport.cpu,
    isa: native.isa,
    threads: native.codeThreads,
  });
}
