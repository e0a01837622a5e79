// Pads in place (`inplacePadding`): a matrix that is only made to be copied into a wider one, whose rows end in a constant, is made
// in the wider one's rows at once. The copy then reads every element where it writes it, so that the memory plan has it take
// the matrix's place (the rules of overwriting prove that it may), and code generation leaves out what is there already.
//
// In: clusters, after all joins and paddings. Out: the same over matrices with longer rows, and a program that declares them.
import { at } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import { add, axisIndex, copiedPart, equal, multiply, printIndex } from '@tsinductor/ir';
import type { BufferDecl, CopiedPart, Decision, Index, LoopProgram, MapNode } from '@tsinductor/ir';
import type { Cluster } from './cluster.ts';
import type { Facts } from './facts.ts';
import { mayHost } from './memory-plan.ts';
import { exactQuotient } from './normalize-axes.ts';
import { layoutOf, padAll } from './pad-strides.ts';
import type { Padded } from './pad-strides.ts';

/** All of a matrix, copied into the first columns of a wider one. */
interface Copy {
  readonly cluster: Cluster;
  readonly node: MapNode;
  readonly copied: CopiedPart;
  readonly from: BufferDecl;
  readonly to: BufferDecl;
}

interface Padding {
  readonly facts: Facts;
  readonly config: Config;
}

export function padInPlace(given: Padded, { facts, config }: Padding): Padded {
  if (!config.inplacePadding || !config.inplaceBuffers) return given;
  const mayTake = ({ role }: BufferDecl): boolean => role === 'temporary' || (role === 'output' && mayHost(config));
  let padded = given;
  for (const position of given.combinations.flat().filter(isCopy).map(positionOf)) {
    const cluster = padded.combinations.flat().find((one) => positionOf(one) === position);
    const copy = cluster === undefined ? undefined : copyOf(cluster, padded.program, facts);
    if (copy !== undefined && mayTake(copy.to)) padded = withRows(padded, copy);
  }
  return padded;
}

const positionOf = ({ nodes }: Cluster): number => at(nodes, 0).position;
const isCopy = ({ nodes }: Cluster): boolean => nodes.length === 1 && copiedPart(at(nodes, 0).node) !== undefined;

/** What a cluster of one map copies, where that is a temporary which nobody else reads. */
function copyOf(cluster: Cluster, { buffers }: LoopProgram, facts: Facts): Copy | undefined {
  const { node, position } = at(cluster.nodes, 0);
  const copied = copiedPart(node);
  if (copied === undefined || node.kind !== 'map') return undefined;
  const [from, to] = [copied.load.buffer, at(node.outs, 0)].map((id) => buffers.find((decl) => decl.id === id));
  if (from?.role !== 'temporary' || from.dtype !== to?.dtype) return undefined;
  const isOnly = facts.writers(from.id).length === 1 && facts.readers(from.id).every((reader) => reader === position);
  const copy = { cluster, node, copied, from, to };
  return isOnly && copiesRows(copy) ? copy : undefined;
}

/** Whether rows of one length become the beginnings of rows of another, all of either matrix. */
function copiesRows({ node, copied: { axis: column, bound, load }, from, to }: Copy): boolean {
  const [row, ...others] = node.axes.filter(({ name }) => name !== column.name);
  if (row === undefined || others.length > 0) return false;
  const place = (width: Index): Index => add(multiply(axisIndex(row), width), axisIndex(column));
  const isAll = ({ size }: BufferDecl, width: Index): boolean => equal(size, multiply(row.extent, width));
  const isAtStart = equal(load.at, place(bound)) && equal(at(node.writes, 0), place(column.extent));
  return isAtStart && isAll(from, bound) && isAll(to, column.extent);
}

/** The matrix with the rows of what it is copied into; as before, where some access to it does not allow that. */
function withRows(padded: Padded, { cluster, node, copied, from, to }: Copy): Padded {
  const strides = from.strides.map((stride) => widened(stride, copied));
  const wide: BufferDecl = { ...from, strides, size: to.size };
  const moved = padAll(padded.combinations, layoutOf(from, wide), cluster);
  const decision = (isDone: boolean, reason: string): Decision => ({
    kind: 'padded',
    buffer: from.name,
    isDone,
    strides: strides.map((stride) => printIndex(stride)).join(', '),
    reason,
  });
  if (!moved.ok) return { ...padded, decisions: [...padded.decisions, decision(false, moved.reason)] };
  const nodes = node.body.nodes.map((scalar) =>
    scalar === copied.load ? { ...scalar, at: at(node.writes, 0) } : scalar,
  );
  const inPlace: Cluster = {
    ...cluster,
    nodes: cluster.nodes.map((member) => ({ ...member, node: { ...node, body: { ...node.body, nodes } } })),
  };
  const { program } = padded;
  return {
    program: { ...program, buffers: program.buffers.map((decl) => (decl.id === from.id ? wide : decl)) },
    combinations: moved.value.map((all) => all.map((one) => (one === cluster ? inPlace : one))),
    decisions: [
      ...padded.decisions,
      decision(true, `${to.name} takes its memory over, and only fills the ends of its rows`),
    ],
  };
}

/** The distance of rows, of rows of rows and so on: as many times the new length of a row. */
function widened(stride: Index, { axis, bound }: CopiedPart): Index {
  const rows = exactQuotient(stride, bound);
  return rows === undefined ? stride : multiply(rows, axis.extent);
}
