// Map nodes whose values are computed inside their readers. First every producer is judged, in order, with the cost of
// what it has taken in itself; then each remaining node is rebuilt once, with all of its producers in place, so that the
// work is linear in what comes out.
//
// In: a program's nodes with normalised axes. Out: those that remain, and the decisions.
import { at, dtypeInfo, get, invariant } from '@tsinductor/base';
import { loadsOf, producingPoint, replayBody } from '@tsinductor/ir';
import type {
  BufferId,
  Decision,
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
import type { Cost, Verdict } from './inline-policy.ts';
import { maskedPoint } from './masked-point.ts';
import { pointBody, replayWriting, withPointBody } from './node-access.ts';
import type { Store } from './node-access.ts';

export interface InlineOptions {
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
}

export function inlineProducers(nodes: readonly LoopNode[], facts: Facts, options: InlineOptions): Inlined {
  const decisions: Decision[] = [];
  const taken = new Map<BufferId, Taken>();
  const costs = new Map<BufferId, Cost>();
  for (const node of nodes) {
    if (node.kind !== 'map') continue;
    const buffer = at(node.outs, 0);
    const cost = totalCost(node, costs);
    if (node.outs.length > 1 || facts.decl(buffer).role !== 'temporary') continue;
    const readers = facts.readers(buffer).map((position) => at(nodes, position));
    if (readers.length === 0) continue;
    const bytesRead = bytesOf(cost.reads, facts);
    const candidate = { producer: node, buffer, cost, bytesRead, readers };
    const obstacle = cannotInline(candidate);
    const verdict: Verdict =
      obstacle === undefined ? options.choices.inline(candidate) : { inline: false, reason: obstacle };
    const names = readers.map((reader) => facts.nameOf(reader));
    if (verdict.inline) {
      taken.set(buffer, { node });
      costs.set(buffer, cost);
      decisions.push({ kind: 'inlined', producer: facts.nameOf(node), consumers: names, reason: verdict.reason });
    } else {
      decisions.push({
        kind: 'rejected',
        nodes: [facts.nameOf(node), ...names],
        reason: `not inlined: ${verdict.reason}`,
      });
    }
  }
  const rebuild = new Rebuilding(taken, facts, options);
  const remaining = nodes.filter((node) => !node.outs.some((out) => taken.has(out)));
  return { nodes: remaining.map((node) => rebuild.node(node)), decisions };
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
    const producer = this.#taken.get(load.buffer)?.node;
    if (producer === undefined) return undefined;
    this.#origins.push(...producer.origins);
    const writing = { axes: producer.axes, write: at(producer.writes, 0) };
    const { mask, other } = load;
    const map =
      mask === undefined ? producingPoint(writing, load.at) : maskedPoint(writing, load.at, { builder, mask });
    invariant(
      map !== undefined,
      `inlining of ${this.#facts.nameOf(producer)}: its write was invertible when it was judged`,
    );
    const { results } = replayBody(
      producer.body,
      builder,
      this.#replay({ map, ...(mask === undefined ? {} : { mask }) }),
    );
    const value = this.#unrounded(builder, at(results, 0));
    if (mask === undefined) return value;
    const { compute } = dtypeInfo[builder.dtypeOf(value)];
    const chosen = builder.apply('where', [
      mask,
      builder.cast(value, compute),
      other === undefined ? builder.constant(0, compute) : builder.cast(other, compute),
    ]);
    return this.#options.keepRounding ? builder.cast(chosen, load.dtype) : chosen;
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
