// Padding: what groups pass to each other through memory gets rows whose distance is a multiple of some bytes, so that each
// begins at a boundary. Only who lies where changes: every access to a padded buffer is rewritten, which needs loops that
// stay within one of its rows or step over whole ones. Loops that were joined over rows are split for it; where an access
// still crosses rows in some other way, the buffer stays dense, and a decision says so.
//
// In: clusters, after all joins. Out: the same over padded buffers, and a program that declares them.
import { at, dtypeInfo } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import {
  add,
  ceilDivide,
  coefficientOf,
  equal,
  floorDivide,
  freeAxes,
  indexOperands,
  int,
  mapNodeBodies,
  modulo,
  multiply,
  printIndex,
} from '@tsinductor/ir';
import type { Axis, BufferDecl, BufferId, Decision, Index, LoopNode, LoopProgram } from '@tsinductor/ir';
import { refusal, splitCluster, success } from './cluster.ts';
import type { Cluster, Outcome } from './cluster.ts';
import type { Facts } from './facts.ts';
import { bodyReads, buffersRead, loopsOf, overOf } from './node-access.ts';
import { exactQuotient } from './normalize-axes.ts';

export interface Padded {
  readonly program: LoopProgram;
  readonly combinations: readonly (readonly Cluster[])[];
  readonly decisions: readonly Decision[];
}

/** A buffer's strides before and after, of its axes of more than one element, outermost first. */
interface Layout {
  readonly buffer: BufferId;
  readonly from: readonly Index[];
  readonly to: readonly Index[];
}

export function padStrides(
  combinations: readonly (readonly Cluster[])[],
  { facts, config }: { readonly facts: Facts; readonly config: Config },
): Padded {
  const { program } = facts;
  if (!config.comprehensivePadding || config.disablePaddingCpu) return { program, combinations, decisions: [] };
  let clusters: readonly (readonly Cluster[])[] = combinations;
  const decisions: Decision[] = [];
  const buffers = program.buffers.map((decl) => {
    const padded = mayPad(decl, clusters.flat(), config) ? paddedDecl(decl, config) : undefined;
    if (padded === undefined) return decl;
    const outcome = padAll(clusters, layoutOf(decl, padded));
    const strides = padded.strides.map((stride) => printIndex(stride)).join(', ');
    if (!outcome.ok) {
      decisions.push({ kind: 'padded', buffer: decl.name, isDone: false, strides, reason: outcome.reason });
      return decl;
    }
    clusters = outcome.value;
    const reason = `rows begin at multiples of ${String(config.paddingAlignmentBytes)} bytes`;
    decisions.push({ kind: 'padded', buffer: decl.name, isDone: true, strides, reason });
    return padded;
  });
  return { program: { ...program, buffers }, combinations: clusters, decisions };
}

/** A temporary that clusters share, or a result where results may be padded. */
function mayPad({ id, role }: BufferDecl, clusters: readonly Cluster[], { padOutputs }: Config): boolean {
  if (role === 'output') return padOutputs;
  return role === 'temporary' && clusters.filter((cluster) => touches(cluster, id)).length > 1;
}

const touches = ({ nodes }: Cluster, buffer: BufferId): boolean =>
  nodes.some(({ node }) => node.outs.includes(buffer) || buffersRead(node).includes(buffer));

/** The declaration with longer strides where they are above the threshold; undefined where none has to change. */
function paddedDecl(decl: BufferDecl, config: Config): BufferDecl | undefined {
  const order = memoryOrder(decl);
  if (isReordered(order) && !config.padChannelsLast) return undefined;
  const unit = Math.max(1, Math.floor(config.paddingAlignmentBytes / dtypeInfo[decl.dtype].bytes));
  const rounded = (stride: Index): Index => {
    if (stride.kind !== 'int')
      return config.padDynamicShapes ? multiply(ceilDivide(stride, int(unit)), int(unit)) : stride;
    return stride.value > config.paddingStrideThreshold ? int(Math.ceil(stride.value / unit) * unit) : stride;
  };
  const strides = [...decl.strides];
  let reach: Index = int(1);
  for (const axis of order.toReversed()) {
    const stride = axis === order.at(-1) ? reach : rounded(reach);
    strides[axis] = stride;
    reach = multiply(stride, at(decl.shape, axis));
  }
  const isSame = strides.every((stride, axis) => isUnit(at(decl.shape, axis)) || equal(stride, at(decl.strides, axis)));
  return isSame ? undefined : { ...decl, strides, size: reach };
}

const isUnit = (extent: Index): boolean => extent.kind === 'int' && extent.value === 1;

/** The axes as they lie in memory, outermost first: row-major, or with those of dim 1 side by side. */
function memoryOrder({ shape, strides }: BufferDecl): readonly number[] {
  const inOrder = shape.map((_, axis) => axis);
  const hasChannelsLast = shape.length > 2 && isUnit(at(strides, 1)) && !shape.slice(2).every(isUnit);
  return hasChannelsLast ? [...inOrder.filter((axis) => axis !== 1), 1] : inOrder;
}

const isReordered = (order: readonly number[]): boolean => order.some((axis, position) => axis !== position);

export function layoutOf(before: BufferDecl, after: BufferDecl): Layout {
  const long = memoryOrder(before).filter((axis) => !isUnit(at(before.shape, axis)));
  const stridesOf = (decl: BufferDecl): readonly Index[] => long.map((axis) => at(decl.strides, axis));
  return { buffer: before.id, from: stridesOf(before), to: stridesOf(after) };
}

/** Every access to the buffer in its new place, those of `except` apart. */
export function padAll(
  all: readonly (readonly Cluster[])[],
  layout: Layout,
  except?: Cluster,
): Outcome<readonly (readonly Cluster[])[]> {
  const result: Cluster[][] = [];
  for (const combination of all) {
    const padded: Cluster[] = [];
    for (const cluster of combination) {
      const one =
        cluster !== except && touches(cluster, layout.buffer) ? padCluster(cluster, layout) : success(cluster);
      if (!one.ok) return one;
      padded.push(one.value);
    }
    result.push(padded);
  }
  return success(result);
}

function padCluster(cluster: Cluster, layout: Layout): Outcome<Cluster> {
  const isWhole = cluster.nodes.some(
    ({ node }) => node.kind === 'scatter' && [...node.outs, node.initial].includes(layout.buffer),
  );
  if (isWhole) return refusal('a scatter works on all of its elements');
  if (cluster.nodes.some(({ node }) => node.kind === 'sort'))
    return refusal('a sort reads and writes its rows as they are');
  const pieces = piecesOf(cluster, layout);
  const isFixed = ({ node }: Cluster['nodes'][number]): boolean =>
    (node.kind === 'contract' ? loopsOf(node) : node.kind === 'scan' ? overOf(node) : []).some(({ name }) =>
      pieces.has(name),
    );
  if (cluster.nodes.some(isFixed)) return refusal('a loop over its rows cannot be split');
  const split = splitCluster(cluster, pieces);
  const nodes = split.nodes.map(({ node, position }) => ({ node: movedNode(node, layout), position }));
  const { buffer } = layout;
  const isSimple = nodes.every(({ node }, position) => {
    const before = accessesOf(at(split.nodes, position).node, buffer);
    return accessesOf(node, buffer).every((index, place) => divisions(index) <= divisions(at(before, place)));
  });
  return isSimple ? success({ ...split, nodes }) : refusal('it is read across the ends of its rows');
}

/** How the loops that run over several rows are split, so that each piece stays within one or steps over whole ones. */
function piecesOf({ nodes }: Cluster, { buffer, from }: Layout): ReadonlyMap<string, readonly Axis[]> {
  const cuts = new Map<string, { readonly axis: Axis; readonly at: Index[] }>();
  for (const { node } of nodes) {
    for (const index of accessesOf(node, buffer)) {
      for (const axis of loopsOf(node)) {
        const cut = cuts.get(axis.name) ?? { axis, at: [] };
        cut.at.push(
          ...cutsOf(axis, coefficientOf(index, axis), from).filter((one) => !cut.at.some((other) => equal(other, one))),
        );
        if (cut.at.length > 0) cuts.set(axis.name, cut);
      }
    }
  }
  return new Map([...cuts].map(([name, { axis, at: places }]) => [name, cutAxis(axis, places)]));
}

/** After how many steps of `axis`, which moves by `step`, a row of some length ends: where that divides its extent. */
function cutsOf(axis: Axis, step: Index | undefined, strides: readonly Index[]): readonly Index[] {
  if (step === undefined || (step.kind === 'int' && step.value <= 0)) return [];
  return strides.flatMap((stride) => {
    const steps = exactQuotient(stride, step);
    if (steps === undefined || isUnit(steps)) return [];
    const rows = exactQuotient(axis.extent, steps);
    return rows === undefined || isUnit(rows) ? [] : [steps];
  });
}

/** The axis in pieces that end at `cuts`; those that do not divide each other are left out. */
function cutAxis({ name, extent }: Axis, cuts: readonly Index[]): readonly Axis[] {
  const valueOf = (index: Index): number => (index.kind === 'int' ? index.value : Infinity);
  let rest = extent;
  const pieces: Index[] = [];
  for (const cut of [...cuts].sort((a, b) => (valueOf(a) === valueOf(b) ? 0 : valueOf(b) - valueOf(a)))) {
    const outer = exactQuotient(rest, cut);
    if (outer === undefined || isUnit(outer)) continue;
    pieces.push(outer);
    rest = cut;
  }
  return [...pieces, rest].map((piece, position) => ({ name: `${name}p${String(position)}`, extent: piece }));
}

/** Every place at which a node reads or writes the buffer, in the same order before and after it is moved. */
function accessesOf(node: LoopNode, buffer: BufferId): readonly Index[] {
  const operands = [...(node.kind === 'contract' ? [node.a, node.b] : []), ...bodyReads(node)];
  return [
    ...operands.filter((read) => read.buffer === buffer).map((read) => read.at),
    ...node.writes.filter((_, slot) => node.outs[slot] === buffer),
  ];
}

function movedNode(node: LoopNode, layout: Layout): LoopNode {
  const { buffer } = layout;
  if (!node.outs.includes(buffer) && !buffersRead(node).includes(buffer)) return node;
  const operand = <T extends { readonly buffer: BufferId; readonly at: Index }>(read: T): T =>
    read.buffer === buffer ? { ...read, at: moved(read.at, layout) } : read;
  const rebuilt = mapNodeBodies(node, {
    load: (load, builder) => {
      if (load.buffer !== buffer) return undefined;
      const { mask, other } = load;
      const masked = { ...(mask !== undefined && { mask }), ...(other !== undefined && { other }) };
      return builder.load(buffer, load.dtype, moved(load.at, layout), masked);
    },
  });
  const writes = rebuilt.writes.map((write, slot) => (node.outs[slot] === buffer ? moved(write, layout) : write));
  return rebuilt.kind === 'contract'
    ? { ...rebuilt, writes, a: operand(rebuilt.a), b: operand(rebuilt.b) }
    : { ...rebuilt, writes };
}

/** The place of the element that was at `index`. */
function moved(index: Index, { from, to }: Layout): Index {
  let [rest, total] = [index, int(0)];
  from.forEach((stride, axis) => {
    total = add(total, multiply(floorDivide(rest, stride), at(to, axis)));
    rest = modulo(rest, stride);
  });
  return total;
}

/** Divisions of loops in an index: they do not step through it evenly. */
const divisions = (index: Index): number =>
  indexOperands(index).reduce(
    (sum, operand) => sum + divisions(operand),
    (index.kind === 'floorDiv' || index.kind === 'mod') && freeAxes(index).size > 0 ? 1 : 0,
  );
