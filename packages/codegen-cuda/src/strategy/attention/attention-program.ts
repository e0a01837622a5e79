// Attention as a Block IR program: a program instance computes some rows of the result, and runs over the keys a tile at a time. Of each
// row it keeps the largest score so far, the sum of powers, and the sum of values by powers; where a tile brings a larger score, what was
// summed before is scaled down (Milakov and Gimelshein, https://arxiv.org/abs/1805.02867; Dao et al., https://arxiv.org/abs/2205.14135).
// So nothing has as many elements as there are pairs of a query and a key.
//
// Keys that a mask leaves out for all rows of a tile are not multiplied. Their weights are 0, and 0 by a value is 0 unless that is infinite
// or NaN: so the values are looked at, and 0 by each of them is added to the result.
import { at } from '@tsinductor/base';
import { nextPowerOfTwo, staticValue } from '@tsinductor/codegen';
import type { BlockTable } from '@tsinductor/codegen';
import { ceilDivide, int, verifyBlockProgram } from '@tsinductor/ir';
import type { Axis, BlockProgram, BufferId, Index, Tile } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';
import type { BufferFacts } from '../matrix/product.ts';
import type { WrittenProgram } from '../matrix/program-kernel.ts';
import { TileExpressions } from '../matrix/tile-expressions.ts';
import type { Side, TilePlace } from '../matrix/tile-expressions.ts';
import type { Attention } from './attention.ts';
import { columnName, isUnit } from './softmax.ts';

/** What one program instance computes at a time, and by how many warps. */
export interface AttentionTile {
  readonly rows: number;
  readonly columns: number;
  readonly warps: number;
  readonly stages: number;
}

export function attentionProgram(attention: Attention, tile: AttentionTile, facts: BufferFacts): WrittenProgram {
  const tiles = new TileExpressions(facts);
  new AttentionWriter({ attention, tile, facts, tiles }).write();
  const program: BlockProgram = {
    name: 'attention',
    params: tiles.params,
    body: { nodes: tiles.builder.nodes, yields: [] },
    constants: {},
    origin: tiles.builder.origin,
  };
  verifyBlockProgram(program);
  return { program, arguments: tiles.arguments };
}

interface Writing {
  readonly attention: Attention;
  readonly tile: AttentionTile;
  readonly facts: BufferFacts;
  readonly tiles: TileExpressions;
}

/** What is known of each row after some tiles of keys. */
interface Running {
  /** The largest score. */
  readonly most: Tile;
  /** Sums of powers, one for each column of a tile. */
  readonly powers: Tile;
  /** Sums of values by powers. */
  readonly values: Tile;
}

/** The keys of which all rows of a tile take no notice are outside of these. */
interface Range {
  readonly from: Tile;
  readonly to: Tile;
}

/** A multiple of a fragment's sides. */
const leastSide = 16;

const sideOf = ({ extent }: Axis): number => Math.max(leastSide, nextPowerOfTwo(staticValue(extent) ?? 1));

class AttentionWriter {
  readonly #attention: Attention;
  readonly #tile: AttentionTile;
  readonly #facts: BufferFacts;
  readonly #tiles: TileExpressions;
  /** The points of the batch, and those of axes that have only one. */
  readonly #batch: ReadonlyMap<string, Tile>;
  /** The rows of this instance, and the whole width of a value. */
  readonly #rows: Side;
  readonly #width: Side;

  constructor({ attention, tile, facts, tiles }: Writing) {
    this.#attention = attention;
    this.#tile = tile;
    this.#facts = facts;
    this.#tiles = tiles;
    const { scores, values, maps, batch } = attention;
    const units = [scores, values, ...maps].flatMap(({ axes }) => axes.filter(isUnit));
    this.#batch = new Map([...units.map(({ name }): [string, Tile] => [name, tiles.number(0)]), ...tiles.batch(batch)]);
    this.#rows = tiles.side(attention.rows, { first: this.#firstRow(), count: tile.rows, across: false });
    this.#width = tiles.side(values.n, { first: tiles.number(0), count: sideOf(values.n), across: true });
  }

  write(): void {
    const range = this.#range();
    const after = this.#run(range);
    const spoilt = this.#unseen(range);
    const values = spoilt === undefined ? after.values : this.#apply('add', after.values, spoilt);
    this.#finish({ ...after, values });
  }

  /** Where later rows see more keys, those begin first: what ends last is short. */
  #firstRow(): Tile {
    const { rows, bounds } = this.#attention;
    const tiles = this.#tiles;
    const number = tiles.programId(0);
    const last = tiles.size(ceilDivide(rows.extent, int(this.#tile.rows)));
    const own =
      bounds?.ahead === undefined ? number : this.#apply('sub', this.#apply('sub', last, tiles.number(1)), number);
    return this.#apply('mul', own, tiles.number(this.#tile.rows));
  }

  #apply(op: PointwiseName, ...args: readonly Tile[]): Tile {
    return this.#tiles.apply(op, args);
  }

  #number(value: number): Tile {
    return this.#tiles.builder.constant(value, { dtype: 'f32', shape: [] });
  }

  /** The columns from the first that counts for a row of the tile to the end of those that do. */
  #range(): Range {
    const { bounds, scores } = this.#attention;
    const tiles = this.#tiles;
    const first = this.#firstRow();
    const { rows, columns } = this.#tile;
    const step = tiles.number(columns);
    const inTable = bounds?.table && this.#inTable(bounds.table, first);
    const begins = [
      ...(bounds?.behind === undefined ? [] : [this.#apply('sub', first, tiles.number(bounds.behind))]),
      ...(inTable === undefined ? [] : [inTable.from]),
    ];
    const ends = [
      ...(bounds?.ahead === undefined ? [] : [this.#apply('add', first, tiles.number(rows + bounds.ahead))]),
      ...(inTable === undefined ? [] : [inTable.to]),
    ];
    const begin = [...begins, tiles.number(0)].reduce((left, right) => this.#apply('maximum', left, right));
    const to = [...ends, tiles.size(scores.n.extent)].reduce((left, right) => this.#apply('minimum', left, right));
    const from = begins.length === 0 ? begin : this.#apply('mul', this.#apply('divFloor', begin, step), step);
    return { from, to };
  }

  /** From the first block of columns that a table has for rows of the tile to the end of its last one; the other way round: it has none. */
  #inTable({ buffer, at: place, rows, columns }: BlockTable, first: Tile): Range {
    const tiles = this.#tiles;
    const across = tiles.side(columns.axis, { first: tiles.number(0), count: sideOf(columns.axis), across: true });
    const sides = rows === undefined ? [across] : [this.#blockRows(rows, first), across];
    const used = tiles.matrix(buffer, place, { axes: this.#batch, sides });
    const start = this.#apply('mul', across.points, tiles.number(columns.size));
    const end = this.#apply('add', start, tiles.number(columns.size));
    const folded = (bounds: Tile, none: Tile, op: 'maximum' | 'minimum'): Tile => {
      const tile = this.#apply('where', used, bounds, none);
      return tiles.builder.reshape(this.#fold(op, this.#fold(op, tile, 1), 0), []);
    };
    return {
      from: folded(start, tiles.size(this.#attention.scores.n.extent), 'minimum'),
      to: folded(end, tiles.number(0), 'maximum'),
    };
  }

  /** The blocks of rows of which the tile has any. */
  #blockRows({ axis, size }: NonNullable<BlockTable['rows']>, first: Tile): Side {
    const tiles = this.#tiles;
    const { rows } = this.#tile;
    const blocks = tiles.side(axis, {
      first: this.#apply('divFloor', first, tiles.number(size)),
      count: nextPowerOfTwo(Math.ceil(rows / size) + 1),
      across: false,
    });
    const start = this.#apply('mul', blocks.points, tiles.number(size));
    const isInTile = this.#apply('lt', start, this.#apply('add', first, tiles.number(rows)));
    return { ...blocks, inside: tiles.both([this.#apply('lt', blocks.points, tiles.size(axis.extent)), isInTile]) };
  }

  /** The loop over tiles of keys. */
  #run(range: Range): Running {
    const { scores } = this.#attention;
    const { builder } = this.#tiles;
    const { rows, columns } = this.#tile;
    const depth = (across: boolean): Side =>
      this.#tiles.side(at(scores.over, 0), {
        first: this.#tiles.number(0),
        count: sideOf(at(scores.over, 0)),
        across,
      });
    const queries = this.#matrix(scores.a, [this.#rows, depth(true)]);
    const filled = (value: number, shape: readonly number[]): Tile => builder.constant(value, { dtype: 'f32', shape });
    const width = at(this.#width.points.shape, 1);
    const start = [filled(-Infinity, [rows, 1]), filled(0, [rows, columns]), filled(0, [rows, width])];
    const [most, powers, values] = this.#loop(range, start, (first, carried) => {
      const before = runningOf(carried);
      const keys = this.#matrix(scores.b, [depth(false), this.#columns(scores.n, { first, across: true })]);
      const next = this.#step({ first, products: this.#dot(queries, keys) }, before);
      return [next.most, next.powers, next.values];
    });
    return runningOf([most, powers, values]);
  }

  #matrix({ buffer, at: place }: { readonly buffer: BufferId; readonly at: Index }, sides: readonly Side[]): Tile {
    return this.#tiles.matrix(buffer, place, { axes: this.#batch, sides });
  }

  #columns(axis: Axis, { first, across }: { readonly first: Tile; readonly across: boolean }): Side {
    return this.#tiles.side(axis, { first, count: this.#tile.columns, across });
  }

  #dot(left: Tile, right: Tile, sum?: Tile): Tile {
    const args = [left, right, ...(sum === undefined ? [] : [sum])];
    return this.#tiles.builder.op({ op: 'dot', attrs: { precision: 'ieee' }, args });
  }

  /** One tile of keys. */
  #step({ first, products }: { readonly first: Tile; readonly products: Tile }, before: Running): Running {
    const { values, softmax } = this.#attention;
    const { builder } = this.#tiles;
    const across = this.#columns(
      { name: columnName, extent: this.#attention.scores.n.extent },
      { first, across: true },
    );
    const score = this.#scores(products, across);
    const most = this.#apply('maximum', before.most, this.#fold('maximum', this.#kept(score, across), 1));
    const shift = this.#apply('where', this.#apply('eq', most, this.#number(-Infinity)), this.#number(0), most);
    const scale = this.#apply('exp', this.#apply('sub', before.most, shift));
    const difference = this.#cut(this.#apply('sub', score, shift), softmax.cutoff);
    const power = this.#apply('exp', this.#kept(difference, across));
    const down = this.#columns(at(values.over, 0), { first, across: false });
    const tile = this.#matrix(values.b, [down, this.#width]);
    const weights = builder.cast(power, this.#facts.decl(values.a.buffer).dtype);
    return {
      most,
      powers: this.#apply('add', this.#apply('mul', before.powers, scale), power),
      values: this.#dot(weights, tile, this.#apply('mul', before.values, scale)),
    };
  }

  /** Scores of a tile, made of the products, which are rounded as they would be in memory. */
  #scores(products: Tile, across: Side): Tile {
    const { scores, softmax } = this.#attention;
    const buffer = at(scores.outs, 0);
    const made = new Map([[buffer, this.#tiles.builder.cast(products, this.#facts.decl(buffer).dtype)]]);
    const place = this.#place([this.#rows, across]);
    const body = { nodes: softmax.body.nodes, results: softmax.body.results.slice(0, 1) };
    const [score] = this.#tiles.body(body, place, made);
    return this.#tiles.builder.broadcast(score ?? products, [this.#tile.rows, this.#tile.columns]);
  }

  /** What is computed there, infinitely far below all others in columns that do not exist. */
  #kept(value: Tile, { inside }: Side): Tile {
    return inside === undefined ? value : this.#apply('where', inside, value, this.#number(-Infinity));
  }

  /** What is below the cutoff is infinitely far below. */
  #cut(difference: Tile, cutoff: number | undefined): Tile {
    if (cutoff === undefined) return difference;
    const isTiny = this.#apply('lt', difference, this.#number(cutoff));
    return this.#apply('where', isTiny, this.#number(-Infinity), difference);
  }

  #place(sides: readonly Side[]): TilePlace {
    const axes = new Map([...this.#batch, ...sides.map(({ axis, points }): [string, Tile] => [axis.name, points])]);
    const inside = (shape: readonly number[]): Tile | undefined =>
      this.#tiles.both(sides.map((side) => (isAlong(side, shape) ? side.inside : undefined)));
    return { axes, inside, resolve: (index) => index };
  }

  /** 0 by the values of keys that no row of the tile sees, summed: 0, or NaN. */
  #unseen({ from, to }: Range): Tile | undefined {
    const { bounds, scores } = this.#attention;
    if (bounds === undefined) return undefined;
    const tiles = this.#tiles;
    const step = tiles.number(this.#tile.columns);
    const [hasStart, hasEnd] = [bounds.behind, bounds.ahead].map(
      (by) => by !== undefined || bounds.table !== undefined,
    );
    const behind = hasStart !== true ? undefined : this.#zeros({ from: tiles.number(0), to: from });
    const rest = this.#apply('add', to, tiles.number(this.#tile.columns - 1));
    const whole = this.#apply('mul', this.#apply('divFloor', rest, step), step);
    const end = { from: whole, to: tiles.size(scores.n.extent) };
    const ahead = hasEnd !== true ? undefined : this.#zeros(end, behind);
    const sum = ahead ?? behind;
    return sum && this.#fold('add', sum, 0);
  }

  #zeros(range: Range, before?: Tile): Tile {
    const { values } = this.#attention;
    const { builder } = this.#tiles;
    const shape = [this.#tile.columns, at(this.#width.points.shape, 1)];
    const start = before ?? builder.constant(0, { dtype: 'f32', shape });
    const [sum] = this.#loop(range, [start], (first, [carried]) => {
      const down = this.#columns(at(values.over, 0), { first, across: false });
      const tile = builder.cast(this.#matrix(values.b, [down, this.#width]), 'f32');
      return [this.#apply('add', carried ?? start, this.#apply('mul', tile, this.#number(0)))];
    });
    return sum ?? start;
  }

  /** The result, and what is made of each row. */
  #finish({ most, powers, values: sums }: Running): void {
    const { softmax, values } = this.#attention;
    const { builder } = this.#tiles;
    const sum = this.#fold('add', powers, 1);
    // A largest score that is infinite leaves NaN, as its distance to itself is.
    const total = softmax.isGuarded ? sum : this.#apply('add', sum, this.#apply('sub', most, most));
    const place = this.#place([this.#rows]);
    const made = new Map([
      [softmax.most, most],
      [softmax.total, total],
    ]);
    const [factor, ...rows] = this.#tiles.body(
      { ...softmax.body, results: softmax.body.results.slice(1) },
      place,
      made,
    );
    softmax.rows.forEach(({ buffer, at: offsets }, position) => {
      this.#store(buffer, { value: at(rows, position), offsets, sides: [this.#rows] });
    });
    const out = at(values.outs, 0);
    const weighted = factor === undefined ? sums : this.#apply(softmax.op, sums, factor);
    this.#follow(builder.cast(weighted, this.#facts.decl(out).dtype));
  }

  /** What becomes of the result: stored where somebody reads it, and taken by what follows. */
  #follow(result: Tile): void {
    const { values, maps } = this.#attention;
    const sides = [this.#rows, this.#width];
    const made = new Map<BufferId, Tile>([[at(values.outs, 0), result]]);
    for (const map of maps)
      this.#tiles
        .body(map.body, this.#place(sides), made)
        .forEach((value, slot) => made.set(at(map.outs, slot), value));
    for (const { outs, writes } of [values, ...maps])
      outs.forEach((buffer, slot) => {
        const value = made.get(buffer) ?? result;
        if (!this.#facts.isVirtual(buffer)) this.#store(buffer, { value, offsets: at(writes, slot), sides });
      });
  }

  #store(buffer: BufferId, { value, offsets, sides }: Storing): void {
    const place = this.#place(sides);
    const shape = [0, 1].map((axis) => Math.max(...sides.map(({ points }) => at(points.shape, axis))));
    const where = this.#tiles.index(offsets, place.axes);
    this.#tiles.store(buffer, shape, { offsets: where, value, inside: place.inside(shape) });
  }

  /** A loop over tiles of columns, with what goes round it. */
  #loop(
    { from, to }: Range,
    start: readonly Tile[],
    body: (first: Tile, carried: readonly Tile[]) => readonly Tile[],
  ): readonly Tile[] {
    const { builder } = this.#tiles;
    const step = this.#tiles.number(this.#tile.columns);
    const induction = builder.fresh({ dtype: 'i64', shape: [] });
    const [carried, results] = [start.map((tile) => builder.fresh(tile)), start.map((tile) => builder.fresh(tile))];
    const { region, value } = builder.region(() => body(induction, carried));
    const ids = (tiles: readonly Tile[]): readonly Tile['id'][] => tiles.map(({ id }) => id);
    return builder.control({
      kind: 'for',
      ...{ from: from.id, to: to.id, step: step.id, induction, carried, results },
      initial: ids(start),
      body: { nodes: region.nodes, yields: ids(value) },
      origin: builder.origin,
    });
  }

  /** A tile folded along an axis, which keeps one element. */
  #fold(op: 'maximum' | 'minimum' | 'add', tile: Tile, axis: number): Tile {
    const { builder } = this.#tiles;
    const scalar = { dtype: tile.dtype, shape: [] };
    const [left, right] = [builder.fresh(scalar), builder.fresh(scalar)];
    const { region, value } = builder.sealedRegion(() => builder.apply(op, [left, right]));
    const result = builder.fresh({ dtype: tile.dtype, shape: tile.shape.filter((_, own) => own !== axis) });
    builder.control({
      kind: 'reduce',
      ...{ axis, args: [tile.id], left: [left], right: [right], reverse: false, results: [result] },
      combine: { nodes: region.nodes, yields: [value.id] },
      origin: builder.origin,
    });
    return builder.reshape(
      result,
      tile.shape.map((extent, own) => (own === axis ? 1 : extent)),
    );
  }
}

interface Storing {
  readonly value: Tile;
  readonly offsets: Index;
  readonly sides: readonly Side[];
}

function runningOf(tiles: readonly (Tile | undefined)[]): Running {
  const [most, powers, values] = tiles as [Tile, Tile, Tile];
  return { most, powers, values };
}

/** Whether a tile of a shape has more than one element along a side's axis. */
const isAlong = ({ points }: Side, shape: readonly number[]): boolean =>
  points.shape.some((extent, axis) => extent > 1 && (shape[axis] ?? 1) > 1);
