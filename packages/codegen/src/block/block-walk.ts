// What a target does at the places of the walk over a Block IR program (`BlockWalk`; the walk is in control.ts), and what all of them
// do: the instance's place in the grid, scalars where they stand.
import { at } from '@tsinductor/base';
import { floorDivide, modulo } from '@tsinductor/ir';
import type { ElementOp, FoldNode, ForNode, Index, Region, Stmt, Tile, TileId, TileOp, Value } from '@tsinductor/ir';
import { gridSize, scalarIndex } from './block-names.ts';
import type { BlockScope } from './block-scope.ts';
import { scalarIndexOf } from './statements.ts';
import { scalarTileIndex } from './tile-index.ts';

/** Memory of a target's in which the elements of a tile are, as long as they go round or come from a branch. */
export interface TilePlaces<Place> {
  /** Memory that begins as `from`. */
  copy(tile: Tile, from: TileId): Place;
  /** Memory of any content. */
  reserve(tile: Tile): Place;
  /** Writes `from` to it. */
  fill(tile: Tile, place: Place, from: TileId): void;
  /** The elements of the tile are there. */
  hold(tile: Tile, place: Place): void;
  /** Writes all tiles to their places: everything is read before anything is overwritten. */
  advance(moves: readonly { readonly tile: Tile; readonly place: Place; readonly next: TileId }[]): void;
  /** Whether a tile that begins as `from` may be `from` with a scalar added to each element. */
  mayShift(from: TileId): boolean;
}

export interface BlockWalk<Place> {
  readonly scope: BlockScope;
  readonly places: TilePlaces<Place>;
  /** The value of a tile without axes, or of one of which all elements are the same. */
  scalar(id: TileId): Value;
  /** Statements of a loop over nodes of `regions`, and of a branch. */
  loop(names: readonly string[], regions: readonly Region[], body: () => void): readonly Stmt[];
  branch(body: () => void): readonly Stmt[];
  /** Binds a loop that counts up in a way of the target's own, if it has one. */
  countUp?(loop: CountedLoop): boolean;
  /** Before the node at `order` of a region. */
  before?(region: Region, order: number): void;
  fold(node: FoldNode): void;
  /** A pure operation. */
  element(node: ElementOp): void;
  load(node: Op<'load'>): void;
  store(node: Op<'store'>): void;
  atomic(node: Op<'atomic' | 'atomicCas'>): void;
  dot(node: Op<'dot'>): void;
  print(node: Op<'print'>): void;
  barrier(): void;
}

type Op<Name extends TileOp['op']> = TileOp & { readonly op: Name };

export interface CountedLoop {
  readonly node: ForNode;
  readonly from: Index;
  readonly to: Index;
  readonly step: number;
  /** Tiles that every iteration adds a scalar to. */
  readonly moved: readonly MovedTile[];
  /** The statements of one iteration. */
  readonly iterate: (induction: Index) => void;
}

export interface MovedTile {
  readonly tile: Tile;
  readonly base: TileId;
  /** The scalar, or a tile of which all elements are it. */
  readonly amount: TileId;
  readonly isDown: boolean;
}

/** `unit` = id0 + grid0 * (id1 + grid1 * id2): the instance's place in the grid. */
export function bindProgramIds(unit: Index, scope: BlockScope): void {
  const { writer, programIds } = scope;
  scope.unit = unit;
  const rows = floorDivide(unit, gridSize(0));
  const ids = [modulo(unit, gridSize(0)), modulo(rows, gridSize(1)), floorDivide(rows, gridSize(1))];
  ids.forEach((id, axis) => {
    const name = writer.fresh(`program${String(axis)}`);
    writer.emit({ kind: 'let', name, value: { kind: 'index', value: id, type: { dtype: 'i64', lanes: 1 } } });
    programIds.push(scalarIndex(name));
  });
}

/** A pure operation or load without axes: it is computed now. */
export function bindScalar<Place>(node: ElementOp | (TileOp & { readonly op: 'load' }), walk: BlockWalk<Place>): void {
  const { scope } = walk;
  const { id } = at(node.results, 0);
  scope.learn(id, { kind: 'virtual', node });
  const index = scalarTileIndex(id, scope);
  const value = walk.scalar(id);
  scope.learn(id, { kind: 'scalar', value, index: index ?? scalarIndexOf(value) });
}
