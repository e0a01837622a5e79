// Measured fusion: clusters that could be one kernel are timed as one and apart, each as a small program of their own whose
// inputs are what they read and whose results are what others need of them. The clock is not here: `Measure` comes from
// whoever can build and run a schedule, and only where the settings ask for it.
import type { Config } from '@tsinductor/config';
import type { BufferDecl, BufferId, LoopProgram, Schedule } from '@tsinductor/ir';
import type { Cluster } from './cluster.ts';
import { factsOf } from './facts.ts';
import type { Facts } from './facts.ts';
import { groupNaming } from './group-names.ts';
import { makeGroup } from './make-group.ts';
import { planMemory } from './memory-plan.ts';
import { buffersRead } from './node-access.ts';

/** Milliseconds of a run of each of several schedules; or why they could not be timed. */
export type Timed = { readonly times: readonly number[] } | { readonly failure: string };

/** Times schedules of the same nodes, without symbolic sizes, beside each other; where nothing may run, only what was measured before counts. */
export type Measure = (plans: readonly Schedule[], mayRun: boolean) => Timed;

/** Whether a clock may run for matrix products at all. */
export const mayTimeProducts = ({ forceProfile, disableProfilerCodegen, ciFlag }: Config): boolean =>
  forceProfile || (!disableProfilerCodegen && ciFlag === null);

/** Whether a clock decides of a product and what follows it: now, or before, where the policy is to measure nothing. */
export const timesEpilogues = (config: Config): boolean =>
  config.maxAutotuneGemm && config.benchmarkEpilogueFusion && mayTimeProducts(config);

/** Whether clusters are to be one kernel, and what a decision says of that; nothing where no clock was asked. */
interface Verdict {
  readonly isJoined: boolean;
  readonly says: string | undefined;
}

interface Ways {
  readonly together: Combinations;
  readonly apart: Combinations;
}

interface Deciding {
  /** By how much less time, as a part of it, several kernels have to take. Default: 0. */
  readonly leastGain?: number;
  /** Default: true. */
  readonly mayRun?: boolean;
}

type Combinations = readonly (readonly Cluster[])[];

export class FusionTrial {
  readonly #facts: Facts;
  readonly #config: Config;
  readonly #measure: Measure;

  constructor(facts: Facts, config: Config, measure: Measure) {
    this.#facts = facts;
    this.#config = config;
    this.#measure = measure;
  }

  /**
   * One kernel unless several take less time, by more than `leastGain` of it. What has no times is one, as without a clock: sizes
   * that are only known at a call, and code that cannot be built or run.
   */
  decide({ together, apart }: Ways, { leastGain = 0, mayRun = true }: Deciding = {}): Verdict {
    if (this.#facts.program.sizes.length > 0) return { isJoined: true, says: undefined };
    const timed = this.#measure(
      [together, apart].map((way) => this.#planOf(way)),
      mayRun,
    );
    if ('failure' in timed) return { isJoined: true, says: `not measured: ${timed.failure}` };
    const [one = 0, several = 0] = timed.times;
    const says = `measured ${milliseconds(one)} as one kernel, ${milliseconds(several)} apart`;
    return { isJoined: one <= several * (1 + leastGain), says };
  }

  #planOf(combinations: Combinations): Schedule {
    const { clusters, program } = this.#alone(combinations);
    const facts = factsOf(program, program.nodes);
    const nameOf = groupNaming(this.#config, facts);
    const making = { facts, nameOf, pickOrder: this.#config.pickLoopOrders };
    const groups = clusters.map((all, id) => makeGroup(all, { ...making, id }));
    const { buffers, workspaceBytes } = planMemory(program, groups, { config: this.#config, before: groups });
    return { program, groups, buffers, workspaceBytes, decisions: [] };
  }

  /** The clusters as all of a program. */
  #alone(combinations: Combinations): { readonly clusters: Combinations; readonly program: LoopProgram } {
    const members = combinations.flat().flatMap(({ nodes }) => nodes);
    const order = members.map(({ position }) => position).sort((a, b) => a - b);
    const inside = new Set(order);
    const clusters = combinations.map((all) =>
      all.map((cluster) => ({
        ...cluster,
        nodes: cluster.nodes.map(({ node, position }) => ({ node, position: order.indexOf(position) })),
      })),
    );
    const nodes = clusters
      .flat()
      .flatMap((cluster) => cluster.nodes)
      .sort((a, b) => a.position - b.position)
      .map(({ node }) => node);
    const used = new Set<BufferId>(nodes.flatMap((node) => [...node.outs, ...buffersRead(node)]));
    const buffers = this.#facts.program.buffers
      .filter(({ id }) => used.has(id))
      .map((decl) => ({ ...decl, role: this.#roleOf(decl, inside) }));
    const idsOf = (role: BufferDecl['role']): readonly BufferId[] =>
      buffers.filter((decl) => decl.role === role).map(({ id }) => id);
    return {
      clusters,
      program: { ...this.#facts.program, nodes, buffers, inputs: idsOf('input'), outputs: idsOf('output') },
    };
  }

  /** What a buffer is to these nodes alone. */
  #roleOf({ id, role }: BufferDecl, inside: ReadonlySet<number>): BufferDecl['role'] {
    if (role === 'constant') return role;
    if (!this.#facts.writers(id).some((position) => inside.has(position))) return 'input';
    return role === 'output' || !this.#facts.readers(id).every((position) => inside.has(position)) ? 'output' : role;
  }
}

const milliseconds = (time: number): string => `${time.toPrecision(3)} ms`;
