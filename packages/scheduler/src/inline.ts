// Map nodes whose values are computed inside their readers. First every producer is judged, in order, with the cost of
// what it has taken in itself; then each remaining node is rebuilt once, with all of its producers in place, so that the
// work is linear in what comes out.
//
// In: a program's nodes with normalised axes. Out: those that remain, and the decisions.
import { at, dtypeInfo, get } from '@tsinductor/base';
import { denseLayout, loadsOf, pointAt, printIndex, replayBody } from '@tsinductor/ir';
import type {
  BufferId,
  Decision,
  DenseLayout,
  Load,
  LoopNode,
  MapNode,
  Origin,
  Replay,
  ScalarId,
  BodyBuilder,
} from '@tsinductor/ir';
import type { Choices } from './choices.ts';
import type { Facts } from './facts.ts';
import { bodyCost, cannotInline, joinCosts } from './inline-policy.ts';
import type { Candidate, Cost } from './inline-policy.ts';
import { keepingChecks } from './keeping-checks.ts';
import { maskedPoint } from './masked-point.ts';
import { pointBody, replayWriting, withPointBody } from './node-access.ts';
import type { Store } from './node-access.ts';
import { withWaitsMoved } from './waits.ts';

interface InlineOptions {
  readonly choices: Pick<Choices, 'inline'>;
  /** Round values of f16 and bf16 as if they had been stored. */
  readonly keepRounding: boolean;
}

export interface Inlined {
  readonly nodes: readonly LoopNode[];
  readonly decisions: readonly Decision[];
}

/** A producer that is not stored. */
interface Taken {
  readonly node: MapNode;
  /** How its write is inverted: at which point it computes what is read. */
  readonly layout: DenseLayout;
}

export function inlineProducers(nodes: readonly LoopNode[], facts: Facts, options: InlineOptions): Inlined {
  const decisions: Decision[] = [];
  const taken = new Map<BufferId, Taken>();
  const costs = new Map<BufferId, Cost>();
  const repeated = repeatedValues(nodes, facts);
  for (const node of nodes) {
    if (node.kind !== 'map') continue;
    const buffer = at(node.outs, 0);
    const cost = totalCost(node, costs);
    if (node.outs.length > 1 || facts.decl(buffer).role !== 'temporary' || facts.isInParts(buffer)) continue;
    const readers = facts.readers(buffer).map((position) => at(nodes, position));
    if (readers.length === 0) continue;
    const bytesRead = bytesOf(cost.reads, facts);
    const candidate = { producer: node, buffer, cost, bytesRead, readers, isRepeated: repeated.has(buffer) };
    const isKept = readers.length > 1 && readers.some((reader) => isPart(reader, facts));
    const judged: Judged = isKept ? { reason: 'a reader stores it as it is' } : judge(candidate, options.choices);
    const names = readers.map((reader) => facts.nameOf(reader));
    if (judged.layout !== undefined) {
      taken.set(buffer, { node, layout: judged.layout });
      costs.set(buffer, cost);
      decisions.push({ kind: 'inlined', producer: facts.nameOf(node), consumers: names, reason: judged.reason });
    } else {
      decisions.push({
        kind: 'rejected',
        nodes: [facts.nameOf(node), ...names],
        reason: `not inlined: ${judged.reason}`,
      });
    }
  }
  const rebuild = new Rebuilding(taken, facts, options);
  const remaining = nodes.filter((node) => !node.outs.some((out) => taken.has(out)));
  const makers = new Map([...taken].map(([buffer, { node }]) => [buffer, node]));
  return {
    nodes: withWaitsMoved(
      remaining.map((node) => rebuild.node(node)),
      makers,
    ),
    decisions,
  };
}

/** Values that are computed twice, both times, where the second is read by what is no second time itself. */
function repeatedValues(nodes: readonly LoopNode[], facts: Facts): ReadonlySet<BufferId> {
  const readersOf = ({ outs }: LoopNode): readonly LoopNode[] =>
    outs.flatMap((out) => facts.readers(out).map((position) => at(nodes, position)));
  const isRead = (node: LoopNode): boolean => readersOf(node).some(({ again }) => again === undefined);
  return new Set(nodes.flatMap((node) => (node.again !== undefined && isRead(node) ? [node.again, ...node.outs] : [])));
}

/** Why a producer is inlined or not; with the layout of its write where it is. */
function judge(candidate: Candidate, choices: InlineOptions['choices']): Judged {
  const obstacle = cannotInline(candidate);
  if (obstacle !== undefined) return { reason: obstacle };
  const { axes, writes } = candidate.producer;
  const layout = denseLayout({ axes, write: at(writes, 0) });
  if (layout === undefined) return { reason: 'its elements are not written in a dense order' };
  const { inline, reason } = choices.inline(candidate);
  return inline ? { reason, layout } : { reason };
}

/** Whether a node copies what it reads to its part of a buffer: then the value is stored, and others read it beside that. */
const isPart = (node: LoopNode, facts: Facts): boolean =>
  node.kind === 'map' &&
  facts.isInParts(at(node.outs, 0)) &&
  at(node.body.nodes, at(node.body.results, 0)).kind === 'load';

interface Judged {
  readonly reason: string;
  readonly layout?: DenseLayout;
}

function bytesOf(buffers: ReadonlySet<BufferId>, facts: Facts): number {
  return [...buffers].reduce((sum, buffer) => {
    const { size, dtype } = facts.decl(buffer);
    return sum + (size.kind === 'int' ? size.value * dtypeInfo[dtype].bytes : Infinity);
  }, 0);
}

/** What the node's own body costs, and what it takes in. */
function totalCost(node: MapNode, costs: ReadonlyMap<BufferId, Cost>): Cost {
  const own = bodyCost(node.body);
  const start: Cost = { ...own, reads: new Set([...own.reads].filter((buffer) => !costs.has(buffer))) };
  const inlined = loadsOf(node.body).flatMap(({ buffer }) => (costs.has(buffer) ? [get(costs, buffer)] : []));
  return inlined.reduce(joinCosts, start);
}

class Rebuilding {
  readonly #taken: ReadonlyMap<BufferId, Taken>;
  readonly #facts: Facts;
  readonly #options: InlineOptions;
  #origins: Origin[] = [];
  /** What loads became in the body that is being built: a value that several producers read is built once. */
  #values = new Map<string, ScalarId>();

  constructor(taken: ReadonlyMap<BufferId, Taken>, facts: Facts, options: InlineOptions) {
    this.#taken = taken;
    this.#facts = facts;
    this.#options = options;
  }

  node(node: LoopNode): LoopNode {
    const body = pointBody(node);
    const reads = body === undefined ? [] : loadsOf(body);
    if (body === undefined || !reads.some(({ buffer }) => this.#taken.has(buffer))) return node;
    this.#origins = [];
    this.#values = new Map();
    const { outs } = node;
    const store: Store = (builder, id, slot) =>
      carriesOuts(node) ? builder.cast(id, this.#facts.decl(at(outs, slot)).dtype) : id;
    const rebuilt = replayWriting({ body, writes: node.writes }, this.#replay({}), store);
    const origins = uniqueOrigins([...this.#origins, ...node.origins]);
    return { ...withPointBody(node, rebuilt.body), writes: rebuilt.writes, origins };
  }

  /** A replay that puts producers in the place of loads. */
  #replay(at_: Pick<Replay, 'map' | 'mask'>): Replay {
    return { ...at_, load: (load, builder) => this.#valueOf(load, builder) };
  }

  #valueOf(load: Load, builder: BodyBuilder): ScalarId | undefined {
    const taken = this.#taken.get(load.buffer);
    if (taken === undefined) return undefined;
    const { mask, other } = load;
    const key = `${String(load.buffer)} ${String(mask)} ${String(other)} ${printIndex(load.at)}`;
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const value = this.#build(load, taken, builder);
    this.#values.set(key, value);
    return value;
  }

  #build({ at: place, mask, other, dtype }: Load, { node: producer, layout }: Taken, builder: BodyBuilder): ScalarId {
    this.#origins.push(...producer.origins);
    const map = mask === undefined ? pointAt(layout, place) : maskedPoint(layout, place, { builder, mask });
    const { results } = replayBody(
      producer.body,
      builder,
      this.#replay({ map, ...(mask === undefined ? {} : { mask }) }),
    );
    const value = keepingChecks(builder, place, this.#unrounded(builder, at(results, 0)));
    if (mask === undefined) return this.#options.keepRounding ? builder.cast(value, dtype) : value;
    const { compute } = dtypeInfo[builder.dtypeOf(value)];
    const chosen = builder.apply('where', [
      mask,
      builder.cast(value, compute),
      other === undefined ? builder.constant(0, compute) : builder.cast(other, compute),
    ]);
    return this.#options.keepRounding ? builder.cast(chosen, dtype) : chosen;
  }

  /** A value of f16 or bf16 before it was rounded: its reader casts it to f32 anyway. */
  #unrounded(builder: BodyBuilder, id: ScalarId): ScalarId {
    const node = builder.node(id);
    const { compute } = dtypeInfo[node.dtype];
    if (this.#options.keepRounding || compute === node.dtype || node.kind !== 'cast') return id;
    return builder.dtypeOf(node.value) === compute ? node.value : id;
  }
}

/** Whether the results of the node's point body are what it stores (and not a state). */
const carriesOuts = (node: LoopNode): boolean => node.kind === 'map' || node.kind === 'scatter';

function uniqueOrigins(origins: readonly Origin[]): readonly Origin[] {
  const known = new Map<string, Origin>();
  for (const origin of origins) {
    const { location } = origin;
    const key = `${origin.op} ${location === undefined ? '' : `${location.file}:${String(location.line)}:${String(location.column)}`}`;
    if (!known.has(key)) known.set(key, origin);
  }
  return [...known.values()];
}
