// The laws of loop programs: declarations, bodies, accesses inside their buffers, injective writes, and an order in which
// everything is written before it is read. Throws an InternalError that names the node and the law.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { add, int } from '../arithmetic/polynomial.ts';
import { coefficientOf } from '../arithmetic/linear-form.ts';
import { freeAxes } from '../arithmetic/query.ts';
import { isAtMost } from '../arithmetic/range.ts';
import { loadsOf } from '../body/traverse-body.ts';
import { lawBroken } from '../errors.ts';
import type { Axis, Index } from '../index-expr.ts';
import type {
  BufferDecl,
  ContractNode,
  LoopNode,
  LoopProgram,
  ReduceNode,
  ScanNode,
  SortNode,
  SortOperand,
} from '../loop.ts';
import { printIndex } from '../print/print-index.ts';
import type { Body, BufferId } from '../scalar.ts';
import { elementOutside, writesTwice } from './access-bounds.ts';
import { verifyBody, verifyIndex } from './verify-body.ts';
import { verifyParts } from './verify-parts.ts';

/** What all nodes of a program share. */
export interface ProgramScope {
  readonly buffers: ReadonlyMap<BufferId, BufferDecl>;
  readonly sizes: ReadonlySet<string>;
  readonly sites: number;
}

export function verifyProgram(program: LoopProgram): void {
  const scope = programScope(program);
  verifyBuffers(program, scope);
  const written = new Set<BufferId>();
  verifyParts(program.nodes, scope);
  /** How many nodes are still to write a part of each buffer. */
  const unwritten = new Map<BufferId, number>();
  for (const out of program.nodes.flatMap(({ outs }) => outs)) unwritten.set(out, (unwritten.get(out) ?? 0) + 1);
  for (const node of program.nodes) {
    const where = describeNode(node, scope);
    verifyLoopNode(node, scope);
    for (const buffer of readsOf(node)) requireWritten(buffer, { where, scope, written });
    const early = node.after?.find((buffer) => (unwritten.get(buffer) ?? 0) > 0);
    if (early !== undefined) throw lawBroken(where, `stands before ${nameOf(early, scope)}, which it waits for`);
    for (const out of node.outs) {
      unwritten.set(out, (unwritten.get(out) ?? 1) - 1);
      if (unwritten.get(out) === 0) written.add(out);
    }
  }
  for (const output of program.outputs) {
    if (!written.has(output)) throw lawBroken('program', `output ${nameOf(output, scope)} is never written`);
  }
}

export const programScope = (program: LoopProgram): ProgramScope => ({
  buffers: new Map(program.buffers.map((buffer) => [buffer.id, buffer])),
  sizes: new Set(program.sizes),
  sites: program.sites.length,
});

export const nameOf = (id: BufferId, { buffers }: ProgramScope): string =>
  buffers.get(id)?.name ?? `buffer ${String(id)}`;

const describeNode = (node: LoopNode, scope: ProgramScope): string =>
  `${node.kind} ${node.outs.map((out) => nameOf(out, scope)).join(', ')}`;

function requireWritten(
  buffer: BufferId,
  { where, scope, written }: { where: string; scope: ProgramScope; written: ReadonlySet<BufferId> },
): void {
  const role = scope.buffers.get(buffer)?.role;
  if (role === 'input' || role === 'constant' || written.has(buffer)) return;
  throw lawBroken(where, `reads ${nameOf(buffer, scope)} before it is written`);
}

function verifyBuffers(program: LoopProgram, scope: ProgramScope): void {
  const names = new Set<string>();
  for (const buffer of program.buffers) {
    const where = `buffer ${buffer.name}`;
    if (!/^[a-z][a-z0-9_]*$/.test(buffer.name))
      throw lawBroken(where, 'is not a name of lower-case letters, digits and _');
    if (names.has(buffer.name)) throw lawBroken(where, 'is declared twice');
    names.add(buffer.name);
    if (buffer.strides.length !== buffer.shape.length) throw lawBroken(where, 'has not one stride for each axis');
    if ((buffer.role === 'constant') !== (buffer.data !== undefined))
      throw lawBroken(where, 'only constants have data, and all of them do');
    for (const index of [...buffer.shape, ...buffer.strides, buffer.size])
      verifyIndex(index, undefined, { where, axes: new Set(), sizes: scope.sizes });
  }
  if (names.size !== scope.buffers.size) throw lawBroken('program', 'two buffers have one id');
  for (const [role, ids] of [
    ['input', program.inputs],
    ['output', program.outputs],
  ] as const) {
    for (const id of ids)
      if (scope.buffers.get(id)?.role !== role) throw lawBroken('program', `${nameOf(id, scope)} is listed as ${role}`);
  }
}

/** The buffers that a node reads. */
export function readsOf(node: LoopNode): ReadonlySet<BufferId> {
  const loaded = bodiesOf(node).flatMap((body) => loadsOf(body).map(({ buffer }) => buffer));
  if (node.kind === 'contract') return new Set([node.a.buffer, node.b.buffer, ...loaded]);
  if (node.kind === 'sort') return new Set(sortOperands(node).map(({ buffer }) => buffer));
  return new Set(node.kind === 'scatter' && node.initial !== undefined ? [node.initial, ...loaded] : loaded);
}

export function bodiesOf(node: LoopNode): readonly Body[] {
  switch (node.kind) {
    case 'map':
    case 'scatter':
      return [node.body];
    case 'reduce':
    case 'scan':
      return [node.init, node.step, node.merge, node.finish];
    case 'contract':
      return elementsOf(node);
    case 'sort':
      return [];
  }
}

/** What a sort reads. */
export const sortOperands = ({ keys, places }: SortNode): readonly SortOperand[] =>
  places === undefined ? [keys] : [keys, places];

/** The bodies that compute operands of a product from what is in memory. */
export const elementsOf = ({ a, b }: ContractNode): readonly Body[] =>
  [a, b].flatMap(({ element }) => (element === undefined ? [] : [element]));

/** The axes of a node that its outs do not have. */
function innerAxes(node: LoopNode): readonly Axis[] {
  if (node.kind === 'sort') return [node.along, node.kept];
  return node.kind === 'reduce' || node.kind === 'scan' || node.kind === 'contract' ? node.over : [];
}

function verifyHeader(node: LoopNode, where: string, scope: ProgramScope): void {
  const names = [...node.axes, ...innerAxes(node)].map(({ name }) => name);
  if (new Set(names).size !== names.length) throw lawBroken(where, `axes ${names.join(', ')} have a name twice`);
  if (node.outs.length === 0 || node.outs.length !== node.writes.length) {
    throw lawBroken(where, 'has not one write for each out');
  }
  for (const out of node.outs) {
    const role = scope.buffers.get(out)?.role;
    if (role === 'output' || role === 'temporary') continue;
    throw lawBroken(where, `writes ${nameOf(out, scope)}, which is ${role ?? 'not declared'}`);
  }
}

/** Throws unless the node is well formed by itself. */
export function verifyLoopNode(node: LoopNode, scope: ProgramScope): void {
  const where = describeNode(node, scope);
  verifyHeader(node, where, scope);
  const place: Place = { where, scope, axes: [...node.axes, ...(node.kind === 'scan' ? node.over : [])] };
  switch (node.kind) {
    case 'map':
      verifyPart(node.body, 'body', place);
      verifyWrites(node, node.body, place);
      return;
    case 'scatter':
      verifyPart(node.body, 'body', place);
      verifyResults(node.body, outDTypes(node, scope), `${where}, body`);
      verifyIndex(at(node.writes, 0), node.body, { where, axes: namesOf(place.axes), sizes: scope.sizes });
      return;
    case 'reduce':
    case 'scan':
      verifyAutomaton(node, place);
      verifyWrites(node, node.finish, place);
      return;
    case 'contract':
      for (const { buffer, at: index, element } of [node.a, node.b]) {
        const inside = { ...place, axes: [...node.axes, ...node.over] };
        verifyAccess({ buffer, index, verb: 'reads' }, inside);
        if (element === undefined) continue;
        verifyPart(element, 'operand', inside);
        verifyResults(element, [node.accumulate], `${where}, operand`);
      }
      verifyWrites(node, undefined, place);
      return;
    case 'sort':
      verifySort(node, place);
  }
}

function verifySort(node: SortNode, place: Place): void {
  const { where, scope } = place;
  const { along, kept, keys, places, results, outs, axes } = node;
  const [elements, wanted] = [
    { ...place, axes: [...axes, along] },
    { ...place, axes: [...axes, kept] },
  ];
  verifyRow({ operand: keys, axis: along, dtype: undefined }, elements);
  if (places !== undefined) verifyRow({ operand: places, axis: kept, dtype: 'i64' }, wanted);
  if (places === undefined && isAtMost(add(along.extent, int(1)), kept.extent))
    throw lawBroken(where, `keeps ${printIndex(kept.extent)} of ${printIndex(along.extent)} elements`);
  if (results.length !== outs.length) throw lawBroken(where, 'has not one result for each out');
  const dtypes = results.map((result) => (result === 'indices' ? 'i64' : scope.buffers.get(keys.buffer)?.dtype));
  outDTypes(node, scope).forEach((dtype, position) => {
    if (dtype !== dtypes[position]) throw lawBroken(where, `out ${String(position)} is ${dtype ?? 'not declared'}`);
    if (coefficientOf(at(node.writes, position), kept) === undefined)
      throw lawBroken(where, `out ${String(position)} is not affine in ${kept.name}`);
  });
  verifyWrites(node, undefined, wanted);
}

interface Row {
  readonly operand: SortOperand;
  readonly axis: Axis;
  readonly dtype: DType | undefined;
}

function verifyRow({ operand: { buffer, at: index }, axis, dtype }: Row, place: Place): void {
  const { where, scope, axes } = place;
  verifyIndex(index, undefined, { where, axes: namesOf(axes), sizes: scope.sizes });
  if (axes.some(({ extent }) => extent.kind === 'int' && extent.value === 0)) return;
  verifyAccess({ buffer, index, verb: 'reads' }, place);
  if (coefficientOf(index, axis) === undefined)
    throw lawBroken(where, `${nameOf(buffer, scope)} is not affine in ${axis.name}`);
  if (dtype !== undefined && scope.buffers.get(buffer)?.dtype !== dtype)
    throw lawBroken(where, `${nameOf(buffer, scope)} is not ${dtype}`);
}

interface Place {
  readonly where: string;
  readonly scope: ProgramScope;
  readonly axes: readonly Axis[];
  readonly states?: readonly DType[];
}

const namesOf = (axes: readonly Axis[]): ReadonlySet<string> => new Set(axes.map(({ name }) => name));
const outDTypes = (node: LoopNode, { buffers }: ProgramScope): readonly (DType | undefined)[] =>
  node.outs.map((out) => buffers.get(out)?.dtype);

function verifyPart(body: Body, part: string, { where, scope, axes, states = [] }: Place): void {
  verifyBody(body, { where: `${where}, ${part}`, axes: namesOf(axes), states, ...scope });
  // Over no points, nothing is read.
  if (axes.some(({ extent }) => extent.kind === 'int' && extent.value === 0)) return;
  for (const load of loadsOf(body)) {
    if (load.mask !== undefined) continue;
    verifyAccess(
      { buffer: load.buffer, index: load.at, verb: 'reads' },
      { where: `${where}, ${part}`, scope, axes: axes.filter(({ name }) => freeAxes(load.at).has(name)) },
    );
  }
}

function verifyAccess(
  { buffer, index, verb }: { buffer: BufferId; index: Index; verb: string },
  { where, scope, axes }: Place,
): void {
  const size = scope.buffers.get(buffer)?.size;
  if (size === undefined) throw lawBroken(where, `buffer ${String(buffer)} is not declared`);
  const outside = elementOutside(index, axes, size);
  if (outside === undefined) return;
  throw lawBroken(
    where,
    `${verb} ${nameOf(buffer, scope)}[${printIndex(index)}], which reaches element ${String(outside)} of ${printIndex(size)}`,
  );
}

function verifyWrites(node: LoopNode, body: Body | undefined, place: Place): void {
  const { where, scope, axes } = place;
  if (body !== undefined) verifyResults(body, outDTypes(node, scope), `${where}, results`);
  node.outs.forEach((out, position) => {
    const index = at(node.writes, position);
    verifyIndex(index, body, { where, axes: namesOf(axes), sizes: scope.sizes });
    verifyAccess({ buffer: out, index, verb: 'writes' }, place);
    const twice = writesTwice(index, axes, scope.buffers.get(out)?.size ?? index);
    if (twice !== undefined)
      throw lawBroken(where, `writes ${nameOf(out, scope)}[${printIndex(index)}] more than once: ${twice}`);
  });
}

function verifyResults(body: Body, wanted: readonly (DType | undefined)[], where: string): void {
  wanted.forEach((dtype, position) => {
    const id = body.results[position];
    const actual = id === undefined ? 'missing' : at(body.nodes, id).dtype;
    if (actual !== dtype) throw lawBroken(where, `result ${String(position)} is ${actual}, not ${dtype ?? 'declared'}`);
  });
}

function verifyAutomaton(node: ReduceNode | ScanNode, place: Place): void {
  const { where } = place;
  const { state, axes, over } = node;
  const inside = [...axes, ...over];
  verifyPart(node.init, 'init', { ...place, axes });
  verifyPart(node.step, 'step', { ...place, axes: inside, states: state });
  verifyPart(node.merge, 'merge', { ...place, axes, states: [...state, ...state] });
  verifyPart(node.finish, 'finish', { ...place, states: state });
  for (const part of ['init', 'step', 'merge'] as const) verifyResults(node[part], state, `${where}, ${part}`);
}
