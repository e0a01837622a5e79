// Walking Block IR: written once, for verifiers, printers and analyses.
import type { BlockProgram, Region, Tile, TileId, TileNode, TileOp } from './block.ts';

/** The tiles that a node itself takes, in order; not those that its regions take. */
export function tileOperands(node: TileNode): readonly TileId[] {
  switch (node.kind) {
    case 'op':
    case 'reduce':
    case 'scan':
      return node.args;
    case 'for':
      return [node.from, node.to, node.step, ...node.initial];
    case 'while':
      return node.initial;
    case 'if':
      return [node.test];
  }
}

/** The regions of a node, each with the tiles that it defines beside its nodes. */
export function tileRegions(node: TileNode): readonly { readonly region: Region; readonly defines: readonly Tile[] }[] {
  switch (node.kind) {
    case 'op':
      return [];
    case 'reduce':
    case 'scan':
      return [{ region: node.combine, defines: [...node.left, ...node.right] }];
    case 'for':
      return [{ region: node.body, defines: [node.induction, ...node.carried] }];
    case 'while':
      return [
        { region: node.test, defines: node.carried },
        { region: node.body, defines: [] },
      ];
    case 'if':
      return [
        { region: node.then, defines: [] },
        { region: node.otherwise, defines: [] },
      ];
  }
}

/** Every node, outer ones before those in their regions. */
export function* allTileNodes(region: Region): Generator<TileNode> {
  for (const node of region.nodes) {
    yield node;
    for (const inner of tileRegions(node)) yield* allTileNodes(inner.region);
  }
}

export type AssertOp = TileOp & { readonly op: 'assert' };

/** The assertions of a program in its order: by their places compiled code says which of them failed. */
export const assertionsOf = ({ body }: BlockProgram): readonly AssertOp[] =>
  [...allTileNodes(body)].filter((node): node is AssertOp => node.kind === 'op' && node.op === 'assert');

/** What touches a buffer, or gathers from a tile: its places may be outside. */
export type PlacedOp = TileOp & { readonly op: 'load' | 'store' | 'atomic' | 'atomicCas' | 'gather' };

const placed: ReadonlySet<string> = new Set<PlacedOp['op']>(['load', 'store', 'atomic', 'atomicCas', 'gather']);

/** The accesses of a program in its order: by their places compiled code says which of them went outside. */
export const accessesOf = ({ body }: BlockProgram): readonly PlacedOp[] =>
  [...allTileNodes(body)].filter((node): node is PlacedOp => node.kind === 'op' && placed.has(node.op));

/** Every tile of a program by its id. */
export function tilesOf(region: Region): ReadonlyMap<TileId, Tile> {
  const tiles = new Map<TileId, Tile>();
  for (const node of allTileNodes(region)) {
    for (const tile of node.results) tiles.set(tile.id, tile);
    for (const { defines } of tileRegions(node)) for (const tile of defines) tiles.set(tile.id, tile);
  }
  return tiles;
}

/** How often each tile is used, as an operand or a yield. */
export function tileUses(region: Region): ReadonlyMap<TileId, number> {
  const uses = new Map<TileId, number>();
  const count = (ids: readonly TileId[]): void => {
    for (const id of ids) uses.set(id, (uses.get(id) ?? 0) + 1);
  };
  const visit = (inner: Region): void => {
    for (const node of inner.nodes) {
      count(tileOperands(node));
      for (const { region: nested } of tileRegions(node)) visit(nested);
    }
    count(inner.yields);
  };
  visit(region);
  return uses;
}
