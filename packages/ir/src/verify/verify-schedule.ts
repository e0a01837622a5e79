// The laws of schedules: every node sits in its nest exactly once and under loops that bind its axes; groups run in an
// order that respects data; a buffer has one home, large enough and alive while it is used; locals stay in their group.
import { at } from '@tsinductor/base';
import { equal } from '../arithmetic/order.ts';
import { isAtMost } from '../arithmetic/range.ts';
import { lawBroken } from '../errors.ts';
import { groupTitle } from '../print/print-schedule.ts';
import type { LoopNode } from '../loop.ts';
import type { BufferId } from '../scalar.ts';
import type { BufferPlan, Group, LoopBand, LoopTree, NodeRef, Schedule } from '../schedule.ts';
import { isPlace, verifyPlaces } from './verify-places.ts';
import { verifyParts } from './verify-parts.ts';
import { nameOf, programScope, readsOf, verifyLoopNode } from './verify-program.ts';
import type { ProgramScope } from './verify-program.ts';

export function verifySchedule(schedule: Schedule): void {
  const scope = programScope(schedule.program);
  const plans = plansById(schedule.buffers, scope);
  const written = new Set<BufferId>();
  /** The last group that writes each buffer: only then is all of it there. */
  const lastWrite = new Map<BufferId, number>();
  schedule.groups.forEach(({ writes }, position) => {
    for (const buffer of writes) lastWrite.set(buffer, position);
  });
  for (const [position, group] of schedule.groups.entries()) {
    const where = groupTitle(group);
    if (!/^[a-z][a-z0-9_]{0,59}$/.test(group.name))
      throw lawBroken(where, 'is not a name of at most 60 letters, digits and _');
    verifyNest(group, scope);
    verifyTraffic(group, { scope, written, lastWrite, plans, position });
  }
  verifyParts(
    schedule.groups.flatMap(({ nodes }) => nodes),
    scope,
  );
  for (const output of schedule.program.outputs) {
    if (!written.has(output)) throw lawBroken('schedule', `output ${nameOf(output, scope)} is never written`);
  }
  verifyPlaces(schedule, scope);
}

function plansById(plans: readonly BufferPlan[], scope: ProgramScope): ReadonlyMap<BufferId, BufferPlan> {
  const byId = new Map(plans.map((plan) => [plan.buffer, plan]));
  if (byId.size !== plans.length) throw lawBroken('schedule', 'a buffer has two plans');
  for (const { id, name, role } of scope.buffers.values()) {
    const plan = byId.get(id);
    if (plan === undefined) throw lawBroken(`buffer ${name}`, 'has no plan');
    const fits = role === 'temporary' ? isPlace(plan) || plan.kind === 'virtual' : plan.kind === role;
    if (!fits) throw lawBroken(`buffer ${name}`, `is ${role}, but its plan is ${plan.kind}`);
  }
  return byId;
}

/** Every node once, its axes bound above it, its reduction axes by reduction bands. */
function verifyNest(group: Group, scope: ProgramScope): void {
  const met = new Set<number>();
  const visit = (tree: LoopTree | NodeRef, bound: Bands): void => {
    if (tree.kind === 'loops') {
      const inner = new Map([...bound, ...tree.loops.map((band) => [band.axis.name, band] as const)]);
      verifyShorter(group, tree);
      if (inner.size !== bound.size + tree.loops.length)
        throw lawBroken(groupTitle(group), 'two nested loops have one axis');
      for (const child of tree.children) visit(child, inner);
      return;
    }
    const node = group.nodes[tree.node];
    if (node === undefined || met.has(tree.node))
      throw lawBroken(groupTitle(group), `node ${String(tree.node)} is missing, or stands in the nest twice`);
    met.add(tree.node);
    verifyBound(group, node, { bound, scope });
  };
  visit(group.nest, new Map());
  if (met.size !== group.nodes.length) throw lawBroken(groupTitle(group), 'a node does not stand in the nest');
}

/** The loops around a node, by the name of their axis. */
type Bands = ReadonlyMap<string, LoopBand>;

/** Nodes that are shorter than their loops are maps beside maps, and all as short. */
function verifyShorter(group: Group, { loops, children }: LoopTree): void {
  const nodes = children.flatMap((child) => (child.kind === 'node' ? (group.nodes[child.node] ?? []) : []));
  const isOfMaps = nodes.length === children.length && nodes.every(({ kind }) => kind === 'map');
  for (const { axis } of loops) {
    const own = nodes.flatMap((node) => node.axes.filter(({ name }) => name === axis.name));
    const [short, ...others] = own.filter(({ extent }) => !equal(extent, axis.extent));
    if (short === undefined) continue;
    const isAllowed = isOfMaps && isAtMost(short.extent, axis.extent);
    if (!isAllowed || others.some(({ extent }) => !equal(extent, short.extent)))
      throw lawBroken(groupTitle(group), `axis ${axis.name} of a node is not as long as its loop`);
  }
}

function verifyBound(group: Group, node: LoopNode, { bound, scope }: { bound: Bands; scope: ProgramScope }): void {
  verifyLoopNode(node, scope);
  const where = `${groupTitle(group)}, ${node.kind} ${node.outs.map((out) => nameOf(out, scope)).join(', ')}`;
  const over = node.kind === 'reduce' || node.kind === 'scan' ? node.over : [];
  // A contraction brings its own loops where the nest does not bind them.
  if (node.kind === 'contract' || node.kind === 'scatter' || node.kind === 'sort') return;
  for (const { name } of node.axes) if (!bound.has(name)) throw lawBroken(where, `no loop binds its axis ${name}`);
  for (const { name } of over)
    if (bound.get(name)?.role !== 'reduction') throw lawBroken(where, `no reduction loop binds its axis ${name}`);
}

interface Traffic {
  readonly scope: ProgramScope;
  readonly written: Set<BufferId>;
  readonly lastWrite: ReadonlyMap<BufferId, number>;
  readonly plans: ReadonlyMap<BufferId, BufferPlan>;
  readonly position: number;
}

type Fail = (buffer: BufferId, law: string) => never;

function verifyTraffic(group: Group, traffic: Traffic): void {
  const { scope, plans, position } = traffic;
  const fail: Fail = (buffer, law) => {
    throw lawBroken(groupTitle(group), `${nameOf(buffer, scope)} ${law}`);
  };
  const locals = new Set(group.locals.map(({ buffer }) => buffer));
  const inside = verifyReads(group, { ...traffic, locals, fail });
  for (const buffer of inside) {
    if (!locals.has(buffer)) verifyWritten(group, buffer, { ...traffic, fail });
  }
  for (const buffer of [...group.reads, ...group.writes]) {
    const plan = plans.get(buffer);
    const isDead = plan !== undefined && isPlace(plan) && (position < plan.first || position > plan.last);
    if (isDead) fail(buffer, 'is used outside its lifetime');
  }
}

/** Everything that is read was written, by an earlier group or an earlier node of this one; what the group writes. */
function verifyReads(
  group: Group,
  { scope, written, locals, fail }: Traffic & { readonly locals: ReadonlySet<BufferId>; readonly fail: Fail },
): ReadonlySet<BufferId> {
  const inside = new Set<BufferId>();
  for (const node of inOrder(group)) {
    for (const buffer of readsOf(node)) {
      const role = scope.buffers.get(buffer)?.role;
      if (inside.has(buffer) || role === 'input' || role === 'constant') continue;
      if (locals.has(buffer) || !written.has(buffer)) fail(buffer, 'is read before it is written');
    }
    for (const out of node.outs) inside.add(out);
  }
  return inside;
}

function verifyWritten(
  group: Group,
  buffer: BufferId,
  { written, lastWrite, plans, position, fail }: Traffic & { readonly fail: Fail },
): void {
  if (plans.get(buffer)?.kind === 'virtual') fail(buffer, 'is virtual, but written to memory');
  if (!group.writes.includes(buffer)) fail(buffer, 'is written, but not listed in writes');
  if (lastWrite.get(buffer) === position) written.add(buffer);
}

/** The nodes of a group in the order in which the nest first reaches them. */
function inOrder(group: Group): readonly LoopNode[] {
  const nodes = (tree: LoopTree | NodeRef): readonly LoopNode[] =>
    tree.kind === 'node' ? [at(group.nodes, tree.node)] : tree.children.flatMap(nodes);
  return nodes(group.nest);
}
