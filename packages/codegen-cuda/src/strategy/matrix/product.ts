// What the matrix instructions need to know of a product and of what follows it. In: a group. Out: the product with its rows and what
// it sums over as one axis each, and how wide its operands may be copied; or why its elements had better be computed one by one.
import { at, dtypeInfo } from '@tsinductor/base';
import { isMultipleOf, product, staticValue, strideAlong } from '@tsinductor/codegen';
import {
  add,
  axisIndex,
  coefficientOf,
  equal,
  floorDivide,
  freeAxes,
  hasIndirects,
  int,
  loadsOf,
  modulo,
  multiply,
  substitute,
} from '@tsinductor/ir';
import type { Axis, BufferDecl, BufferId, ContractOperand, Group, Index, LoopNode } from '@tsinductor/ir';
import { wideBytes } from '../../target.ts';

type Contract = LoopNode & { readonly kind: 'contract' };
type MapNode = LoopNode & { readonly kind: 'map' };

/** Axes of the nest as one: a point of each in terms of a point of it. */
interface Joined {
  readonly axis: Axis;
  readonly points: ReadonlyMap<string, Index>;
}

export interface MatrixProduct {
  readonly node: Contract;
  /** What is computed of each element, in order. */
  readonly maps: readonly MapNode[];
  /** What neither rows, columns nor depth are. */
  readonly batch: readonly Axis[];
  /** The rows of the first operand: m, and all of the batch that the second operand does not depend on. */
  readonly rows: Joined;
  readonly columns: Axis;
  /** What is summed over: of a convolution, places of its window and channels. */
  readonly depth: Joined;
  /** The results that somebody reads in memory. */
  readonly stored: ReadonlySet<BufferId>;
}

export interface BufferFacts {
  readonly decl: (buffer: BufferId) => BufferDecl;
  /** What its address is a multiple of, in bytes. */
  readonly align: (buffer: BufferId) => number;
  /** Whether it has no place in memory. */
  readonly isVirtual: (buffer: BufferId) => boolean;
}

/** Products that matrix instructions have no form for at all: nothing is said of them. */
const hasInstructions = (node: Contract, { decl }: BufferFacts): boolean => {
  const [left, right] = [decl(node.a.buffer).dtype, decl(node.b.buffer).dtype];
  return left === right && (left === 'f16' || left === 'bf16') && node.accumulate === 'f32';
};

/** A product for the matrix instructions, or why it is none; undefined where they do not know its dtype. */
export function matrixProduct(group: Group, facts: BufferFacts): MatrixProduct | string | undefined {
  const products = group.nodes.filter((node): node is Contract => node.kind === 'contract');
  const [node] = products;
  if (node === undefined || products.length > 1 || !hasInstructions(node, facts)) return undefined;
  const { a, b, m, n } = node;
  if (a.element !== undefined || b.element !== undefined) return 'an operand is computed as it is read';
  const maps = group.nodes.filter((other): other is MapNode => other.kind === 'map');
  if (!isFollowed(group, node, maps)) return 'what follows it is not computed of its elements alone';
  if (isSmall(node)) return 'it is smaller than a fragment';
  const sides: readonly Operand[] = [
    { operand: a, side: m },
    { operand: b, side: n },
  ];
  const narrow = sides.find((one) => copyBytes(one, node, facts) < leastCopy);
  if (narrow !== undefined)
    return `neighbours in ${facts.decl(narrow.operand.buffer).name} do not lie in aligned pairs`;
  const isFree = ({ name }: Axis): boolean => !freeAxes(b.at).has(name);
  const first = node.batch.findLastIndex((axis) => !isFree(axis)) + 1;
  return {
    node,
    maps,
    batch: node.batch.slice(0, first),
    rows: joined([...node.batch.slice(first), node.m]),
    columns: n,
    depth: joined(node.over),
    stored: new Set(group.nodes.flatMap(({ outs }) => outs.filter((out) => !facts.isVirtual(out)))),
  };
}

/** Bytes of an asynchronous copy at least. */
const leastCopy = 4;

/** Fewer than this many in a row of both operands, or rows and columns both, leave most of a fragment empty. */
const leastDepth = 16;
const leastSide = 16;

function isSmall({ m, n, over, batch }: Contract): boolean {
  const depth = staticValue(product(over.map(({ extent }) => extent))) ?? Infinity;
  const rows = staticValue(product([...batch, m].map(({ extent }) => extent))) ?? Infinity;
  return depth < leastDepth || Math.max(rows, staticValue(n.extent) ?? Infinity) < leastSide;
}

/** Whether all other nodes are maps of the product's elements, which are read where they are made. */
export function isFollowed(group: Pick<Group, 'nodes' | 'locals'>, node: Contract, maps: readonly MapNode[]): boolean {
  if (maps.length + 1 < group.nodes.length || group.nodes[0] !== node) return false;
  if (group.locals.some(({ kind }) => kind !== 'scalar')) return false;
  const places = new Map<BufferId, Index>();
  const own = new Set(node.axes.map(({ name }) => name));
  const write = ({ outs, writes, axes }: LoopNode): boolean => {
    outs.forEach((out, slot) => places.set(out, at(writes, slot)));
    const isInside = axes.every(({ name, extent }) => own.has(name) || (extent.kind === 'int' && extent.value === 1));
    return isInside && writes.every((place) => !hasIndirects(place));
  };
  const made = new Set(group.nodes.flatMap(({ outs }) => outs));
  return (
    write(node) &&
    maps.every((map) => {
      const isPlain = map.body.nodes.every(
        (scalar) => scalar.kind !== 'check' && !(scalar.kind === 'index' && hasIndirects(scalar.value)),
      );
      const isHere = loadsOf(map.body).every(({ buffer, at: place, mask }) => {
        if (hasIndirects(place)) return false;
        const own = places.get(buffer);
        return !made.has(buffer) || (own !== undefined && mask === undefined && equal(own, place));
      });
      const isWhole = map.axes.every((axis) =>
        node.axes.every((other) => other.name !== axis.name || equal(other.extent, axis.extent)),
      );
      return isPlain && isHere && isWhole && write(map);
    })
  );
}

interface Operand {
  readonly operand: ContractOperand;
  /** Its rows, or its columns. */
  readonly side: Axis;
}

/** Bytes of neighbours that one copy of an operand moves: along the innermost axis of what is summed over, or along its rows or columns. */
function copyBytes({ operand, side }: Operand, { batch, over }: Contract, { decl, align }: BufferFacts): number {
  const { buffer, at: place } = operand;
  const { bytes } = dtypeInfo[decl(buffer).dtype];
  const axes = [...batch, side, ...over];
  const along = [at(over, over.length - 1), side].find((axis) => strideAlong(place, axis.name) === 1);
  if (along === undefined) return bytes;
  const start = substitute(place, new Map(axes.map(({ name }) => [name, int(0)])));
  const steps = axes.filter((axis) => axis !== along).map((axis) => coefficientOf(place, axis));
  const fits = (width: number): boolean =>
    [start, along.extent, ...steps].every((index) => index !== undefined && isMultipleOf(index, width));
  const widths = [8, 4, 2].filter((width) => width * bytes <= Math.min(wideBytes, align(buffer)));
  return (widths.find(fits) ?? 1) * bytes;
}

/** Axes as one, the last of them the fastest. */
function joined(axes: readonly Axis[]): Joined {
  const [first, ...others] = axes;
  if (first !== undefined && others.length === 0)
    return { axis: first, points: new Map([[first.name, axisIndex(first)]]) };
  const axis: Axis = {
    name: axes.map(({ name }) => name).join('_'),
    extent: product(axes.map(({ extent }) => extent)),
  };
  const points = new Map<string, Index>();
  let rest: Index = axisIndex(axis);
  for (const part of axes.toReversed()) {
    points.set(part.name, part === first ? rest : modulo(rest, part.extent));
    rest = floorDivide(rest, part.extent);
  }
  return { axis, points };
}

/** An index over the nest's axes as one over those of the product. */
export const overProduct = (index: Index, { rows, depth }: MatrixProduct): Index =>
  substitute(index, new Map([...rows.points, ...depth.points]));

/** How many tiles of a size the result has: across, down, and in the batch. */
export const tilesOf = (
  { batch, rows, columns }: MatrixProduct,
  tile: { readonly rows: number; readonly columns: number },
): readonly [Index, Index, Index] => {
  const count = (extent: Index, side: number): Index => floorDivide(add(extent, int(side - 1)), int(side));
  return [
    count(columns.extent, tile.columns),
    count(rows.axis.extent, tile.rows),
    batch.reduce<Index>((all, { extent }) => multiply(all, extent), int(1)),
  ];
};
