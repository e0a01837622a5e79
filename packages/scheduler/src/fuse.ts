// Greedy fusion. Every node starts as a cluster of its own; then, in program order, each is joined with the clusters
// that make what it reads, the largest value first; then clusters that read the same buffer in the same way, or at least
// have the same loops, and at last those that can have a part of another's. A join has to be legal (no path from one to the
// other but the direct one, aligned loops, no value crossing iterations), within the limits, and good in the eyes of the choices.
import { at, dtypeInfo } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import { add, equal, int, multiply, printIndex, product } from '@tsinductor/ir';
import type { Axis, BufferId, Decision, Index, LoopNode } from '@tsinductor/ir';
import type { Choices } from './choices.ts';
import { joinClusters, refusal, singleCluster, success } from './cluster.ts';
import type { Cluster, Joining, Link, Outcome } from './cluster.ts';
import { DependencePaths } from './dependence-paths.ts';
import { isEmptyAxis } from './empty-nodes.ts';
import { hasProduct, refuseLoopsBesideProduct, refuseWithProduct, scalesWholeNumbers } from './epilogue.ts';
import type { Facts } from './facts.ts';
import { timesEpilogues } from './fusion-trial.ts';
import type { FusionTrial } from './fusion-trial.ts';
import { GroupLimits, isInside, readsPartsOf } from './group-limits.ts';
import { bodyReads, buffersRead } from './node-access.ts';
import { placeStages } from './stages.ts';
import { widenCluster } from './widen.ts';

interface Fused {
  readonly clusters: readonly Cluster[];
  readonly decisions: readonly Decision[];
  /** How often two clusters were tried as one. */
  readonly pairs: number;
}

interface FusionOptions {
  readonly config: Config;
  readonly choices: Choices;
  /** Times what would be joined; a join that makes it slower is not made. */
  readonly trial: FusionTrial | undefined;
}

export function fuseNodes(nodes: readonly LoopNode[], facts: Facts, options: FusionOptions): Fused {
  const fusion = new Fusion(nodes, facts, options);
  joinAll(fusion, { nodes, facts, config: options.config });
  // What is computed again follows those that compute it the first time.
  if (nodes.some(({ again }) => again !== undefined)) joinAll(fusion.again(), { nodes, facts, config: options.config });
  return fusion.finish();
}

function joinAll(
  fusion: Fusion,
  { nodes, facts, config }: { nodes: readonly LoopNode[]; facts: Facts; config: Config },
): void {
  if (config.epilogueFusionFirst) fusion.joinEpilogues();
  nodes.forEach((_, position) => {
    fusion.joinMakers(position);
  });
  for (const { id } of facts.program.buffers) fusion.joinReaders(id);
  if (config.aggressiveFusion) fusion.joinEqualLoops();
  // What runs in a part of another's loops joins nothing else: this comes last.
  if (config.expandDimensionForPointwiseNodes) for (const { id } of facts.program.buffers) fusion.joinWidened(id);
}

/** A product that is stored and read again is hardly ever faster: less of a difference is the clock's. */
const leastEpilogueGain = 0.03;

interface Pair {
  readonly left: number;
  readonly right: number;
}

class Fusion {
  readonly #nodes: readonly LoopNode[];
  readonly #facts: Facts;
  readonly #config: Config;
  readonly #choices: Choices;
  readonly #trial: FusionTrial | undefined;
  readonly #clusters: Cluster[];
  readonly #paths: DependencePaths;
  readonly #limits: GroupLimits;
  /** By pairs of positions: the last reason why they were not joined. */
  readonly #refusals = new Map<string, Pair & { readonly reason: string }>();
  readonly #fused: { readonly position: number; readonly reason: string; readonly bytes: Index }[] = [];
  #axes = 0;
  #pairs = 0;
  /** Whether it is the turn of what is computed again, or of everything else. */
  #isAgain = false;

  constructor(nodes: readonly LoopNode[], facts: Facts, { config, choices, trial }: FusionOptions) {
    this.#nodes = nodes;
    this.#facts = facts;
    this.#config = config;
    this.#choices = choices;
    this.#trial = trial;
    this.#clusters = nodes.map(singleCluster);
    this.#limits = new GroupLimits(nodes, facts, config);
    this.#paths = new DependencePaths({ nodes, facts, clusterAt: (position) => at(this.#clusters, position) });
  }

  /** Goes on with what is computed again. */
  again(): this {
    this.#isAgain = true;
    return this;
  }

  /** Joins the cluster of the node at a position with those that make what it reads. */
  joinMakers(position: number): void {
    const made = this.#facts.reads(position).filter((buffer) => this.#facts.writers(buffer).length > 0);
    for (const buffer of this.#bySize(made)) {
      for (const left of this.#facts.writers(buffer)) this.#tryFlow({ left, right: position }, buffer);
    }
  }

  /** Joins what reads a matrix product to it. */
  joinEpilogues(): void {
    this.#nodes.forEach((node, left) => {
      if (node.kind !== 'contract') return;
      for (const buffer of node.outs)
        for (const right of this.#facts.readers(buffer)) this.#tryFlow({ left, right }, buffer);
    });
  }

  /** Joins clusters that read a buffer in the same way, or have the same loops. */
  joinReaders(buffer: BufferId): void {
    const readers = this.#facts.readers(buffer).filter((reader) => at(this.#nodes, reader).kind !== 'contract');
    const attempts = this.#config.maxFusionBufferGroupPairwiseAttempts;
    readers.forEach((left, index) => {
      for (const right of readers.slice(index + 1, index + 1 + attempts)) {
        const isJoined = this.#trySiblings({ left, right }, { kind: 'share', buffer });
        if (!isJoined) this.#trySiblings({ left, right }, { kind: 'space' });
      }
    });
  }

  /** Joins pointwise clusters of as many points, whatever they read. */
  joinEqualLoops(): void {
    const bySize = new Map<string, number[]>();
    this.#clusters.forEach((cluster, position) => {
      if (!cluster.elementwise || at(cluster.nodes, 0).position !== position) return;
      const size = printIndex(product(cluster.outer.map((axis) => axis.extent)));
      bySize.set(size, [...(bySize.get(size) ?? []), position]);
    });
    for (const positions of bySize.values()) {
      positions.forEach((left, index) => {
        for (const right of positions.slice(index + 1, index + 1 + this.#config.cpp.maxHorizontalFusionSize))
          this.#trySiblings({ left, right }, { kind: 'space' });
      });
    }
  }

  /** Joins small pointwise clusters to larger ones that read a buffer at their first points, as these read all of it. */
  joinWidened(buffer: BufferId): void {
    const readers = this.#facts.readers(buffer);
    readers.forEach((left, index) => {
      for (const right of readers.slice(index + 1, index + 1 + this.#config.maxFusionBufferGroupPairwiseAttempts)) {
        this.#tryWidened({ left, right }, buffer);
        this.#tryWidened({ left: right, right: left }, buffer);
      }
    });
  }

  finish(): Fused {
    const clusters = [...new Set(this.#clusters)];
    const fused = this.#fused.map(({ position, reason, bytes }): Decision => {
      const nodes = at(this.#clusters, position).nodes.map(({ node }) => this.#facts.nameOf(node));
      return { kind: 'fused', nodes, reason, bytesSaved: printIndex(bytes) };
    });
    const rejected = [...this.#refusals.values()]
      .filter(({ left, right }) => at(this.#clusters, left) !== at(this.#clusters, right))
      .map(({ left, right, reason }): Decision => ({
        kind: 'rejected',
        nodes: [left, right].map((position) => this.#facts.nameOf(at(this.#nodes, position))),
        reason,
      }));
    return { clusters, decisions: [...fused, ...rejected], pairs: this.#pairs };
  }

  #tryFlow({ left, right }: Pair, buffer: BufferId): void {
    const [a, b] = [at(this.#clusters, left), at(this.#clusters, right)];
    if (a === b || !this.#isTurnOf(a, b)) return;
    const joined = this.#join(a, b, { kind: 'flow', buffer });
    const { name } = this.#facts.decl(buffer);
    const tried = joined.ok ? this.#try(joined.value, a, b) : joined;
    if (tried.ok) {
      const { joined: cluster, note } = tried.value;
      this.#take(cluster, right, { reason: `${name} is used where it is made${note}`, bytes: this.#bytes(buffer) });
    } else this.#refusals.set(`${String(left)} ${String(right)}`, { left, right, reason: `${name}: ${tried.reason}` });
  }

  /** Whether the two are one cluster now. What siblings could not share is not worth a line. */
  #trySiblings({ left, right }: Pair, link: Link): boolean {
    const [a, b] = [at(this.#clusters, left), at(this.#clusters, right)];
    if (a === b) return true;
    if (!this.#isTurnOf(a, b)) return false;
    if (link.kind === 'space' && !(a.elementwise && b.elementwise)) return false;
    const nodes = a.nodes.length + b.nodes.length;
    if (this.#choices.refuseSiblings({ nodes, sharedBytes: Infinity }) !== undefined) return false;
    const joined = this.#join(a, b, link);
    if (!joined.ok) return false;
    const shared = this.#sharedReads(joined.value, a);
    if (this.#choices.refuseSiblings({ nodes, sharedBytes: numberOf(shared) }) !== undefined) return false;
    const tried = this.#try(joined.value, a, b);
    if (!tried.ok) {
      this.#refusals.set(`${String(left)} ${String(right)}`, { left, right, reason: tried.reason });
      return false;
    }
    const reason =
      link.kind === 'share'
        ? `${this.#facts.decl(link.buffer).name} is read once for both`
        : 'their loops are the same';
    this.#take(tried.value.joined, right, { reason: `${reason}${tried.value.note}`, bytes: shared });
    return true;
  }

  /** The joined cluster with what was measured of it, where measuring is asked for and finds it no slower. */
  #try(joined: Cluster, a: Cluster, b: Cluster): Outcome<{ readonly joined: Cluster; readonly note: string }> {
    const { benchmarkFusion, autotunePolicy } = this.#config;
    const isTimed = benchmarkFusion || (hasProduct(joined) && timesEpilogues(this.#config));
    const ways = { together: [[joined]], apart: [[a], [b]] };
    const how = { leastGain: leastEpilogueGain, mayRun: autotunePolicy === 'autotune' };
    const verdict =
      isTimed && !this.#isForced(a, b) ? this.#trial?.decide(ways, benchmarkFusion ? {} : how) : undefined;
    if (verdict?.says === undefined) return success({ joined, note: '' });
    return verdict.isJoined ? success({ joined, note: `; ${verdict.says}` }) : refusal(verdict.says);
  }

  #take(joined: Cluster, position: number, why: { readonly reason: string; readonly bytes: Index }): void {
    for (const member of joined.nodes) this.#clusters[member.position] = joined;
    this.#paths.add(joined);
    this.#fused.push({ position, ...why });
  }

  #join(a: Cluster, b: Cluster, link: Link): Outcome<Cluster> {
    this.#pairs += 1;
    const obstacle = this.#obstacle(a, b, link);
    if (obstacle !== undefined) return refusal(obstacle);
    const joined = joinClusters(a, b, { link, ...this.#freedom });
    if (!joined.ok) return joined;
    const beside = refuseLoopsBesideProduct(joined.value);
    if (beside !== undefined) return refusal(beside);
    const reason = this.#choices.refuseGroup(joined.value, placeStages(joined.value));
    return reason === undefined ? success(joined.value) : refusal(reason);
  }

  /** The one at `left` in the loops of the one at `right`. */
  #tryWidened({ left, right }: Pair, buffer: BufferId): void {
    const [small, large] = [at(this.#clusters, left), at(this.#clusters, right)];
    const nodes = small.nodes.length + large.nodes.length;
    const shared = this.#bytes(buffer);
    if (
      small === large ||
      !this.#isTurnOf(small, large) ||
      this.#choices.refuseSiblings({ nodes, sharedBytes: numberOf(shared) }) !== undefined
    )
      return;
    const joined = this.#widen(small, large, buffer);
    const tried = joined.ok ? this.#try(joined.value, small, large) : joined;
    if (!tried.ok) return;
    const { name } = this.#facts.decl(buffer);
    const reason = `${name} is read once for both, of which the smaller runs in the first points of the loops`;
    this.#take(tried.value.joined, right, { reason: `${reason}${tried.value.note}`, bytes: shared });
  }

  #widen(small: Cluster, large: Cluster, buffer: BufferId): Outcome<Cluster> {
    this.#pairs += 1;
    const obstacle = this.#obstacle(small, large, { kind: 'share', buffer });
    if (obstacle !== undefined) return refusal(obstacle);
    const moved = [...new Set(small.nodes.flatMap(({ node }) => [...node.outs, ...buffersRead(node)]))];
    if (numberOf(moved.map((id) => this.#bytes(id)).reduce(add, int(0))) > this.#config.smallMemoryAccessThreshold)
      return refusal('the smaller moves more bytes than smallMemoryAccessThreshold');
    // Its loops are cut: what passes between its nodes would pass in each part of them.
    if (large.nodes.some(({ node }) => node.outs.some((out) => isInside(out, large.nodes, this.#facts))))
      return refusal('the larger keeps values to itself');
    return widenCluster(small, large, { buffer, ...this.#freedom });
  }

  /**
   * Whether the two may be one now. What is computed again shares loops where that did which computed it the first time: so sums add
   * numbers in the same order both times.
   */
  #isTurnOf(a: Cluster, b: Cluster): boolean {
    const [first, second] = [this.#firstTime(a), this.#firstTime(b)];
    if (!this.#isAgain) return first === undefined && second === undefined;
    return first !== undefined && first !== 'nowhere' && first === second;
  }

  /** The cluster that computed the first time what this one computes again; undefined: it is the first time. */
  #firstTime({ nodes }: Cluster): Cluster | 'nowhere' | undefined {
    const { again } = at(nodes, 0).node;
    if (again === undefined) return undefined;
    const [writer] = this.#facts.writers(again);
    return writer === undefined ? 'nowhere' : at(this.#clusters, writer);
  }

  get #freedom(): Omit<Joining, 'link'> {
    return {
      fresh: (extent) => this.#freshAxis(extent),
      maySplit: this.#config.loopIndexInversionInFusion,
      mayReorder: this.#config.loopOrderingAfterFusion,
    };
  }

  #isForced(a: Cluster, b: Cluster): boolean {
    return this.#config.forceFuseIntMmWithMul && scalesWholeNumbers(a, b);
  }

  /** What keeps two clusters apart whatever their loops are. */
  #obstacle(a: Cluster, b: Cluster, link: Link): string | undefined {
    const { kind } = link;
    // What stays alone is in no cluster of several.
    const alone = aloneBecause(at(a.nodes, 0).node) ?? aloneBecause(at(b.nodes, 0).node);
    if (alone !== undefined) return alone;
    const isAllowed = this.#config.epilogueFusion || this.#isForced(a, b);
    const product = refuseWithProduct(a, b, { link, isAllowed });
    if (product !== undefined) return product;
    const large = this.#limits.refuse(a, b);
    if (large !== undefined) return large;
    if (readsPartsOf(a, b, this.#facts) || readsPartsOf(b, a, this.#facts))
      return 'what one reads, the other writes only a part of';
    const isApart = kind !== 'flow';
    return this.#paths.has({ from: a, to: b, direct: isApart }) ||
      (isApart && this.#paths.has({ from: b, to: a, direct: true }))
      ? 'another group has to run between them'
      : undefined;
  }

  /** Bytes of buffers that both sides of a join read at the same places. */
  #sharedReads(joined: Cluster, left: Cluster): Index {
    const positions = new Set(left.nodes.map(({ position }) => position));
    const reads = joined.nodes.map(({ node, position }) => ({
      isLeft: positions.has(position),
      reads: bodyReads(node),
    }));
    const ours = reads.filter(({ isLeft }) => isLeft).flatMap((side) => side.reads);
    const theirs = reads.filter(({ isLeft }) => !isLeft).flatMap((side) => side.reads);
    const both = theirs.filter((read) => ours.some((own) => own.buffer === read.buffer && equal(own.at, read.at)));
    return [...new Set(both.map(({ buffer }) => buffer))].map((id) => this.#bytes(id)).reduce(add, int(0));
  }

  /** Larger buffers first; those of unknown size before all, in the order given. */
  #bySize(buffers: readonly BufferId[]): readonly BufferId[] {
    const size = (buffer: BufferId): number => numberOf(this.#bytes(buffer));
    return [...buffers].sort((a, b) => (size(a) === size(b) ? 0 : size(b) - size(a)));
  }

  #bytes(buffer: BufferId): Index {
    const { size, dtype } = this.#facts.decl(buffer);
    return multiply(size, int(dtypeInfo[dtype].bytes));
  }

  #freshAxis(extent: Index): Axis {
    const name = `f${String(this.#axes)}`;
    this.#axes += 1;
    return { name, extent };
  }
}

const numberOf = (index: Index): number => (index.kind === 'int' ? index.value : Infinity);

/** Kinds of nodes that are kernels of their own. */
function aloneBecause(node: LoopNode): string | undefined {
  if (node.axes.some(isEmptyAxis)) return 'it is empty';
  switch (node.kind) {
    case 'map':
    case 'reduce':
    case 'scan':
    case 'contract':
      return undefined;
    case 'scatter':
      return 'a scatter is a kernel of its own';
    case 'sort':
      return 'a sort is a kernel of its own';
  }
}
