// Whether a map node is computed inside its readers instead of being stored. In: a producer, its readers, thresholds.
// Out: yes or no, with the reason. `cannotInline` decides what is correct; `weighInlining` is a matter of cost.
import { at } from '@tsinductor/base';
import {
  coefficientOf,
  countOperations,
  equal,
  freeAxes,
  freeIndirects,
  hasChecks,
  int,
  loadsOf,
  maskBounds,
  scalarOperands,
  subtract,
} from '@tsinductor/ir';
import type { Axis, Body, BufferId, Index, LoopNode, MapNode, MaskBounds, ScalarId } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';
import { isEmptyAxis } from './empty-nodes.ts';
import { readsAll } from './reads-all.ts';
import { bodiesOf, bodyReads, isUnit, loopsOf, pointBody, wholeReads } from './node-access.ts';

interface Thresholds {
  /** Above these, a value with several readers is stored: buffers that it reads, operations that it takes. */
  readonly reads: number;
  readonly operations: number;
  /** Above these, a value is stored however often it is used: buffers that it reads, and their bytes. */
  readonly gatheredReads: number;
  readonly gatheredBytes: number;
}

/** What a value costs where it is computed, with everything that is already inlined into it. */
export interface Cost {
  readonly operations: number;
  /** The most expensive single op. */
  readonly heaviest: number;
  readonly reads: ReadonlySet<BufferId>;
  /** Loads under a mask, as the pieces of a concatenation are read. */
  readonly masked: number;
  /** Whether something is checked at each point. */
  readonly checks: boolean;
}

export interface Verdict {
  readonly inline: boolean;
  readonly reason: string;
}

/** An op from this cost on is worth a store and a load: exp, log, tanh, and the like. */
export const HEAVY = 8;
/** What may be computed again for every row, though it only depends on the column. */
const TRIVIAL = 2;
/** The same where all that it reads stays in registers and the first-level cache beside what the reader reads. */
const LIGHT = 8;
const FEW_BYTES = 4096;

/** No body grows beyond this, so that a chain of any length compiles in linear time. */
const LARGEST = 300;
/** The same where more loads than these are masked: a point computes all of them, and uses what one of them reads. */
const MANY_MASKED = 8;
const LARGEST_MASKED = 128;

const loadCount = (reader: LoopNode, buffer: BufferId): number =>
  bodyReads(reader).filter((read) => read.buffer === buffer).length;

const yes = (reason: string): Verdict => ({ inline: true, reason });
const no = (reason: string): Verdict => ({ inline: false, reason });

export function bodyCost(body: Body): Cost {
  const heaviest = body.nodes.reduce(
    (most, node) => (node.kind === 'apply' ? Math.max(most, pointwise[node.op].traits.cost ?? 1) : most),
    0,
  );
  const loads = loadsOf(body);
  return {
    operations: countOperations(body),
    heaviest,
    reads: new Set(loads.map((load) => load.buffer)),
    masked: loads.filter(({ mask }) => mask !== undefined).length,
    checks: hasChecks(body),
  };
}

export const joinCosts = (a: Cost, b: Cost): Cost => ({
  operations: a.operations + b.operations,
  heaviest: Math.max(a.heaviest, b.heaviest),
  reads: new Set([...a.reads, ...b.reads]),
  masked: a.masked + b.masked,
  checks: a.checks || b.checks,
});

export interface Candidate {
  readonly producer: MapNode;
  readonly buffer: BufferId;
  readonly cost: Cost;
  /** Bytes of all buffers that it reads; Infinity where that is not known. */
  readonly bytesRead: number;
  readonly readers: readonly LoopNode[];
  /** Whether it is computed twice, and what comes after the second time reads it: kept, it would be used by the readers of both. */
  readonly isRepeated: boolean;
}

/** Why a producer's value cannot stand in the place of the loads of its buffer; undefined: it can, if its write is dense. */
export function cannotInline({ producer, buffer, cost, readers }: Candidate): string | undefined {
  if (producer.axes.some(isEmptyAxis)) return 'it is empty';
  for (const reader of readers) {
    if (wholeReads(reader).includes(buffer)) {
      if (reader.kind === 'sort') return 'it is what a sort orders';
      return reader.kind === 'contract' ? 'it is an operand of a matrix product' : 'a scatter starts from it';
    }
    const point = pointBody(reader);
    if (bodiesOf(reader).some((body) => body !== point && loadsOf(body).some((load) => load.buffer === buffer))) {
      return 'a reduction reads it apart from its elements';
    }
  }
  if (cost.checks && !readers.some((reader) => readsAll(reader, producer, buffer)))
    return 'it checks indices of which no reader uses all';
  return producer.writes.length === 1 ? undefined : 'it has several results';
}

/** Whether it pays to compute a value inside its readers, where it can be. */
export function weighInlining(candidate: Candidate, thresholds: Thresholds): Verdict {
  const { cost, readers, buffer } = candidate;
  if (readsNothing(cost)) return yes('it reads nothing');
  const repetition = worst(readers.map((reader) => repetitionOf(reader, buffer)));
  const repeated = repetition === 'outer' ? whyNotRepeated(candidate) : undefined;
  if (repeated !== undefined) return no(repeated);
  if (repetition === 'inner' && cost.heaviest >= HEAVY)
    return no('it is expensive, and a reader uses it in a whole inner loop');
  const gathered = gatheredTooMuch(candidate, thresholds);
  if (gathered !== undefined) return no(gathered);
  const uses = usesOf(candidate);
  if (uses === 1) return yes('it is used once');
  const used = `it is used ${String(uses)} times`;
  if (cost.heaviest >= HEAVY) return no(`it is expensive, and ${used}`);
  if (cost.reads.size > thresholds.reads) return no(`${used} and reads ${String(cost.reads.size)} buffers`);
  if (cost.operations > thresholds.operations) return no(`${used} and takes ${String(cost.operations)} operations`);
  return yes(`${used}, and is cheaper to compute again than to store`);
}

/** Why a value costs more than to be loaded, for each iteration of an outer loop. */
function whyNotRepeated({ producer, cost: { operations, heaviest }, bytesRead }: Candidate): string | undefined {
  if (operations > (bytesRead <= FEW_BYTES && heaviest < HEAVY ? LIGHT : TRIVIAL))
    return 'it would be computed again for every outer iteration of a reader';
  return readsAcross(producer) ? 'it would be read in strides again for every outer iteration of a reader' : undefined;
}

/** Whether elements that it lays side by side are read from places that lie apart. */
function readsAcross({ axes, body, writes }: MapNode): boolean {
  const inner = axes.at(-1);
  const stepOf = (place: Index): number | undefined => {
    const step = inner && coefficientOf(place, inner);
    return step?.kind === 'int' ? step.value : undefined;
  };
  if (stepOf(at(writes, 0)) !== 1) return false;
  return loadsOf(body).some((load) => Math.abs(stepOf(load.at) ?? 0) > 1);
}

/** How often a value is loaded. What is computed twice is judged as if it were kept, both times. */
function usesOf({ buffer, readers, isRepeated }: Candidate): number {
  const loads = readers.reduce((sum, reader) => sum + loadCount(reader, buffer), 0);
  return isRepeated ? Math.max(2, loads) : loads;
}

/** Whether a value is made of constants and coordinates alone, and of no more operations than may be repeated. */
const readsNothing = ({ reads, heaviest, operations }: Cost): boolean =>
  reads.size === 0 && heaviest < HEAVY && operations <= LARGEST;

function gatheredTooMuch({ cost, bytesRead }: Candidate, thresholds: Thresholds): string | undefined {
  if (cost.operations > LARGEST) return `it has grown to ${String(cost.operations)} operations`;
  if (cost.masked > MANY_MASKED && cost.operations > LARGEST_MASKED)
    return `it has grown to ${String(cost.operations)} operations on ${String(cost.masked)} masked reads`;
  if (cost.reads.size > thresholds.gatheredReads) return `it has gathered reads of ${String(cost.reads.size)} buffers`;
  return bytesRead > thresholds.gatheredBytes ? `it has gathered reads of ${String(bytesRead)} bytes` : undefined;
}

/**
 * none    each element is used at one point
 * inner   elements are used by a whole inner loop, out of which their value can be moved
 * outer   elements are used again by a later iteration of an outer loop
 */
type Repetition = 'none' | 'inner' | 'outer';

const severity: readonly Repetition[] = ['none', 'inner', 'outer'];
const worst = (all: readonly Repetition[]): Repetition =>
  all.reduce((a, b) => (severity.indexOf(a) >= severity.indexOf(b) ? a : b), 'none');

function repetitionOf(reader: LoopNode, buffer: BufferId): Repetition {
  const body = pointBody(reader);
  if (body === undefined) return 'none';
  const loops = loopsOf(reader).filter((axis) => !isUnit(axis));
  return worst(
    body.nodes.map((node) => {
      if (node.kind !== 'load' || node.buffer !== buffer) return 'none';
      const pinned = node.mask === undefined ? new Set<string>() : pinnedBy(body, node.mask);
      return repetitionAlong(
        loops.filter((axis) => !pinned.has(axis.name)),
        axesUsed(body, node.at),
      );
    }),
  );
}

/** Axes that have one value wherever a mask holds. */
function pinnedBy(body: Body, mask: ScalarId): ReadonlySet<string> {
  const bounds = maskBounds((id) => at(body.nodes, id), mask);
  const isPinned = ({ axis, lower = int(0), upper = axis.extent }: MaskBounds): boolean =>
    equal(subtract(upper, lower), int(1));
  return new Set(bounds.filter(isPinned).map(({ axis }) => axis.name));
}

function repetitionAlong(loops: readonly Axis[], used: ReadonlySet<string>): Repetition {
  const unused = loops.findIndex((axis) => !used.has(axis.name));
  if (unused === -1) return 'none';
  return loops.slice(unused).some((axis) => used.has(axis.name)) ? 'outer' : 'inner';
}

/** The axes that an index depends on, also by way of loaded indices. */
function axesUsed(body: Body, index: Index): ReadonlySet<string> {
  const used = new Set<string>(freeAxes(index));
  const seen = new Set<ScalarId>();
  const queue = [...freeIndirects(index)];
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    const node = at(body.nodes, id);
    const own = node.kind === 'load' ? node.at : node.kind === 'index' ? node.value : undefined;
    if (own !== undefined) for (const name of freeAxes(own)) used.add(name);
    queue.push(...scalarOperands(node));
  }
  return used;
}
