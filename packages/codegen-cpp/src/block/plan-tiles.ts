// Which tiles are worth keeping. In: a program. Out: for every tile with elements of its own, the places that use it up
// (sites), and whether it is to be kept in memory or computed at each of them.
//
// A site is a node that is no pure operation (a store, a fold, a product, a loop); what a pure operation uses is used at the
// operation's own sites. Sites count nodes of the tile's own region; what is used inside of a loop or branch is used there
// any number of times.
import { get } from '@tsinductor/base';
import { isElementOp, tileOperands, tileRegions } from '@tsinductor/ir';
import type { Region, Tile, TileId, TileNode, TileOp } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';
import { LaneSteps } from './lane-steps.ts';

export interface UseSite {
  /** The position of the node in the tile's region; past the end for what the region yields. */
  readonly order: number;
  /** Inside of a region of that node. */
  readonly isNested: boolean;
}

interface TileUse {
  readonly sites: readonly UseSite[];
  /** Kept from its first use on. */
  readonly isKept: boolean;
  /** Reads memory, directly or through what it is computed from. */
  readonly reads: ReadonlySet<TileOp>;
  readonly direct: number;
}

export type UsePlan = ReadonlyMap<TileId, TileUse>;

/** Beyond this many machine operations an element is computed once. */
const cheapCost = 3;

export function planUses(body: Region): UsePlan {
  const planning: Planning = { plan: new Map(), costs: new Map(), steps: new LaneSteps(body) };
  planRegion(body, planning);
  return planning.plan;
}

interface Planning {
  readonly plan: Map<TileId, TileUse>;
  readonly costs: Map<TileId, number>;
  readonly steps: LaneSteps;
}

function planRegion(region: Region, planning: Planning): void {
  const { plan, costs, steps } = planning;
  for (const node of region.nodes) for (const inner of tileRegions(node)) planInner(inner, planning);
  const users = usersOf(region);
  const reads = readsOf(region);
  for (const node of region.nodes) if (isElementOp(node)) countCost(node, costs);
  const use = (id: TileId): TileUse => {
    const direct = users.get(id) ?? [];
    const sites = distinct(direct.flatMap((user) => sitesThrough(user, plan)));
    const touched = reads.get(id) ?? new Set<TileOp>();
    const isHeavy = ![...touched].every((load) => steps.isPlain(load)) || (costs.get(id) ?? 0) > cheapCost;
    const isShared = sites.length > 1 || sites.some(({ isNested }) => isNested);
    return { sites, isKept: isHeavy && isShared, reads: touched, direct: direct.length };
  };
  // Users come after what they use: their own sites are known by then.
  for (const node of [...region.nodes].reverse()) for (const { id } of node.results) plan.set(id, use(id));
}

/** A region within a node, and the tiles that the node defines for it. */
function planInner(
  { region, defines }: { readonly region: Region; readonly defines: readonly Tile[] },
  planning: Planning,
): void {
  const { plan } = planning;
  planRegion(region, planning);
  const users = usersOf(region);
  for (const { id } of defines)
    plan.set(id, { sites: [], isKept: false, reads: new Set<TileOp>(), direct: users.get(id)?.length ?? 0 });
}

interface User extends UseSite {
  readonly node: TileNode | undefined;
}

/** Who takes each tile of a region: its nodes, what is inside of them, what the region yields. */
function usersOf(region: Region): ReadonlyMap<TileId, readonly User[]> {
  const users = new Map<TileId, User[]>();
  const add = (id: TileId, user: User): void => {
    users.set(id, [...(users.get(id) ?? []), user]);
  };
  region.nodes.forEach((node, order) => {
    for (const id of tileOperands(node)) add(id, { node, order, isNested: false });
    for (const { region: inner } of tileRegions(node))
      for (const id of new Set(usedWithin(inner))) add(id, { node, order, isNested: true });
  });
  for (const id of region.yields) add(id, { node: undefined, order: region.nodes.length, isNested: false });
  return users;
}

function usedWithin(region: Region): readonly TileId[] {
  return [
    ...region.nodes.flatMap((node) => [
      ...tileOperands(node),
      ...tileRegions(node).flatMap(({ region: inner }) => usedWithin(inner)),
    ]),
    ...region.yields,
  ];
}

/** Where a user uses a tile up: at itself, or where its own result is used. */
function sitesThrough(user: User, plan: UsePlan): readonly UseSite[] {
  const { node, order, isNested } = user;
  const result = node?.results[0];
  if (isNested || node === undefined || result === undefined) return [{ order, isNested }];
  const isComputed = (isElementOp(node) || isLoad(node)) && result.shape.length > 0;
  if (!isComputed) return [{ order, isNested }];
  const use = get(plan, result.id);
  return use.isKept ? use.sites.slice(-1).map(() => firstOf(use.sites)) : use.sites;
}

const firstOf = (sites: readonly UseSite[]): UseSite =>
  sites.reduce((first, site) => (site.order < first.order ? site : first));
const isLoad = (node: TileNode): boolean => node.kind === 'op' && node.op === 'load';

function distinct(sites: readonly UseSite[]): readonly UseSite[] {
  const seen = new Map<string, UseSite>();
  for (const site of sites) seen.set(`${String(site.order)} ${String(site.isNested)}`, site);
  return [...seen.values()];
}

/** The loads that a tile is computed from, within its region. */
function readsOf(region: Region): ReadonlyMap<TileId, ReadonlySet<TileOp>> {
  const reads = new Map<TileId, Set<TileOp>>();
  for (const node of region.nodes) {
    if (node.kind !== 'op') continue;
    const own = node.op === 'load' ? [node] : [];
    const inherited =
      isElementOp(node) || node.op === 'load' ? node.args.flatMap((id) => [...(reads.get(id) ?? [])]) : [];
    for (const { id } of node.results) reads.set(id, new Set<TileOp>([...own, ...inherited]));
  }
  return reads;
}

function countCost(node: TileOp, costs: Map<TileId, number>): void {
  const own = node.op === 'apply' ? (pointwise[node.attrs.op].traits.cost ?? 1) : node.op === 'gather' ? 8 : 0;
  const total = node.args.reduce((sum, id) => sum + (costs.get(id) ?? 0), own);
  // What has no axes is computed once, wherever it is used.
  for (const { id, shape } of node.results) costs.set(id, shape.length === 0 ? 0 : total);
}
