// From a built artifact to what runs it. In: the traced graph, the verified library with its plan, and what it was made for.
// Out: an executable with its report.
import type { Config } from '@tsinductor/config';
import { optimize, printGraph } from '@tsinductor/graph';
import type { CheckSite } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import type { Artifact } from './artifacts.ts';
import type { Executable } from '../run/executable.ts';
import type { NativeMachine } from './machine.ts';
import { NativeExecutable } from '../run/native-executable.ts';
import { openProfile, reported } from '../profile/open-profile.ts';
import type { ProfileSurroundings } from '../profile/open-profile.ts';
import type { TracedGraph } from '../session.ts';

export interface Loading extends ProfileSurroundings {
  readonly native: NativeMachine;
  readonly config: Config;
  /** The cache key. */
  readonly key: string;
  readonly origin: 'built' | 'disk';
  /** When it was asked for, by `performance.now`. */
  readonly started: number;
}

export function loadNative({ graph, primitives }: TracedGraph, artifact: Artifact, loading: Loading): Executable {
  const { plan } = artifact;
  const { native, config } = loading;
  const entry = native.bridge.load(artifact.library, plan.entry);
  // A cached plan may be older than the user's lines: where a check failed is asked of this graph.
  const siteOf = (site: number): CheckSite | undefined => lowerGraph(optimize(primitives)).sites[site];
  const profile = openProfile(plan, config, loading);
  const { bridge, threads } = native;
  return new NativeExecutable(plan, { bridge, entry, threads, siteOf, sizeAsserts: config.sizeAsserts, profile }, {
    runsOn: `native code for ${native.isa}, ${String(threads)} threads`,
    graph: printGraph(graph),
    loopNodes: plan.loopNodes,
    kernels: plan.kernels,
    decisions: plan.decisions,
    source: artifact.source,
    cacheKey: loading.key,
    origin: loading.origin,
    milliseconds: performance.now() - loading.started,
    ...(plan.workspaceBytes.kind === 'int' ? { workspaceBytes: plan.workspaceBytes.value } : {}),
    ...(plan.temporaries === undefined ? {} : { temporaries: plan.temporaries }),
    ...(profile === undefined || !config.profileBandwidth
      ? {}
      : { timings: () => reported(profile.timings(), config) }),
  }); // prettier-ignore
}
