// Reductions and scans: writes the combine region, which sees elements and nothing else.
import { at } from '@tsinductor/base';
import type { FoldNode, Tile, TileId } from '@tsinductor/ir';
import { allTileNodes, tileOperands } from '@tsinductor/ir';
import type { Site } from './coerce.ts';
import { faultAt } from './context.ts';

interface FoldRequest {
  readonly kind: 'reduce' | 'scan';
  readonly args: readonly Tile[];
  readonly axis: number;
  readonly reverse?: boolean;
  readonly combine: (left: readonly Tile[], right: readonly Tile[]) => readonly Tile[];
}

/** What the kernel calls a tile. */
function nameOf(id: TileId, { context: { scope } }: Site): string {
  const name = scope.names().find((candidate) => {
    const value = scope.lookup(candidate);
    return value?.kind === 'tile' && value.tile.id === id;
  });
  return name ?? 'a value';
}

export function foldTiles({ kind, args, axis, reverse = false, combine }: FoldRequest, site: Site): readonly Tile[] {
  const { builder } = site.context;
  const { origin } = builder;
  const sides = (): readonly Tile[] => args.map(({ dtype }) => builder.fresh({ dtype, shape: [] }));
  const [left, right] = [sides(), sides()];
  const { region, value } = builder.sealedRegion(() => combine(left, right));
  const inside = new Set([...left, ...right].map(({ id }) => id));
  const body = { nodes: region.nodes, yields: value.map(({ id }) => id) };
  for (const node of allTileNodes(body)) for (const { id } of node.results) inside.add(id);
  const used = [...region.nodes.flatMap((node) => tileOperands(node)), ...body.yields];
  const foreign = used.find((id) => !inside.has(id));
  if (foreign !== undefined)
    throw faultAt(site.node, site.context, [
      'KERNEL_ARGUMENT',
      `a function that combines elements uses ${nameOf(foreign, site)} of the kernel around it`,
      'use its parameters, numbers and constexprs only: give it more operands if it needs more',
    ]);
  const { shape } = at(args, 0);
  const result = kind === 'scan' ? shape : shape.filter((_, index) => index !== axis);
  const results = args.map(({ dtype }) => builder.fresh({ dtype, shape: result }));
  const node: FoldNode = {
    kind,
    args: args.map(({ id }) => id),
    axis,
    reverse,
    left,
    right,
    combine: body,
    results,
    origin,
  };
  builder.origin = origin;
  return builder.control(node);
}
