// What a group costs, counted from its accesses: the bytes that it moves between memory and the caches, the least that any
// kernel with these inputs and results would move, and the operations that it takes. A nest (an innermost tree of loops)
// touches an element of a buffer once, whatever number of its points do; a later nest of the same outer iteration
// touches it again, out of the cache where what is touched per iteration fits there, out of memory elsewhere.
//
// In: a finished group. Out: index expressions, numbers but for symbolic sizes.
import { at, dtypeInfo } from '@tsinductor/base';
import {
  add,
  countOperations,
  equal,
  freeAxes,
  hasIndirects,
  int,
  isAtMost,
  maximum,
  multiply,
  product,
  sortOperands,
} from '@tsinductor/ir';
import type { Axis, BufferId, Group, GroupStatistics, Index, LoopNode, LoopTree, NodeRef } from '@tsinductor/ir';
import type { Facts } from './facts.ts';
import { bodyReads, loopsOf, pointBody, resultAxes } from './node-access.ts';

/** What an outer iteration touches stays in the cache up to this many bytes. */
const CACHED_BYTES = 512 * 1024;

/** How much of a buffer one nest touches: in all, and in one iteration of the group's outer loops. */
interface Touch {
  readonly all: Index;
  readonly inside: Index;
}

type Touches = ReadonlyMap<BufferId, Touch>;

interface Counting {
  readonly facts: Facts;
  /** Buffers that some other group reads, or the caller. */
  readonly needed: ReadonlySet<BufferId>;
}

/** What each of the groups costs. */
export function countGroups(groups: readonly Group[], facts: Facts): readonly GroupStatistics[] {
  const needed = new Set([...groups.flatMap(({ reads }) => reads), ...facts.program.outputs]);
  return groups.map((group) => statisticsOf(group, { facts, needed }));
}

/** Whether an access of a nest counts, which makes the buffers `here` itself: those are at hand. */
type MayCount = (buffer: BufferId, here: ReadonlySet<BufferId>) => boolean;

function statisticsOf(group: Group, { facts, needed }: Counting): GroupStatistics {
  const locals = new Set(group.locals.map(({ buffer }) => buffer));
  const outer = new Set(group.nest.loops.map(({ axis }) => axis.name));
  const nests = innermost(group.nest).map((refs) => refs.map(({ node }) => at(group.nodes, node)));
  const isShared = ({ buffer }: Access): boolean => !locals.has(buffer);
  const accesses = nests.map((nodes) => ({
    here: new Set(nodes.flatMap((node) => node.outs)),
    read: touchesOf(nodes.flatMap(readsOf).filter(isShared), { outer, facts }),
    written: touchesOf(nodes.flatMap(writesOf).filter(isShared), { outer, facts }),
  }));
  const count = (kind: 'read' | 'written', mayCount: MayCount): Moved => {
    const counted = new Map<BufferId, Touch[]>();
    for (const nest of accesses) {
      for (const [buffer, touch] of nest[kind]) {
        if (!mayCount(buffer, nest.here)) continue;
        const known = counted.get(buffer);
        if (known === undefined) counted.set(buffer, [touch]);
        else known.push(touch);
      }
    }
    return movedBy(counted, facts);
  };
  const made = new Set(group.writes);
  const reads = count('read', (buffer) => !made.has(buffer));
  // What it reads again of its own, and what it writes for itself alone, another kernel could do without.
  const again = count('read', (buffer, here) => made.has(buffer) && !here.has(buffer));
  const results = count('written', (buffer) => needed.has(buffer));
  const spilled = count('written', (buffer) => !needed.has(buffer));
  return {
    readBytes: add(reads.moved, again.fromMemory),
    writtenBytes: add(results.moved, spilled.moved),
    leastBytes: add(reads.least, results.least),
    flops: group.nodes.map(flopsOf).reduce(add, int(0)),
  };
}

/** The nodes of each innermost tree, in order; nodes between trees are a nest of their own. */
function innermost(tree: LoopTree): readonly (readonly NodeRef[])[] {
  const own = tree.children.filter((child): child is NodeRef => child.kind === 'node');
  const below = tree.children.flatMap((child) => (child.kind === 'loops' ? innermost(child) : []));
  return own.length === 0 ? below : [own, ...below];
}

interface Access {
  readonly buffer: BufferId;
  readonly at: Index;
  readonly loops: readonly Axis[];
}

function readsOf(node: LoopNode): readonly Access[] {
  const loops = loopsOf(node);
  const inBodies = bodyReads(node).map(({ buffer, at: place }) => ({ buffer, at: place, loops }));
  if (node.kind === 'contract') return [...[node.a, node.b].map((operand) => ({ ...operand, loops })), ...inBodies];
  if (node.kind === 'sort')
    return sortOperands(node).map((operand) => ({ ...operand, loops: [...loops, node.along, node.kept] }));
  // A scatter starts from all of a buffer.
  if (node.kind === 'scatter' && node.initial !== undefined)
    return [...inBodies, { buffer: node.initial, at: at(node.writes, 0), loops }];
  return inBodies;
}

const writesOf = (node: LoopNode): readonly Access[] =>
  node.outs.map((buffer, slot) => ({
    buffer,
    at: at(node.writes, slot),
    loops: [...new Set([...loopsOf(node), ...resultAxes(node)])],
  }));

/** Elements per buffer: of each different index expression, as many as its axes have points, and no more than there are. */
function touchesOf(
  accesses: readonly Access[],
  { outer, facts }: { readonly outer: ReadonlySet<string>; readonly facts: Facts },
): Touches {
  const distinct = new Map<BufferId, Access[]>();
  for (const access of accesses) {
    const known = distinct.get(access.buffer) ?? [];
    if (!known.some((other) => equal(other.at, access.at))) known.push(access);
    distinct.set(access.buffer, known);
  }
  return new Map(
    [...distinct].map(([buffer, places]) => {
      const { size } = facts.decl(buffer);
      let [all, inside] = [int(0), int(0)];
      for (const { at: index, loops } of places) {
        const used = axesUsed(index, loops);
        all = add(all, pointsOf(used));
        inside = add(inside, pointsOf(used.filter((axis) => !outer.has(axis.name))));
      }
      return [buffer, { all: atMost(all, size), inside: atMost(inside, size) }];
    }),
  );
}

const pointsOf = (loops: readonly Axis[]): Index => product(loops.map((axis) => axis.extent));

/** The loops that an index runs along; one that was loaded may depend on all. */
function axesUsed(index: Index, loops: readonly Axis[]): readonly Axis[] {
  if (hasIndirects(index)) return loops;
  const used = freeAxes(index);
  return loops.filter((axis) => used.has(axis.name));
}

const atMost = (value: Index, bound: Index): Index => (isAtMost(value, bound) ? value : bound);

interface Moved {
  readonly moved: Index;
  readonly least: Index;
  /** What is moved where nothing stays in the cache; 0 where it does. */
  readonly fromMemory: Index;
}

const nothing: Moved = { moved: int(0), least: int(0), fromMemory: int(0) };

/** What nests that run one after another move together; each buffer with how much of it those touch that do. */
function movedBy(touched: ReadonlyMap<BufferId, readonly Touch[]>, facts: Facts): Moved {
  if (touched.size === 0) return nothing;
  let [widest, least, summed] = [int(0), int(0), int(0)];
  for (const [buffer, touches] of touched) {
    const bytes = int(dtypeInfo[facts.decl(buffer).dtype].bytes);
    let once = int(0);
    for (const { all, inside } of touches) {
      widest = maximum(widest, multiply(inside, bytes));
      once = maximum(once, multiply(all, bytes));
      summed = add(summed, multiply(all, bytes));
    }
    least = add(least, once);
  }
  const isCached = isAtMost(widest, int(CACHED_BYTES));
  return { moved: isCached ? least : summed, least, fromMemory: isCached ? int(0) : summed };
}

/** Operations of the node's points: two for each product of a contraction. */
function flopsOf(node: LoopNode): Index {
  const points = pointsOf(loopsOf(node));
  if (node.kind === 'contract') return multiply(int(2), points);
  const body = pointBody(node);
  return body === undefined ? int(0) : multiply(int(countOperations(body)), points);
}
