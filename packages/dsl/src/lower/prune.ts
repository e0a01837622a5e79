// Takes out what nobody uses: operations without an effect, loads and folds whose results no effect and no yield needs.
import { tileOperands, tileOps, tileRegions } from '@tsinductor/ir';
import type { Region, TileId, TileNode } from '@tsinductor/ir';

/** The region without unused nodes; those that are kept are the same objects where nothing inside them changed. */
export function pruneRegion(region: Region): Region {
  return prune(region, new Set());
}

/** Walks backwards, so that every user of a node is seen before it. `needed` collects what is used in and after. */
function prune(region: Region, needed: Set<TileId>): Region {
  for (const id of region.yields) needed.add(id);
  const kept: TileNode[] = [];
  for (const node of [...region.nodes].reverse()) {
    if (!hasEffect(node) && !node.results.some(({ id }) => needed.has(id))) continue;
    for (const id of tileOperands(node)) needed.add(id);
    kept.push(pruneInside(node, needed));
  }
  return { nodes: kept.reverse(), yields: region.yields };
}

function pruneInside(node: TileNode, needed: Set<TileId>): TileNode {
  switch (node.kind) {
    case 'op':
      return node;
    case 'reduce':
    case 'scan':
      return { ...node, combine: prune(node.combine, new Set()) };
    case 'for':
      return { ...node, body: prune(node.body, needed) };
    case 'while': {
      const body = prune(node.body, needed);
      return { ...node, body, test: prune(node.test, needed) };
    }
    case 'if': {
      const then = prune(node.then, needed);
      return { ...node, then, otherwise: prune(node.otherwise, needed) };
    }
  }
}

function hasEffect(node: TileNode): boolean {
  if (node.kind === 'op') return tileOps[node.op].effect !== 'none' && tileOps[node.op].effect !== 'read';
  return tileRegions(node).some(({ region }) => region.nodes.some(hasEffect));
}
