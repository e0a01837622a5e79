// What a clock may choose among for a group of maps and reductions: how many vectors stand side by side, how many units threads have, how
// columns and chunks are divided, and how tiles are transposed. In: a group. Out: parameters, as of products.
//
// How results are written is not among them: whether the caches are to have a result matters to those who read it next, whom
// nobody times.
import { bodiesOf, readsOf } from '@tsinductor/ir';
import type { Group, LoopNode, LoopTree, NodeRef } from '@tsinductor/ir';
import { choicesFor } from '../../machine/choices.ts';
import type { ChoicePatch, Choices } from '../../machine/choices.ts';
import type { CpuTarget } from '../../machine/target.ts';
import { anyOf, never, scaled, volumeOf } from './parameter.ts';
import type { ChoiceParameter } from './parameter.ts';

/** Fewer points are done before a clock tells them apart. */
const LEAST_POINTS = 1 << 16;

interface Trying {
  /** Whether blocks of tiles are tried, and none, where accesses lie across the grain. */
  readonly tiles: boolean;
  /** Default: those that a clock tells apart. */
  readonly size?: 'large' | 'any';
}

/** Empty for a group with anything but maps and reductions, of sizes that are not known, or too small to tell. */
export function loopParameters(group: Group, target: CpuTarget, { tiles, size }: Trying): readonly ChoiceParameter[] {
  const { nodes } = group;
  const volumes = nodes.map((node) =>
    node.kind === 'map'
      ? volumeOf(node.axes)
      : node.kind === 'reduce'
        ? volumeOf([...node.axes, ...node.over])
        : undefined,
  );
  const known = volumes.filter((volume) => volume !== undefined);
  if (known.length < nodes.length || Math.max(...known) < (size === 'any' ? 0 : LEAST_POINTS)) return [];
  const choices = choicesFor(target);
  const { unitsPerThread, prefetchesStreams } = choices;
  const across = tiles && nodes.every(({ kind }) => kind === 'map') ? tileParameters(choices) : [];
  const reduces = nodes.some(({ kind }) => kind === 'reduce');
  return [
    anyOf('interleave', [1, 2, 4, 8].map(sideBySide)),
    scaled('unitsPerThread', [0.25, 4], (factor) => ({ unitsPerThread: unitsPerThread * factor })),
    anyOf('prefetchesStreams', [{ prefetchesStreams: !prefetchesStreams }]),
    ...across,
    ...(reduces ? reductionParameters(choices) : []),
  ];
}

const sideBySide = (vectors: number): ChoicePatch => {
  const always = { over: -1, upTo: never, vectors };
  return { interleave: { reductions: always, points: always, instructions: always, chains: always } };
};

/** Of these, some divide sums otherwise. */
const reductionParameters = ({
  columns,
  columnBlock,
  reductionChunk,
  accumulators,
}: Choices): readonly ChoiceParameter[] => [
  scaled('accumulators', [0.25, 0.5, 2, 4], (factor) => ({ accumulators: accumulators * factor })),
  scaled('columnBlock', [0.25, 0.5, 2, 4], (factor) => ({
    columnBlock: { ...columnBlock, reduced: columnBlock.reduced * factor },
  })),
  scaled('columnRows', [0.5, 2], (factor) => ({ columns: { ...columns, rows: columns.rows * factor } })),
  scaled('reductionChunk', [0.25, 4], (factor) => ({ reductionChunk: reductionChunk * factor })),
];

/** Blocks of tiles, and lanes that make tiles or do without. */
const tileParameters = ({
  accessCost,
  cachedTiles,
  transposedBlock,
  phasedBlock,
}: Choices): readonly ChoiceParameter[] => [
  anyOf(
    'accessCost',
    [0.5, 16].map((transposed) => ({ accessCost: { ...accessCost, transposed } })),
  ),
  anyOf(
    'cachedTiles',
    [
      [4, 4],
      [4, 16],
      [16, 16],
      [64, 1],
    ]
      .map(([across = 1, along = 1]) => ({ across, along }))
      .filter(({ across, along }) => across !== cachedTiles.across || along !== cachedTiles.along)
      .map((extent) => ({ cachedTiles: extent })),
  ),
  scaled('transposedBlock', [0.5, 2], (factor) => ({
    transposedBlock: { ...transposedBlock, rows: transposedBlock.rows * factor },
    phasedBlock: { ...phasedBlock, rows: phasedBlock.rows * factor },
  })),
];

/** Several loops that nothing but their kernel joins: all of which compute the same, as the update of many parameters does, or not. */
export function packKind({ nodes, nest }: Group): 'alike' | 'mixed' | undefined {
  const { loops, children } = nest;
  if (loops.length > 0 || children.length < 2) return undefined;
  const parts = children.map((child) => nodesBelow(child).flatMap((place) => nodes[place] ?? []));
  const outs = parts.map((part) => new Set(part.flatMap((node) => node.outs)));
  const isApart = parts.every((part, own) => {
    const reads = part.flatMap((node) => [...readsOf(node)]);
    return outs.every((made, other) => other === own || !reads.some((buffer) => made.has(buffer)));
  });
  if (!isApart) return undefined;
  return new Set(parts.map((part) => part.map(operationsOf).join(';'))).size === 1 ? 'alike' : 'mixed';
}

const nodesBelow = (child: LoopTree | NodeRef): readonly number[] =>
  child.kind === 'node' ? [child.node] : child.children.flatMap(nodesBelow);

/** What a node computes, whatever its buffers and sizes are. */
const operationsOf = (node: LoopNode): string =>
  [
    node.kind,
    ...bodiesOf(node).flatMap(({ nodes }) =>
      nodes.map((one) => `${one.kind === 'apply' ? one.op : one.kind} ${one.dtype}`),
    ),
  ].join();
