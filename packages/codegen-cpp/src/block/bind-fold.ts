// Reductions and scans. A reduction along the lanes keeps 64 partial results in vectors (or as many as there are elements)
// and folds halves into each other, as `reductionOrder` says; across the lanes the partial results are rows of scratch. A
// scan goes one by one, many rows at once where the lanes run across it.
import { at, dtypeInfo } from '@tsinductor/base';
import { combineValues, readVariable, widened, zeroOf } from '@tsinductor/codegen';
import { add, axisIndex, floorDivide, int, multiply, reductionPartials, substitute, subtract } from '@tsinductor/ir';
import type { FoldNode, Index, TileId, Value } from '@tsinductor/ir';
import { lanesFor } from '../machine/isa.ts';
import { writeRowPrefetches, loadsAlong } from './row-prefetch.ts';
import type { Binder } from './binder.ts';
import { emitFor, laneAxis, limitOf, nameIndex, pointOf } from './element-loop.ts';
import { evaluateTile, sameIndexes } from './evaluate-tile.ts';
import type { MaskMode, Point } from './evaluate-tile.ts';
import { keepPending, regroupSources } from './keep-tiles.ts';
import { KeptTiles, storeScratch } from './kept-tiles.ts';
import { maskTerms } from './mask-terms.ts';
import type { MaskTerms } from './mask-terms.ts';
import { reachOf } from './reach.ts';
import type { Reach, Visit } from './reach.ts';

/** A fold with its loops' names: one for each axis of the operands. */
interface Fold {
  readonly node: FoldNode;
  readonly binder: Binder;
  readonly shape: readonly number[];
  readonly names: readonly string[];
  readonly coordinates: readonly Index[];
  readonly lanes: number;
  /** The axis of the lanes. */
  readonly laneAt: number;
  readonly reach: Reach;
  readonly kept: KeptTiles;
  /** Where results go: scratch, or a variable for a scalar; nowhere if nobody takes them. */
  readonly targets: readonly (string | undefined)[];
}

export function bindFold(node: FoldNode, binder: Binder): void {
  const fold = prepare(node, binder);
  const { shape, laneAt } = fold;
  const outer = shape.map((_, axis) => axis).filter((axis) => axis !== node.axis && axis !== laneAt);
  openAxes(outer, fold, () => {
    if (node.kind === 'scan') writeScan(fold);
    else if (node.axis === laneAt) reduceAlong(fold);
    else reduceAcross(fold);
  });
  fold.kept.finish();
  node.results.forEach(({ id, shape: result }, slot) => {
    const target = at(fold.targets, slot);
    if (target === undefined) return;
    if (result.length === 0) readVariable(binder.tile(id), target, binder);
    else binder.homes.set(id, { kind: 'scratch', name: target });
  });
}

function prepare(node: FoldNode, binder: Binder): Fold {
  const { shape } = binder.tile(at(node.args, 0));
  regroupSources(node.args, binder);
  const names = shape.map((_, axis) => binder.writer.fresh(axis === node.axis ? 'k' : 'r'));
  const coordinates = shape.map((extent, axis) => axisIndex({ name: at(names, axis), extent: int(extent) }));
  const laneAt = node.kind === 'scan' && laneAxis(shape) === node.axis ? -1 : laneAxis(shape);
  const lane = laneAt < 0 ? undefined : at(names, laneAt);
  const reach = reachOf(
    node.args.map((tile) => ({ tile, coordinates })),
    binder,
    lane,
  );
  keepPending(reach, { binder, isKeptInLoop: (visit) => sameIndexes(visit.coordinates, coordinates) });
  const fused = reach.pending.filter(({ tile }) => binder.home(tile).kind === 'pending').map(({ tile }) => tile);
  const kept = new KeptTiles(binder, fused, coordinates);
  const bytes = Math.max(reach.bytes, ...node.args.map((id) => registerBytes(id, binder)));
  const lanes = laneAt < 0 ? 1 : Math.min(at(shape, laneAt), lanesFor(binder.target.isa, bytes), reductionPartials);
  const targets = node.results.map((result) => {
    if (binder.plan.get(result.id)?.direct === 0) return undefined;
    if (result.shape.length > 0) return binder.scratch(result.id);
    const name = binder.writer.fresh(result.name === undefined ? node.kind : `${result.name.toLowerCase()}_value`);
    binder.writer.emit({ kind: 'var', name, value: zeroOf(result.dtype) });
    return name;
  });
  return { node, binder, shape, names, coordinates, lanes, laneAt, reach, kept, targets };
}

const registerBytes = (id: TileId, binder: Binder): number => {
  const { dtype } = binder.tile(id);
  return dtype === 'bool' ? 4 : dtypeInfo[dtype].bytes;
};

function openAxes(axes: readonly number[], fold: Fold, body: () => void): void {
  const [first, ...rest] = axes;
  if (first === undefined) {
    body();
    return;
  }
  const range = { name: at(fold.names, first), from: int(0), to: int(at(fold.shape, first)), step: 1 };
  emitFor(fold.binder, range, () => {
    openAxes(rest, fold, body);
  });
}

const laneName = ({ names, laneAt }: Fold): string | undefined => (laneAt < 0 ? undefined : at(names, laneAt));

const pointIn = (fold: Fold, mode: MaskMode): Point =>
  pointOf({ lanes: fold.lanes, lane: laneName(fold), mode, kept: fold.kept });

/** The operands' elements at the present coordinates. */
function elements(fold: Fold, point: Point, coordinates: readonly Index[] = fold.coordinates): readonly Value[] {
  return fold.node.args.map((id) => widened(evaluateTile(id, coordinates, { binder: fold.binder, point }), fold.lanes));
}

/** Puts results where they belong, at the coordinates of the result. */
function deliver(
  fold: Fold,
  values: readonly Value[],
  { coordinates, lane }: { coordinates: readonly Index[]; lane: string | undefined },
): void {
  const { binder, node, targets } = fold;
  values.forEach((value, slot) => {
    const { id, shape } = at(node.results, slot);
    const name = at(targets, slot);
    if (name === undefined) return;
    if (shape.length === 0) binder.writer.emit({ kind: 'set', name, value });
    else storeScratch({ name, id, value }, { coordinates, lane }, binder);
  });
}

const withoutAxis = ({ node }: Fold, coordinates: readonly Index[]): readonly Index[] =>
  coordinates.filter((_, axis) => axis !== node.axis);

/** Along the lanes: `partials` accumulators in vectors. */
function reduceAlong(fold: Fold): void {
  const { node, binder, shape, lanes } = fold;
  const extent = at(shape, node.axis);
  const partials = Math.min(extent, reductionPartials);
  const vectors = partials / lanes;
  const accumulators = Array.from({ length: vectors }, (_, vector) =>
    node.args.map((id) => {
      const name = binder.writer.fresh(`sum${String(vector)}`);
      const { dtype } = binder.tile(id);
      binder.writer.emit({ kind: 'var', name, value: widened(zeroOf(dtype), lanes) });
      return { name, type: { dtype, lanes } };
    }),
  );
  const pass = (
    from: Index,
    to: Index,
    { mask, isFirst }: { mask: CuttingMask | undefined; isFirst: boolean },
  ): void => {
    accumulate(fold, { accumulators, partials, from, to, mask, isFirst });
  };
  pass(int(0), int(partials), { mask: undefined, isFirst: true });
  if (extent > partials) {
    const mask = cuttingMask(fold);
    const whole = mask === undefined ? int(partials) : wholeUntil(mask.terms, { extent, partials }, binder);
    if (mask !== undefined) pass(int(partials), whole, { mask, isFirst: false });
    pass(mask === undefined ? int(partials) : atLeast(whole, partials, binder), int(extent), {
      mask: undefined,
      isFirst: false,
    });
  }
  const values = accumulators.map((states) => states.map(({ name, type }): Value => ({ kind: 'name', name, type })));
  const result = foldVectors(fold, values);
  deliver(fold, result, { coordinates: withoutAxis(fold, fold.coordinates), lane: undefined });
}

/** The first mask of this form among those that the operands reach. */
function cuttingMask(fold: Fold): CuttingMask | undefined {
  for (const visit of fold.reach.masks) {
    const terms = termsAt(fold, visit, 0);
    if (terms !== undefined && terms.limits.length > 0) return { ...visit, terms };
  }
  return undefined;
}

interface CuttingMask extends Visit {
  readonly terms: MaskTerms;
}

/** The terms of a mask where the lanes begin `shift` elements further on. */
function termsAt(fold: Fold, { tile, coordinates }: Visit, shift: number): MaskTerms | undefined {
  const lane = laneName(fold);
  if (lane === undefined) return undefined;
  const moved = new Map([[lane, add(at(fold.coordinates, fold.laneAt), int(shift))]]);
  const where = shift === 0 ? coordinates : coordinates.map((index) => substitute(index, moved));
  return maskTerms(tile, where, { binder: fold.binder, point: { lane } });
}

/** Where elements stop being within in groups of `partials`. */
const wholeUntil = (
  terms: MaskTerms,
  { extent, partials }: { extent: number; partials: number },
  binder: Binder,
): Index =>
  nameIndex(multiply(floorDivide(limitOf(terms, extent, binder), int(partials)), int(partials)), 'whole', binder);

function atLeast(index: Index, least: number, binder: Binder): Index {
  const type = { dtype: 'i64', lanes: 1 } as const;
  const args: Value[] = [
    { kind: 'index', value: index, type },
    { kind: 'constant', value: { bigint: String(least) }, type },
  ];
  const value = binder.name({ kind: 'apply', op: 'maximum', args, type }, 'rest');
  return value.kind === 'name' ? axisIndex({ name: value.name, extent: int(2 ** 40) }) : index;
}

interface Accumulator {
  readonly name: string;
  readonly type: Value['type'];
}

interface Pass {
  readonly accumulators: readonly (readonly Accumulator[])[];
  readonly partials: number;
  readonly from: Index;
  readonly to: Index;
  /** Of which all elements of the pass are within. */
  readonly mask: CuttingMask | undefined;
  readonly isFirst: boolean;
}

/** One loop over groups of `partials` elements; the first group is what the accumulators begin with. */
function accumulate(fold: Fold, { accumulators, partials, from, to, mask, isFirst }: Pass): void {
  const { binder, node, lanes, coordinates, shape } = fold;
  const lane = at(fold.names, node.axis);
  const loads = loadsAlong(node, shape, binder);
  emitFor(binder, { name: lane, from, to, step: partials }, () => {
    accumulators.forEach((states, vector) => {
      const shifted = coordinates.map((index, axis) => (axis === node.axis ? add(index, int(vector * lanes)) : index));
      const terms = mask === undefined ? undefined : termsAt(fold, mask, vector * lanes);
      const mode: MaskMode = terms === undefined ? { kind: 'open' } : { kind: 'within', terms };
      const point: Point = {
        ...pointIn(fold, mode),
        keep: (id, value, where) => {
          keepShifted(fold, { id, value, where, vector });
        },
      };
      const next = elements(fold, point, shifted);
      const old = states.map(({ name, type }): Value => ({ kind: 'name', name, type }));
      const values = isFirst ? next : combineValues(node, [old, next], binder);
      states.forEach(({ name }, slot) => {
        binder.writer.emit({ kind: 'set', name, value: at(values, slot) });
      });
      writeRowPrefetches(loads, { point, coordinates: shifted, binder });
    });
  });
}

/** A tile that is kept on the way is stored at the coordinates of this vector. */
function keepShifted(
  { kept, node, coordinates, lanes, names }: Fold,
  { id, value, where, vector }: { id: TileId; value: Value; where: readonly Index[]; vector: number },
): void {
  const expected = coordinates.map((index, axis) => (axis === node.axis ? add(index, int(vector * lanes)) : index));
  if (sameIndexes(where, expected))
    kept.storeAt(id, widened(value, lanes), { coordinates: where, lane: at(names, node.axis) });
}

/** Partial results in vectors to one scalar each: vectors first, then halves of the last one. */
function foldVectors({ node, binder, lanes }: Fold, vectors: readonly (readonly Value[])[]): readonly Value[] {
  let states = vectors;
  while (states.length > 1) {
    const half = states.length / 2;
    states = Array.from({ length: half }, (_, position) =>
      combineValues(node, [at(states, position), at(states, position + half)], binder),
    );
  }
  let state = at(states, 0);
  for (let width = lanes; width > 1; width /= 2) {
    const part = (side: 'low' | 'high'): readonly Value[] =>
      state.map((value) =>
        binder.name(
          { kind: 'half', value: binder.name(value, 'folded'), part: side, type: { ...value.type, lanes: width / 2 } },
          side,
        ),
      );
    state = combineValues(node, [part('low'), part('high')], binder);
  }
  return state;
}

/** Across the lanes: partial results are rows of scratch, one vector wide. */
function reduceAcross(fold: Fold): void {
  const { node, binder, shape, lanes, names, coordinates, laneAt } = fold;
  const extent = at(shape, node.axis);
  const partials = Math.min(extent, reductionPartials);
  const lane = at(names, laneAt);
  emitFor(binder, { name: lane, from: int(0), to: int(at(shape, laneAt)), step: lanes }, () => {
    const rows = node.args.map((id) => {
      const name = binder.writer.fresh('partial');
      binder.writer.emit({ kind: 'scratch', name, dtype: binder.tile(id).dtype, size: partials * lanes });
      return name;
    });
    const access = (slot: number, row: Index) => ({
      buffer: at(rows, slot),
      at: multiply(row, int(lanes)),
      step: int(1),
      align: dtypeInfo[binder.tile(at(node.args, slot)).dtype].bytes,
    });
    const load = (row: Index): readonly Value[] =>
      node.args.map((id, slot) =>
        binder.name({ kind: 'load', access: access(slot, row), type: { dtype: binder.tile(id).dtype, lanes } }, 'part'),
      );
    const store = (row: Index, values: readonly Value[]): void => {
      values.forEach((value, slot) => {
        binder.writer.emit({ kind: 'store', access: access(slot, row), value });
      });
    };
    const axis = at(names, node.axis);
    const here = at(coordinates, node.axis);
    emitFor(binder, { name: axis, from: int(0), to: int(partials), step: 1 }, () => {
      store(here, elements(fold, pointIn(fold, { kind: 'open' })));
    });
    if (extent > partials)
      emitFor(binder, { name: axis, from: int(partials), to: int(extent), step: 1 }, () => {
        const row = subtract(here, multiply(floorDivide(here, int(partials)), int(partials)));
        const next = elements(fold, pointIn(fold, { kind: 'open' }));
        store(row, combineValues(node, [load(row), next], binder));
      });
    for (let half = partials / 2; half >= 1; half /= 2) {
      const row = binder.writer.fresh('row');
      const place = axisIndex({ name: row, extent: int(half + 1) });
      emitFor(binder, { name: row, from: int(0), to: int(half), step: 1 }, () => {
        store(place, combineValues(node, [load(place), load(add(place, int(half)))], binder));
      });
    }
    deliver(fold, load(int(0)), { coordinates: withoutAxis(fold, coordinates), lane });
  });
}

/** Element by element along the axis; rows side by side in the lanes. */
function writeScan(fold: Fold): void {
  const { binder, shape, lanes, names, laneAt } = fold;
  if (laneAt < 0) {
    scanRow(fold);
    return;
  }
  emitFor(binder, { name: at(names, laneAt), from: int(0), to: int(at(shape, laneAt)), step: lanes }, () => {
    scanRow(fold);
  });
}

function scanRow(fold: Fold): void {
  const { node, binder, shape, lanes, names, coordinates } = fold;
  const extent = at(shape, node.axis);
  const axis = at(names, node.axis);
  const states = node.args.map((id) => {
    const name = binder.writer.fresh('state');
    const { dtype } = binder.tile(id);
    binder.writer.emit({ kind: 'var', name, value: widened(zeroOf(dtype), lanes) });
    return { name, type: { dtype, lanes } };
  });
  const from = (step: Index): Index => (node.reverse ? subtract(int(extent - 1), step) : step);
  const visit = (step: Index, isFirst: boolean): void => {
    const where = coordinates.map((index, position) => (position === node.axis ? from(step) : index));
    const point: Point = {
      ...pointIn(fold, { kind: 'open' }),
      keep: (id, value, place) => {
        if (sameIndexes(place, where))
          fold.kept.storeAt(id, widened(value, lanes), { coordinates: place, lane: laneName(fold) });
      },
    };
    const next = elements(fold, point, where);
    const old = states.map(({ name, type }): Value => ({ kind: 'name', name, type }));
    const values = isFirst ? next : combineValues(node, [old, next], binder);
    states.forEach(({ name }, slot) => {
      binder.writer.emit({ kind: 'set', name, value: at(values, slot) });
    });
    deliver(fold, old, { coordinates: where, lane: laneName(fold) });
  };
  const here = axisIndex({ name: axis, extent: int(extent) });
  emitFor(binder, { name: axis, from: int(0), to: int(1), step: 1 }, () => {
    visit(at(coordinates, node.axis).kind === 'int' ? int(0) : here, true);
  });
  if (extent > 1)
    emitFor(binder, { name: axis, from: int(1), to: int(extent), step: 1 }, () => {
      visit(here, false);
    });
}
