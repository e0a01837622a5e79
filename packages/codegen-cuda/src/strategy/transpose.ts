// Maps that read some buffer along another axis than they write: tiles go through shared memory, so that both reads and
// writes are of neighbouring elements. A row of the tile is one element longer than it needs, so that no two threads of a
// warp meet in one bank.
import { at } from '@tsinductor/base';
import type { Frame } from '@tsinductor/codegen';
import {
  bindAxis,
  emptyFrame,
  hasIndirect,
  nodesBelow,
  parallelBands,
  placesAt,
  product,
  staticValue,
  strideAlong,
} from '@tsinductor/codegen';
import { add, ceilDivide, floorDivide, int, modulo, multiply, printIndex, subtract } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopNode, LoopTree } from '@tsinductor/ir';
import { mapThreads, mostBlocks, tileSide } from '../target.ts';
import { axisValue, clipped, gridOf, loop, nameIndex, nodeAt, threadOf, unravel, writeMap } from './nest.ts';
import type { Grid, Nest } from './nest.ts';

type MapNode = LoopNode & { readonly kind: 'map' };

interface TransposedRead {
  readonly buffer: BufferId;
  readonly position: Index;
}

interface Tiling {
  readonly axes: readonly Axis[];
  readonly nodes: readonly MapNode[];
  /** The axis along which results lie, and that along which the transposed reads lie. */
  readonly along: Axis;
  readonly across: Axis;
  readonly transposed: readonly TransposedRead[];
}

const pitch = tileSide + 1;
const rowsAtOnce = mapThreads / tileSide;
const mostTiles = 3;

/** How a tree of maps goes through tiles; undefined where nothing is transposed, or too little. */
export function planTiling(nest: Nest, tree: LoopTree): Tiling | undefined {
  const axes = parallelBands(tree).map(({ axis }) => axis);
  const nodes = nodesBelow(tree)
    .map((index) => nodeAt(nest, index))
    .filter((node): node is MapNode => node.kind === 'map');
  const along = axes.find((axis) =>
    nodes.every((node) => node.writes.every((write) => strideAlong(write, axis.name) === 1)),
  );
  if (along === undefined || !isLong(along)) return undefined;
  const written = new Set(nodes.flatMap((node) => node.outs));
  for (const across of axes.filter((axis) => axis.name !== along.name && isLong(axis))) {
    const transposed = nodes.flatMap((node) => transposedReads(node, { across, along, written }));
    const distinct = [
      ...new Map(transposed.map((one) => [`${String(one.buffer)} ${printIndex(one.position)}`, one])).values(),
    ];
    if (distinct.length > 0 && distinct.length <= mostTiles)
      return { axes, nodes, along, across, transposed: distinct };
  }
  return undefined;
}

const isLong = (axis: Axis): boolean => (staticValue(axis.extent) ?? tileSide) >= tileSide / 2;

interface Transposing {
  readonly along: Axis;
  readonly across: Axis;
  readonly written: ReadonlySet<BufferId>;
}

const transposedReads = (node: MapNode, { across, along, written }: Transposing): readonly TransposedRead[] =>
  node.body.nodes.flatMap((scalar) => {
    if (scalar.kind !== 'load' || scalar.mask !== undefined || written.has(scalar.buffer)) return [];
    if (hasIndirect(scalar.at) || strideAlong(scalar.at, across.name) !== 1) return [];
    const step = strideAlong(scalar.at, along.name);
    return step === undefined || Math.abs(step) < 2 ? [] : [{ buffer: scalar.buffer, position: scalar.at }];
  });

export function writeTiles(nest: Nest, tiling: Tiling): Grid {
  const { axes, along, across, transposed } = tiling;
  const blockOf = (axis: Axis): Axis => ({ name: `${axis.name}_tile`, extent: ceilDivide(axis.extent, int(tileSide)) });
  const units = axes.map((axis) => (axis.name === along.name || axis.name === across.name ? blockOf(axis) : axis));
  const total = product(units.map(({ extent }) => extent));
  nest.notes.push(
    `map, tiles of ${String(tileSide)} x ${String(tileSide)} of ${along.name} and ${across.name} through shared memory`,
  );
  const tiles = transposed.map(({ buffer }) => {
    const { dtype } = nest.memory.decl(buffer);
    return nest.shared.declare('tile', dtype, tileSide * pitch);
  });
  const range = { from: axisValue(nest, 'block'), to: total, step: axisValue(nest, 'blocks'), extent: total };
  loop(nest, { name: 'tile_number', ...range }, (unit) => {
    const frame = unravel(nest, units, { point: unit, frame: emptyFrame });
    writeTile(nest, tiling, { frame, tiles });
  });
  return gridOf(total, { threads: mapThreads, most: mostBlocks });
}

interface Tile {
  readonly frame: Frame;
  readonly tiles: readonly string[];
}

function writeTile(nest: Nest, tiling: Tiling, { frame, tiles }: Tile): void {
  const { along, across, transposed, nodes } = tiling;
  const first = (axis: Axis): Index => {
    const value = multiply(frame.axes.get(`${axis.name}_tile`) ?? int(0), int(tileSide));
    return nameIndex(nest, { base: `${axis.name}_first`, value, extent: axis.extent });
  };
  const [alongFirst, acrossFirst] = [first(along), first(across)];
  const place = (alongAt: Index, acrossAt: Index): Index =>
    add(multiply(subtract(alongAt, alongFirst), int(pitch)), subtract(acrossAt, acrossFirst));
  walk(
    nest,
    { fast: { axis: across, first: acrossFirst }, slow: { axis: along, first: alongFirst }, frame },
    (inner) => {
      const [alongAt, acrossAt] = [coordinate(inner, along), coordinate(inner, across)];
      transposed.forEach(({ buffer, position }, slot) => {
        const { dtype } = nest.memory.decl(buffer);
        // What an earlier kernel of the group left lies in workspace, as it would in the buffer.
        const name = nest.memory.row(buffer)?.name ?? nest.memory.parameter(buffer).name;
        const type = { dtype, lanes: 1 };
        const from = { buffer: name, at: placesAt(nest, inner).resolve(position), step: int(0), align: 1 };
        const to = { buffer: at(tiles, slot), at: place(alongAt, acrossAt), step: int(0), align: 1 };
        nest.writer.emit({ kind: 'store', access: to, value: { kind: 'load', type, access: from } });
      });
    },
  );
  nest.writer.emit({ kind: 'barrier', scope: 'block' });
  walk(
    nest,
    { fast: { axis: along, first: alongFirst }, slow: { axis: across, first: acrossFirst }, frame },
    (inner) => {
      const here = place(coordinate(inner, along), coordinate(inner, across));
      transposed.forEach(({ buffer, position }, slot) => {
        nest.memory.setTile({ buffer, position, store: false }, { name: at(tiles, slot), at: here });
      });
      for (const node of nodes) writeMap(nest, node, { frame: inner, by: 'thread' });
      nest.memory.clearTiles();
    },
  );
  nest.writer.emit({ kind: 'barrier', scope: 'block' });
}

const coordinate = (frame: Frame, axis: Axis): Index => frame.axes.get(axis.name) ?? int(0);

interface Side {
  readonly axis: Axis;
  readonly first: Index;
}

/** The points of a tile: neighbouring threads along the fast side, each thread every so many of the slow side. */
function walk(
  nest: Nest,
  { fast, slow, frame }: { readonly fast: Side; readonly slow: Side; readonly frame: Frame },
  body: (frame: Frame) => void,
): void {
  const thread = threadOf(nest, mapThreads);
  const [column, row] = [modulo(thread, int(tileSide)), floorDivide(thread, int(tileSide))];
  const range = ({ axis, first }: Side, start: Index, step: number) => ({
    name: axis.name,
    from: add(first, start),
    to: clipped(add(first, int(tileSide)), axis),
    step,
    extent: axis.extent,
    guards: true,
  });
  loop(nest, range(slow, row, rowsAtOnce), (slowAt) => {
    loop(nest, range(fast, column, tileSide), (fastAt) => {
      body(bindAxis(bindAxis(frame, slow.axis.name, slowAt), fast.axis.name, fastAt));
    });
  });
}
