// The loops of a node in their simplest form: none of size 1, none that is only used through a division (it is split),
// and no two that all accesses step through as through one (they are joined). In and out: a node that computes the same.
import { at } from '@tsinductor/base';
import {
  add,
  axisIndex,
  coefficientOf,
  equal,
  floorDivide,
  freeAxes,
  indexOperands,
  int,
  multiply,
  product,
} from '@tsinductor/ir';
import type { Axis, Index, LoopNode } from '@tsinductor/ir';
import {
  bodiesOf,
  coordinatesOf,
  indexesOf,
  isUnit,
  loopsOf,
  overOf,
  placesOf,
  reindex,
  booleanPlacesOf,
} from './node-access.ts';

/** A node may gain this many loops by splitting. */
const MAX_SPLITS = 8;

/** The whole of it: for nodes that nothing is put into any more. */
export const normalizeAxes = (node: LoopNode): LoopNode =>
  node.kind === 'contract' ? node : joinAxes(separateAxes(node));

/** Without joining: what producers are put into keeps the loops that their masks and indices speak of. */
export const separateAxes = (node: LoopNode): LoopNode =>
  node.kind === 'contract' ? node : splitAxes(dropUnitAxes(node));

function dropUnitAxes(node: LoopNode): LoopNode {
  const units = loopsOf(node).filter(isUnit);
  if (units.length === 0) return node;
  // A reduction keeps a loop, a scan its own.
  const isKept = (axis: Axis): boolean =>
    node.kind === 'scan' || (node.kind === 'reduce' && overOf(node).every(isUnit) && axis === overOf(node)[0]);
  const dropped = units.filter((axis) => node.axes.includes(axis) || !isKept(axis));
  if (dropped.length === 0) return node;
  const isLeft = (axis: Axis): boolean => !dropped.includes(axis);
  return reindex(node, {
    map: new Map(dropped.map((axis) => [axis.name, int(0)])),
    axes: node.axes.filter(isLeft),
    over: overOf(node).filter(isLeft),
  });
}

/** Splits axes that occur divided: k with k / 4 and k mod 4 becomes the two axes of k = 4 * outer + inner. */
function splitAxes(node: LoopNode): LoopNode {
  let current = node;
  for (let count = 0; count < MAX_SPLITS; count += 1) {
    const split = findSplit(current);
    if (split === undefined) break;
    current = splitAxis(current, split);
  }
  return current;
}

interface Split {
  readonly axis: Axis;
  readonly outer: Axis;
  readonly inner: Axis;
}

function findSplit(node: LoopNode): Split | undefined {
  const places = placesOf(node);
  const found = [
    ...divisionsIn(places),
    ...divisionsIn(coordinatesOf(node)).filter((division) => !staysWhole(division, places)),
    ...divisionsIn(booleanPlacesOf(node)).filter(({ axis }) => !isStepped(axis, places) || !isReadAlong(node, axis)),
  ];
  if (found.length === 0) return undefined;
  const loops = new Map(loopsOf(node).map((axis) => [axis.name, axis]));
  if (node.kind === 'scan') for (const axis of node.over) loops.delete(axis.name);
  const known = found
    .filter(({ divisor }) => divisor.kind === 'int')
    .sort((a, b) => valueOf(a.divisor) - valueOf(b.divisor));
  for (const { axis, divisor } of [...known, ...found.filter(({ divisor }) => divisor.kind !== 'int')]) {
    const own = loops.get(axis);
    const outer = own === undefined ? undefined : exactQuotient(own.extent, divisor);
    if (own === undefined || outer === undefined) continue;
    if (equal(outer, int(1))) continue;
    return {
      axis: own,
      outer: { name: `${own.name}o`, extent: outer },
      inner: { name: `${own.name}i`, extent: divisor },
    };
  }
  return undefined;
}

/**
 * Whether all places step along an axis, of which coordinates alone take quotients by a power of two: vectors that stand at
 * multiples find those at once, and the loop stays one that memory is read along.
 */
const staysWhole = ({ axis, divisor }: Division, places: readonly Index[]): boolean =>
  divisor.kind === 'int' && Number.isInteger(Math.log2(divisor.value)) && isStepped(axis, places);

const isStepped = (axis: string, places: readonly Index[]): boolean =>
  places.every((place) => coefficientOf(place, axis) !== undefined);

/** Whether numbers are read along an axis: booleans of its blocks are a mask of these, and the loop stays the one of who made them. */
const isReadAlong = (node: LoopNode, axis: string): boolean =>
  bodiesOf(node).some(({ nodes }) =>
    nodes.some((scalar) => scalar.kind === 'load' && scalar.dtype !== 'bool' && freeAxes(scalar.at).has(axis)),
  );

const valueOf = (index: Index): number => (index.kind === 'int' ? index.value : Infinity);

/** a / b, where that leaves no remainder whatever the sizes are. */
export function exactQuotient(a: Index, b: Index): Index | undefined {
  if (b.kind === 'int' && b.value <= 0) return undefined;
  const quotient = floorDivide(a, b);
  return equal(multiply(quotient, b), a) ? quotient : undefined;
}

interface Division {
  readonly axis: string;
  readonly divisor: Index;
}

/** Axes that stand alone under a division, with the divisor. */
function divisionsIn(indexes: readonly Index[]): readonly Division[] {
  const found: Division[] = [];
  for (const index of indexes) addDivisions(index, found);
  return found;
}

function addDivisions(index: Index, found: Division[]): void {
  for (const operand of indexOperands(index)) addDivisions(operand, found);
  if (
    (index.kind === 'floorDiv' || index.kind === 'mod') &&
    index.dividend.kind === 'axis' &&
    freeAxes(index.divisor).size === 0
  ) {
    found.push({ axis: index.dividend.axis.name, divisor: index.divisor });
  }
}

function splitAxis(node: LoopNode, { axis, outer, inner }: Split): LoopNode {
  const value = add(multiply(axisIndex(outer), inner.extent), axisIndex(inner));
  const replace = (axes: readonly Axis[]): readonly Axis[] =>
    axes.flatMap((own) => (own.name === axis.name ? [outer, inner] : [own]));
  return reindex(node, { map: new Map([[axis.name, value]]), axes: replace(node.axes), over: replace(overOf(node)) });
}

/** Joins neighbours through which every access steps as through one axis. */
function joinAxes(node: LoopNode): LoopNode {
  if (node.axes.length < 2 && overOf(node).length < 2) return node;
  const indexes = indexesOf(node);
  const axes = joinList(node.axes, indexes);
  const over = node.kind === 'scan' ? unjoined(node.over) : joinList(overOf(node), indexes);
  const map = new Map([...axes.map, ...over.map]);
  return map.size === 0 ? node : reindex(node, { map, axes: axes.axes, over: over.axes });
}

interface Joined {
  readonly axes: readonly Axis[];
  readonly map: ReadonlyMap<string, Index>;
}

const unjoined = (axes: readonly Axis[]): Joined => ({ axes, map: new Map() });

/** Joins what can be joined of `axes`, neighbours in this order, where `indexes` are all that mention them. */
export function joinList(axes: readonly Axis[], indexes: readonly Index[]): Joined {
  const runs: Axis[][] = [];
  for (const axis of axes) {
    const run = runs.at(-1);
    const outer = run?.at(-1);
    if (run !== undefined && outer !== undefined && indexes.every((index) => stepsAsOne(index, outer, axis)))
      run.push(axis);
    else runs.push([axis]);
  }
  const joined = runs.map((run): Axis =>
    run.length === 1 ? at(run, 0) : { name: at(run, 0).name, extent: product(run.map((axis) => axis.extent)) },
  );
  const map = new Map<string, Index>();
  runs.forEach((run, position) => {
    if (run.length === 1) return;
    run.forEach((axis, place) =>
      map.set(axis.name, place === run.length - 1 ? axisIndex(at(joined, position)) : int(0)),
    );
  });
  return { axes: joined, map };
}

/** Whether `index` steps along `outer` as it would after all of `inner`. */
function stepsAsOne(index: Index, outer: Axis, inner: Axis): boolean {
  const [wide, narrow] = [coefficientOf(index, outer), coefficientOf(index, inner)];
  return wide !== undefined && narrow !== undefined && equal(wide, multiply(narrow, inner.extent));
}
