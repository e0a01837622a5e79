// Index expressions and scalar bodies as tiles of a Block IR program. A tile has as many axes of more than one element as what it says
// depends on: a factor that is the same in a whole row is computed once for it.
//
// What depends on sizes alone is an argument of the program. Arguments are named here, and whoever binds the program puts the
// expressions in their place.
import { at, get } from '@tsinductor/base';
import { isMultipleOf } from '@tsinductor/codegen';
import { freeAxes, liveNodes, printIndex, rangeOf, TileBuilder } from '@tsinductor/ir';
import type { Axis, BlockParam, Body, BufferId, Index, Scalar, ScalarId, Tile } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';
import { notWritten } from '../../errors.ts';
import type { BufferFacts } from './product.ts';

/** An argument of the program: a buffer of the group, or an index over its sizes. */
export type ProductArgument =
  { readonly kind: 'buffer'; readonly buffer: BufferId } | { readonly kind: 'size'; readonly value: Index };

/** What a place is made of: tiles of i64 for the axes that are open there, by name. */
export interface TilePlace {
  readonly axes: ReadonlyMap<string, Tile>;
  /** An index over the nest's axes as one over these. */
  readonly resolve: (index: Index) => Index;
  /** Whether there is an element, in a tile of a shape; undefined: everywhere. */
  readonly inside: (shape: readonly number[]) => Tile | undefined;
}

/** An axis in a tile: its points there, and whether each of them exists; undefined: all do. */
export interface Side {
  readonly axis: Axis;
  readonly points: Tile;
  readonly inside: Tile | undefined;
}

/** `count` points of an axis from `first` on, along the columns of a tile or along its rows. */
interface Points {
  readonly first: Tile;
  readonly count: number;
  readonly across: boolean;
}

/** What an address or a size is looked at for being a multiple of, at most. */
const mostDivisor = 16;

/** What is below it is divided in 32 bits, also at points of a tile that are past the end of an axis. */
const mostNarrow = 2 ** 30;

const noOrigin = { file: 'generated', line: 1 } as const;

export class TileExpressions {
  readonly #params: BlockParam[] = [];
  readonly arguments: ProductArgument[] = [];
  readonly builder: TileBuilder = new TileBuilder(this.#params, noOrigin);
  readonly #facts: BufferFacts;
  readonly #known = new Map<string, number>();

  constructor(facts: BufferFacts) {
    this.#facts = facts;
  }

  get params(): readonly BlockParam[] {
    return this.#params;
  }

  /** The position of a buffer among the arguments. */
  buffer(buffer: BufferId): number {
    const { name, dtype } = this.#facts.decl(buffer);
    return this.#argument({ kind: 'buffer', buffer }, `buffer ${String(buffer)}`, (position) => ({
      name: `${name}_${String(position)}`,
      kind: 'buffer',
      dtype,
      divisor: this.#facts.align(buffer),
    }));
  }

  /** An index over sizes, as a scalar. */
  size(value: Index): Tile {
    if (value.kind === 'int') return this.number(value.value);
    const param = this.#argument({ kind: 'size', value }, `size ${printIndex(value)}`, (position) => {
      let divisor = mostDivisor;
      while (divisor > 1 && !isMultipleOf(value, divisor)) divisor /= 2;
      return { name: `size_${String(position)}`, kind: 'scalar', dtype: 'i64', divisor };
    });
    return this.builder.op({ op: 'argument', attrs: { param }, args: [] });
  }

  #argument(argument: ProductArgument, key: string, describe: (position: number) => BlockParam): number {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const position = this.#params.length;
    this.#params.push(describe(position));
    this.arguments.push(argument);
    this.#known.set(key, position);
    return position;
  }

  number(value: number): Tile {
    return this.builder.constant(BigInt(value), { dtype: 'i64', shape: [] });
  }

  /** An op of tiles, of which each repeats along axes where the others have more elements. */
  apply(op: PointwiseName, args: readonly Tile[]): Tile {
    const shape = sharedShape(args);
    return this.builder.apply(
      op,
      args.map((arg) => this.builder.broadcast(arg, shape)),
    );
  }

  /** What an index is where axes are tiles. */
  index(index: Index, axes: TilePlace['axes']): Tile {
    if (freeAxes(index).size === 0) return this.size(index);
    const items = (list: readonly Index[], op: PointwiseName): Tile =>
      this.#joined(
        list.map((item) => this.index(item, axes)),
        op,
      );
    switch (index.kind) {
      case 'axis':
        return get(axes, index.axis.name);
      case 'sum':
        return items(index.items, 'add');
      case 'product':
        return items(index.items, 'mul');
      case 'min':
        return items(index.items, 'minimum');
      case 'max':
        return items(index.items, 'maximum');
      case 'floorDiv':
      case 'mod': {
        const op = index.kind === 'mod' ? 'remainder' : 'divFloor';
        const isNarrow = [index.dividend, index.divisor].every((item) => (rangeOf(item).max ?? Infinity) < mostNarrow);
        const sides = [index.dividend, index.divisor].map((item) =>
          this.builder.cast(this.index(item, axes), isNarrow ? 'i32' : 'i64'),
        );
        return this.builder.cast(this.apply(op, sides), 'i64');
      }
      case 'int':
      case 'size':
      case 'indirect':
        throw notWritten(`a tile of an index that is ${index.kind}`);
    }
  }

  /** Tiles of few elements first, and those of one shape together. */
  #joined(tiles: readonly Tile[], op: PointwiseName): Tile {
    const shapes = new Map<string, Tile>();
    for (const tile of tiles.toSorted((a, b) => elements(a) - elements(b))) {
      const key = tile.shape.join(' ');
      const before = shapes.get(key);
      shapes.set(key, before === undefined ? tile : this.apply(op, [before, tile]));
    }
    return [...shapes.values()].reduce((left, right) => this.apply(op, [left, right]));
  }

  /** The results of a body at a place; `made` are the buffers whose elements are at hand. */
  body(body: Body, place: TilePlace, made: ReadonlyMap<BufferId, Tile>): readonly Tile[] {
    const live = liveNodes(body);
    const tiles = new Map<ScalarId, Tile>();
    body.nodes.forEach((node, id) => {
      if (live[id] === true) tiles.set(id, this.#scalar(node, { place, made, tiles }));
    });
    return body.results.map((result) => get(tiles, result));
  }

  #scalar(node: Scalar, within: Within): Tile {
    const { place, made, tiles } = within;
    switch (node.kind) {
      case 'constant':
        return this.builder.constant(node.value, { dtype: node.dtype, shape: [] });
      case 'index':
        return this.index(place.resolve(node.value), place.axes);
      case 'load':
        return made.get(node.buffer) ?? this.#load(node, within);
      case 'cast':
        return this.builder.cast(get(tiles, node.value), node.dtype);
      case 'bitcast':
        return this.builder.op({ op: 'bitcast', attrs: { dtype: node.dtype }, args: [get(tiles, node.value)] });
      case 'apply':
        return this.apply(
          node.op,
          node.args.map((arg) => get(tiles, arg)),
        );
      case 'carried':
      case 'check':
        throw notWritten(`a tile of what is ${node.kind}`);
    }
  }

  #load(node: Scalar & { readonly kind: 'load' }, { place, tiles }: Within): Tile {
    const offsets = this.index(place.resolve(node.at), place.axes);
    const own = node.mask === undefined ? [] : [get(tiles, node.mask)];
    const other = node.other === undefined ? [] : [get(tiles, node.other)];
    const shape = sharedShape([offsets, ...own, ...other]);
    return this.load(node.buffer, { offsets, inside: this.both([place.inside(shape), ...own]), other: other[0] });
  }

  /** Elements of a buffer; zeros, or `other`, where there are none. */
  load(
    buffer: BufferId,
    {
      offsets,
      inside,
      other,
    }: { readonly offsets: Tile; readonly inside?: Tile | undefined; readonly other?: Tile | undefined },
  ): Tile {
    const { dtype } = this.#facts.decl(buffer);
    const shape = sharedShape([offsets, ...[inside, other].filter((tile) => tile !== undefined)]);
    const mask = inside === undefined ? [] : [this.builder.broadcast(inside, shape)];
    const rest =
      inside === undefined || other === undefined
        ? []
        : [this.builder.broadcast(this.builder.cast(other, dtype), shape)];
    const args = [this.builder.broadcast(offsets, shape), ...mask, ...rest];
    return this.builder.op({ op: 'load', attrs: { param: this.buffer(buffer) }, args });
  }

  /** The number of this program along an axis of the grid. */
  programId(axis: 0 | 1 | 2): Tile {
    return this.builder.cast(this.builder.op({ op: 'programId', attrs: { axis }, args: [] }), 'i64');
  }

  /** The point of a batch that a program stands for: it is one for all of its tiles. */
  batch(batch: readonly Axis[]): ReadonlyMap<string, Tile> {
    const axes = new Map<string, Tile>();
    let rest = this.programId(2);
    for (const { name, extent } of batch.toReversed()) {
      const isFirst = name === batch[0]?.name;
      const size = this.size(extent);
      axes.set(name, isFirst ? rest : this.apply('remainder', [rest, size]));
      if (!isFirst) rest = this.apply('divFloor', [rest, size]);
    }
    return axes;
  }

  side(axis: Axis, { first, count, across }: Points): Side {
    const { builder } = this;
    const range = builder.cast(builder.op({ op: 'arange', attrs: { start: 0, end: count }, args: [] }), 'i64');
    const points = this.apply('add', [first, builder.reshape(range, across ? [1, count] : [count, 1])]);
    const isWhole = isMultipleOf(axis.extent, count);
    const inside = isWhole ? undefined : this.apply('lt', [points, this.size(axis.extent)]);
    return { axis, points, inside };
  }

  /** A tile of a matrix with these sides, zeros outside of it; `axes` are the others that its places depend on. */
  matrix(buffer: BufferId, place: Index, { axes, sides }: MatrixPlace): Tile {
    const all = new Map([...axes, ...sides.map(({ axis, points }): [string, Tile] => [axis.name, points])]);
    const inside = this.both(sides.map((side) => side.inside));
    const whole = [0, 1].map((axis) => Math.max(...sides.map(({ points }) => at(points.shape, axis))));
    return this.load(buffer, { offsets: this.builder.broadcast(this.index(place, all), whole), inside });
  }

  /** Writes a tile, or what repeats to one, to a buffer's elements there. */
  store(buffer: BufferId, shape: readonly number[], { value, offsets, inside }: Stored): void {
    const args = [offsets, value, inside].flatMap((tile) =>
      tile === undefined ? [] : [this.builder.broadcast(tile, shape)],
    );
    this.builder.act({ op: 'store', attrs: { param: this.buffer(buffer) }, args });
  }

  /** Where all of them hold; undefined is everywhere. */
  both(tests: readonly (Tile | undefined)[]): Tile | undefined {
    const given = tests.filter((test) => test !== undefined);
    return given.length === 0 ? undefined : given.reduce((left, right) => this.apply('logicalAnd', [left, right]));
  }
}

interface MatrixPlace {
  readonly axes: ReadonlyMap<string, Tile>;
  readonly sides: readonly Side[];
}

interface Stored {
  readonly value: Tile;
  readonly offsets: Tile;
  readonly inside: Tile | undefined;
}

interface Within {
  readonly place: TilePlace;
  readonly made: ReadonlyMap<BufferId, Tile>;
  readonly tiles: ReadonlyMap<ScalarId, Tile>;
}

const elements = ({ shape }: Tile): number => shape.reduce((count, extent) => count * extent, 1);

/** The shape that all can be repeated to: of scalars none, else along each axis the largest extent. */
function sharedShape(tiles: readonly Tile[]): readonly number[] {
  const rank = Math.max(...tiles.map(({ shape }) => shape.length));
  return Array.from({ length: rank }, (_, axis) =>
    Math.max(...tiles.map(({ shape }) => (shape.length === 0 ? 1 : at(shape, axis)))),
  );
}
