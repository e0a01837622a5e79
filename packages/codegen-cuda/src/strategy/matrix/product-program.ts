// A product and what follows it as a Block IR program, which the binding of hand-written kernels takes: a program instance computes
// one tile of the result. Both operands are read where they lie, tile by tile along what is summed over; what follows is computed of
// the sums before anything is stored.
import { at, dtypeInfo, get } from '@tsinductor/base';
import { tileSize, tileUses, verifyBlockProgram } from '@tsinductor/ir';
import type { BlockProgram, BufferId, Index, Tile, TileNode } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';
import { keptCost } from '../../block/bind-block.ts';
import { overProduct } from './product.ts';
import type { BufferFacts, MatrixProduct } from './product.ts';
import type { WrittenProgram } from './program-kernel.ts';
import { TileExpressions } from './tile-expressions.ts';
import type { Side, TilePlace } from './tile-expressions.ts';

/** What one program instance computes, and by how many warps. */
export interface ProductTile {
  readonly rows: number;
  readonly columns: number;
  /** Of what is summed over, as much as is brought to shared memory at once. */
  readonly depth: number;
  readonly warps: number;
  readonly stages: number;
}

export function productProgram(product: MatrixProduct, tile: ProductTile, facts: BufferFacts): WrittenProgram {
  const tiles = new TileExpressions(facts);
  new ProductWriter({ product, tile, facts, tiles }).write();
  const program: BlockProgram = {
    name: 'matrix_product',
    params: tiles.params,
    body: { nodes: tiles.builder.nodes, yields: [] },
    constants: {},
    origin: tiles.builder.origin,
  };
  verifyBlockProgram(program);
  return { program, arguments: tiles.arguments };
}

interface Writing {
  readonly product: MatrixProduct;
  readonly tile: ProductTile;
  readonly facts: BufferFacts;
  readonly tiles: TileExpressions;
}

class ProductWriter {
  readonly #product: MatrixProduct;
  readonly #tile: ProductTile;
  readonly #facts: BufferFacts;
  readonly #tiles: TileExpressions;

  constructor({ product, tile, facts, tiles }: Writing) {
    this.#product = product;
    this.#tile = tile;
    this.#facts = facts;
    this.#tiles = tiles;
  }

  write(): void {
    const { rows, columns } = this.#product;
    const batch = this.#tiles.batch(this.#product.batch);
    const first = (axis: 0 | 1, step: number): Tile =>
      this.#tiles.apply('mul', [this.#tiles.programId(axis), this.#tiles.number(step)]);
    const right = this.#tiles.side(columns, {
      first: first(0, this.#tile.columns),
      count: this.#tile.columns,
      across: true,
    });
    const left = this.#tiles.side(rows.axis, {
      first: first(1, this.#tile.rows),
      count: this.#tile.rows,
      across: false,
    });
    const sum = this.#sum({ left, right, batch });
    this.#follow({ left, right, batch }, sum);
  }

  /** The sums of products, in f32. */
  #sum({ left, right, batch }: Sides): Tile {
    const { node, depth } = this.#product;
    const { builder } = this.#tiles;
    const step = this.#tile.depth;
    const shape = [this.#tile.rows, this.#tile.columns];
    const zeros = builder.constant(0, { dtype: 'f32', shape });
    const [from, to, by] = [this.#tiles.number(0), this.#tiles.size(depth.axis.extent), this.#tiles.number(step)];
    const induction = builder.fresh({ dtype: 'i64', shape: [] });
    const carried = builder.fresh({ dtype: 'f32', shape });
    const { region, value } = builder.region(() => {
      const operand = (place: Index, buffer: BufferId, sides: readonly [Side, Side]): Tile =>
        this.#tiles.matrix(buffer, overProduct(place, this.#product), { axes: batch, sides });
      const inner = (across: boolean): Side => this.#tiles.side(depth.axis, { first: induction, count: step, across });
      const x = operand(node.a.at, node.a.buffer, [left, inner(true)]);
      const y = operand(node.b.at, node.b.buffer, [inner(false), right]);
      return builder.op({ op: 'dot', attrs: { precision: 'ieee' }, args: [x, y, carried] });
    });
    const result = builder.fresh({ dtype: 'f32', shape });
    builder.control({
      kind: 'for',
      from: from.id,
      to: to.id,
      step: by.id,
      induction,
      initial: [zeros.id],
      carried: [carried],
      body: { nodes: region.nodes, yields: [value.id] },
      results: [result],
      origin: builder.origin,
    });
    return result;
  }

  /** What becomes of the sums: rounded, stored where somebody reads them, and taken by what follows. */
  #follow({ left, right, batch }: Sides, sum: Tile): void {
    const { node, maps } = this.#product;
    const { builder } = this.#tiles;
    const inside = (shape: readonly number[]): Tile | undefined => {
      const isAlong = (axis: number): boolean => (shape[axis] ?? 1) > 1;
      return this.#tiles.both([isAlong(0) ? left.inside : undefined, isAlong(1) ? right.inside : undefined]);
    };
    const units = [...node.axes, ...maps.flatMap(({ axes }) => axes)].filter(
      ({ extent }) => extent.kind === 'int' && extent.value === 1,
    );
    const axes = new Map<string, Tile>([
      ...units.map(({ name }): [string, Tile] => [name, this.#tiles.number(0)]),
      ...batch,
      [left.axis.name, left.points],
      [right.axis.name, right.points],
    ]);
    const place: TilePlace = { axes, inside, resolve: (index) => overProduct(index, this.#product) };
    const made = new Map<BufferId, Tile>();
    const out = at(node.outs, 0);
    made.set(out, builder.cast(sum, this.#facts.decl(out).dtype));
    for (const map of maps)
      this.#tiles.body(map.body, place, made).forEach((value, slot) => made.set(at(map.outs, slot), value));
    for (const { outs, writes } of [node, ...maps])
      outs.forEach((buffer, slot) => {
        this.#store(buffer, { value: get(made, buffer), offsets: at(writes, slot) }, place);
      });
  }

  #store(
    buffer: BufferId,
    { value, offsets }: { readonly value: Tile; readonly offsets: Index },
    place: TilePlace,
  ): void {
    if (!this.#product.stored.has(buffer)) return;
    const shape = [this.#tile.rows, this.#tile.columns];
    const where = this.#tiles.index(place.resolve(offsets), place.axes);
    this.#tiles.store(buffer, shape, { offsets: where, value, inside: place.inside(shape) });
  }
}

interface Sides {
  readonly left: Side;
  readonly right: Side;
  readonly batch: ReadonlyMap<string, Tile>;
}

/** Bytes of shared memory that a program takes at most: the stages of its operands, or all tiles of the result that threads exchange. */
export function sharedBytes({ program: { body } }: WrittenProgram, { stages }: ProductTile): number {
  const uses = tileUses(body);
  const bytesOf = (nodes: readonly TileNode[]): number =>
    nodes.reduce((bytes, node) => {
      const [result] = node.results;
      if (result === undefined || !isExchanged(node, uses.get(result.id) ?? 0)) return bytes;
      return bytes + tileSize(result.shape) * dtypeInfo[result.dtype].bytes;
    }, 0);
  const operands = body.nodes.flatMap((node) =>
    node.kind === 'for' ? node.body.nodes.filter((inner) => inner.kind === 'op' && inner.op === 'load') : [],
  );
  return Math.max(stages * bytesOf(operands), bytesOf(body.nodes));
}

/** Whether threads hold a tile's elements, and others may ask for them. */
function isExchanged(node: TileNode, uses: number): boolean {
  if (node.kind !== 'op') return node.kind === 'for';
  const isKept = node.op === 'apply' && (pointwise[node.attrs.op].traits.cost ?? 1) >= keptCost && uses > 1;
  return node.op === 'load' || isKept;
}
