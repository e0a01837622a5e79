// Loops over the elements of a tile: an axis of lanes in vectors, the others one by one. Where the masks in play are true for
// the first elements only, the loop is cut at the limit: whole vectors without masks, one vector of the first lanes, and the
// rest (nothing at all, for a store). What such a loop keeps, and what is computed before it, is in keep-tiles.ts.
import { at } from '@tsinductor/base';
import { apply, constantOf, valueIndex, widened } from '@tsinductor/codegen';
import { add, floorDivide, int, multiply, subtract } from '@tsinductor/ir';
import type { Index, TileId, Value } from '@tsinductor/ir';
import type { Binder } from './binder.ts';
import { evaluateTile } from './evaluate-tile.ts';
import type { MaskMode, Point } from './evaluate-tile.ts';
import type { KeptTiles } from './kept-tiles.ts';
import { maskTerms } from './mask-terms.ts';
import type { MaskTerms } from './mask-terms.ts';
import type { Visit } from './reach.ts';

export interface ElementLoop {
  readonly shape: readonly number[];
  /** The tiles that the body evaluates at the loop's own coordinates. */
  readonly tiles: readonly TileId[];
  /** The loop's own mask: elements outside of it are not visited if `skips`. */
  readonly mask?: TileId;
  readonly skips: boolean;
  /** One element at a time. */
  readonly isScalar?: boolean;
  readonly body: (point: Point, coordinates: readonly Index[]) => void;
}

/** The axis along which lanes lie: the last that has more than one element. */
export const laneAxis = (shape: readonly number[]): number => {
  const axis = shape.findLastIndex((extent) => extent > 1);
  return axis < 0 ? shape.length - 1 : axis;
};

interface Opened {
  readonly loop: ElementLoop;
  readonly binder: Binder;
  readonly coordinates: readonly Index[];
  readonly names: readonly (string | undefined)[];
  readonly axis: number;
  readonly lane: string;
  readonly lanes: number;
  readonly masks: readonly Visit[];
  readonly kept: KeptTiles;
}

/** Opens the loops of the axes before the lanes', from `position` on, and then the lanes'. */
export function openLoops(position: number, opened: Opened): void {
  const { loop, binder, names, axis } = opened;
  const name = names[position];
  if (position >= loop.shape.length) {
    runLanes(opened);
    return;
  }
  if (position === axis || name === undefined) {
    openLoops(position + 1, opened);
    return;
  }
  emitFor(binder, { name, from: int(0), to: int(at(loop.shape, position)), step: 1 }, () => {
    openLoops(position + 1, opened);
  });
}

interface Range {
  readonly name: string;
  readonly from: Index;
  readonly to: Index;
  readonly step: number;
}

export function emitFor({ writer }: Binder, { name, from, to, step }: Range, body: () => void): void {
  const statements = writer.block([name], body);
  if (statements.length > 0) writer.emit({ kind: 'for', name, from, to, step, body: statements });
}

interface PointParts {
  readonly lanes: number;
  readonly lane: string | undefined;
  readonly mode: MaskMode;
  readonly kept: KeptTiles;
}

export const pointOf = ({ lanes, lane, mode, kept }: PointParts): Point => ({
  lanes,
  lane,
  mode,
  memo: new Map(),
  keep: (id, value, coordinates) => {
    kept.store(id, widened(value, lanes), { coordinates, lane });
  },
});

/** The terms that the loop's own mask has, and every other mask that is of this form. */
function commonTerms({ masks, binder, lane, loop, coordinates }: Opened): MaskTerms | undefined {
  const found = masks.map(({ tile, coordinates: where }) => maskTerms(tile, where, { binder, point: { lane } }));
  const own = loop.mask === undefined ? undefined : maskTerms(loop.mask, coordinates, { binder, point: { lane } });
  const terms = own ?? found.find((candidate) => candidate !== undefined && candidate.limits.length > 0);
  return terms !== undefined && (terms.limits.length > 0 || loop.skips) ? terms : undefined;
}

function runLanes(opened: Opened): void {
  const { binder, loop, axis, lanes } = opened;
  const extent = at(loop.shape, axis);
  const terms = commonTerms(opened);
  if (terms === undefined) {
    segment(opened, { from: int(0), to: int(extent), step: lanes, mode: { kind: 'open' } });
    return;
  }
  const limit = limitOf(terms, extent, binder);
  const whole = lanes === 1 ? limit : nameIndex(multiply(floorDivide(limit, int(lanes)), int(lanes)), 'whole', binder);
  segment(opened, { from: int(0), to: whole, step: lanes, mode: { kind: 'within', terms } });
  if (lanes > 1) {
    const count = subtract(limit, whole);
    const body = binder.writer.block([], () => {
      segment(opened, { from: whole, to: limit, step: lanes, mode: { kind: 'first', terms, count } });
    });
    binder.writer.emit({ kind: 'if', test: { kind: 'less', left: whole, right: limit }, then: body });
  }
  if (loop.skips && loop.mask !== undefined) return;
  const rest =
    lanes === 1
      ? limit
      : nameIndex(multiply(floorDivide(add(limit, int(lanes - 1)), int(lanes)), int(lanes)), 'rest', binder);
  segment(opened, { from: rest, to: int(extent), step: lanes, mode: { kind: 'outside', terms } });
}

function segment(
  opened: Opened,
  { from, to, step, mode }: { from: Index; to: Index; step: number; mode: MaskMode },
): void {
  const { binder, lane, lanes, kept, loop, coordinates } = opened;
  emitFor(binder, { name: lane, from, to, step }, () => {
    loop.body(pointOf({ lanes, lane, mode, kept }), coordinates);
  });
}

/** An index under a name, so that later ones stay short. */
export function nameIndex(index: Index, base: string, binder: Binder): Index {
  if (index.kind === 'int' || index.kind === 'axis') return index;
  return valueIndex(binder.name({ kind: 'index', value: index, type: { dtype: 'i64', lanes: 1 } }, base));
}

/** How many of the first `extent` elements every term holds for: 0 to extent. */
export function limitOf({ limits, uniform }: MaskTerms, extent: number, binder: Binder): Index {
  const type = { dtype: 'i64', lanes: 1 } as const;
  const bound = limits.reduce<Value>(
    (least, limit) => apply('minimum', [least, { kind: 'index', value: limit, type }], 'i64'),
    constantOf({ bigint: String(extent) }, 'i64'),
  );
  const clamped = apply('maximum', [bound, constantOf({ bigint: '0' }, 'i64')], 'i64');
  const point: Point = { lanes: 1, lane: undefined, mode: { kind: 'open' }, memo: new Map(), keep: () => undefined };
  const held = uniform.reduce<Value>((value, { tile, coordinates }) => {
    const test = evaluateTile(tile, coordinates, { binder, point });
    return apply('where', [test, binder.name(value, 'limit'), constantOf({ bigint: '0' }, 'i64')], 'i64');
  }, clamped);
  // A size that the range analysis knows to be non-negative: floor division by lanes is the machine's.
  return valueIndex(binder.name(held, 'limit'));
}
