// Maps: each thread of the grid takes every so many points. Where elements lie side by side and aligned, a thread takes a
// chunk of them and moves it with one access per buffer; what is computed is the same, element by element.
import { dtypeInfo } from '@tsinductor/base';
import type { Frame } from '@tsinductor/codegen';
import {
  bindAxis,
  emptyFrame,
  hasIndirect,
  isMultipleOf,
  nodesBelow,
  parallelBands,
  placesAt,
  roundDown,
  shorterAxes,
  staticValue,
  strideAlong,
} from '@tsinductor/codegen';
import { add, floorDivide, int, multiply, printIndex } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopBand, LoopNode, LoopTree } from '@tsinductor/ir';
import { mapThreads, mostBlocks, wideBytes } from '../target.ts';
import {
  byThreadsOfGrid,
  gridOf,
  gridThreads,
  loop,
  nameIndex,
  nodeAt,
  share,
  threadOfGrid,
  writeMap,
} from './nest.ts';
import type { Grid, Nest } from './nest.ts';
import { outerPoints } from './team.ts';

type MapNode = LoopNode & { readonly kind: 'map' };

/** One buffer's elements at a chunk of points. */
interface Moved {
  readonly buffer: BufferId;
  readonly position: Index;
  readonly store: boolean;
}

interface Chunks {
  readonly axis: Axis;
  readonly width: number;
  readonly moved: readonly Moved[];
}

export function writePointwise(nest: Nest, tree: LoopTree): Grid {
  const nodes = nodesBelow(tree)
    .map((index) => nodeAt(nest, index))
    .filter((node): node is MapNode => node.kind === 'map');
  const bands = parallelBands(tree);
  const axes = bands.map(({ axis }) => axis);
  // Chunks would reach past the points of what is shorter than its loops.
  const isWhole = nodes.every((node) => shorterAxes(node, bands).length === 0);
  const chunks = isWhole ? planChunks(nest, axes, nodes) : undefined;
  if (chunks === undefined) {
    nest.notes.push('map, one lane');
    const sharing = byThreadsOfGrid(nest, mapThreads);
    share(nest, axes, {
      sharing,
      frame: emptyFrame,
      body: (frame) => {
        writeShared(nest, { nodes, bands, frame });
      },
    });
    return mapGrid(outerPoints(tree));
  }
  nest.notes.push(`map, ${String(chunks.width)} lanes of ${chunks.axis.name}`);
  writeChunks(nest, { axes, nodes, chunks });
  const units = axes.map(({ name, extent }) =>
    name === chunks.axis.name ? floorDivide(extent, int(chunks.width)) : extent,
  );
  return mapGrid(units.reduce(multiply, int(1)));
}

const mapGrid = (points: Index): Grid => {
  const blocks = floorDivide(add(points, int(mapThreads - 1)), int(mapThreads));
  return gridOf(blocks.kind === 'int' ? blocks : add(blocks, int(1)), { threads: mapThreads, most: mostBlocks });
};

interface SharedPoint {
  readonly nodes: readonly MapNode[];
  readonly bands: readonly LoopBand[];
  readonly frame: Frame;
}

/** Those nodes of a point that have it: what is shorter than a loop tests where it is. */
function writeShared(nest: Nest, { nodes, bands, frame }: SharedPoint): void {
  const { writer } = nest;
  for (const node of nodes) {
    const within = shorterAxes(node, bands).reduceRight<() => void>(
      (write, { name, extent }) =>
        () => {
          const test = { kind: 'less', left: frame.axes.get(name) ?? int(0), right: extent } as const;
          writer.emit({ kind: 'if', test, then: writer.sealedBlock([], write) });
        },
      () => {
        writePoint(nest, [node], frame);
      },
    );
    within();
  }
}

function writePoint(nest: Nest, nodes: readonly MapNode[], frame: Frame): void {
  for (const node of nodes) writeMap(nest, node, { frame, by: 'thread' });
}

/** Chunks of the last axis, if whole chunks of it are aligned in some buffer. */
function planChunks(nest: Nest, axes: readonly Axis[], nodes: readonly MapNode[]): Chunks | undefined {
  const axis = axes.at(-1);
  if (axis === undefined || nodes.some(containsCheck)) return undefined;
  const written = new Set(nodes.flatMap((node) => node.outs));
  const candidates = nodes.flatMap(movesOf).filter((moved) => isAlong(nest, moved, { axis, written }));
  const bytes = Math.max(0, ...candidates.map(({ buffer }) => nest.memory.bytesOf(buffer)));
  const width = bytes === 0 ? 1 : Math.floor(wideBytes / bytes);
  const extent = staticValue(axis.extent);
  const isWhole = extent !== undefined && extent % width === 0;
  if (width < 2 || (axes.length > 1 && !isWhole) || (extent !== undefined && extent < width)) return undefined;
  const moved = distinct(candidates).filter((one) => isAligned(nest, one, { axis, width }));
  return moved.length === 0 ? undefined : { axis, width, moved };
}

/** A failed index must not depend on how points are grouped, and a gather gains nothing. */
const containsCheck = (node: MapNode): boolean => node.body.nodes.some(({ kind }) => kind === 'check');

const movesOf = (node: MapNode): readonly Moved[] => [
  ...node.body.nodes.flatMap((scalar) =>
    scalar.kind === 'load' && scalar.mask === undefined
      ? [{ buffer: scalar.buffer, position: scalar.at, store: false }]
      : [],
  ),
  ...node.outs.flatMap((buffer, slot) => {
    const position = node.writes[slot];
    return position === undefined ? [] : [{ buffer, position, store: true }];
  }),
];

interface Along {
  readonly axis: Axis;
  readonly written: ReadonlySet<BufferId>;
}

function isAlong(nest: Nest, { buffer, position, store }: Moved, { axis, written }: Along): boolean {
  const { memory } = nest;
  if (memory.isVirtual(buffer) || memory.row(buffer) !== undefined) return false;
  return (store || !written.has(buffer)) && !hasIndirect(position) && strideAlong(position, axis.name) === 1;
}

const keyOf = ({ buffer, position, store }: Moved): string =>
  `${String(store)} ${String(buffer)} ${printIndex(position)}`;

const distinct = (moves: readonly Moved[]): readonly Moved[] => [
  ...new Map(moves.map((moved) => [keyOf(moved), moved])).values(),
];

/** Whether the first element of every chunk lies at a multiple of the chunk's bytes. */
function isAligned(nest: Nest, { buffer, position }: Moved, { axis, width }: { axis: Axis; width: number }): boolean {
  const bytes = nest.memory.bytesOf(buffer) * width;
  const { align } = nest.memory.parameter(buffer);
  return align % bytes === 0 && isMultipleOf(position, width, new Map([[axis.name, width]]));
}

interface Chunked {
  readonly axes: readonly Axis[];
  readonly nodes: readonly MapNode[];
  readonly chunks: Chunks;
}

function writeChunks(nest: Nest, { axes, nodes, chunks }: Chunked): void {
  const { axis, width } = chunks;
  const chunkAxis: Axis = { name: `${axis.name}_chunk`, extent: floorDivide(axis.extent, int(width)) };
  const chunked = axes.map((one) => (one.name === axis.name ? chunkAxis : one));
  share(nest, chunked, {
    sharing: byThreadsOfGrid(nest, mapThreads),
    frame: emptyFrame,
    body: (frame) => {
      const first = multiply(frame.axes.get(chunkAxis.name) ?? int(0), int(width));
      const start = nameIndex(nest, { base: axis.name, value: first, extent: axis.extent });
      writeChunk(nest, { axes, nodes, chunks }, { frame, start });
    },
  });
  if (!isMultipleOf(axis.extent, width)) writeTail(nest, { axes, nodes, chunks });
}

function writeChunk(nest: Nest, { nodes, chunks }: Chunked, { frame, start }: { frame: Frame; start: Index }): void {
  const { memory, writer } = nest;
  const { axis, width, moved } = chunks;
  const places = placesAt(nest, bindAxis(frame, axis.name, start));
  const copies = moved.map((one) => {
    const { dtype, name } = memory.parameter(one.buffer);
    const chunk = writer.fresh(`${memory.decl(one.buffer).name}_chunk`);
    writer.emit({ kind: 'scratch', name: chunk, dtype, size: width });
    const align = dtypeInfo[dtype].bytes * width;
    const inMemory = { buffer: name, at: places.resolve(one.position), step: int(1), align };
    return {
      ...one,
      chunk,
      inMemory,
      inScratch: { buffer: chunk, at: int(0), step: int(1), align },
      type: { dtype, lanes: width },
    };
  });
  for (const { store, type, inMemory, inScratch } of copies)
    if (!store) writer.emit({ kind: 'store', access: inScratch, value: { kind: 'load', type, access: inMemory } });
  loop(nest, { name: 'element', from: int(0), to: int(width), unroll: width, extent: int(width) }, (element) => {
    for (const { buffer, position, store, chunk } of copies)
      memory.setTile({ buffer, position, store }, { name: chunk, at: element });
    writePoint(nest, nodes, bindAxis(frame, axis.name, add(start, element)));
    memory.clearTiles();
  });
  for (const { store, type, inMemory, inScratch } of copies)
    if (store) writer.emit({ kind: 'store', access: inMemory, value: { kind: 'load', type, access: inScratch } });
}

/** The elements after the last whole chunk of a single axis. */
function writeTail(nest: Nest, { nodes, chunks }: Chunked): void {
  const { axis, width } = chunks;
  const from = add(roundDown(axis.extent, width), threadOfGrid(nest, mapThreads));
  const step = gridThreads(nest, mapThreads);
  loop(nest, { name: axis.name, from, to: axis.extent, step, extent: axis.extent, guards: true }, (value) => {
    writePoint(nest, nodes, bindAxis(emptyFrame, axis.name, value));
  });
}
