// Primitives that check what they load: gather, indexSelect, index, scatter, indexPut, and require. Every index passes a
// check that names the user's line; the checked value is in range, so what it addresses is safe.
import { at, get } from '@tsinductor/base';
import { BodyBuilder, freeIndirects, indirect, int, substitute } from '@tsinductor/ir';
import type { Index, ScalarId, ScatterNode } from '@tsinductor/ir';
import { flagAttr, numberAttr, numbersAttr, stringAttr, valuesArg } from './attributes.ts';
import type { CallNode } from './attributes.ts';
import { load } from './element.ts';
import { malformedNode } from './errors.ts';
import type { Lowering, Rule } from './lowering.ts';
import { broadcastShape, linearize, locate, locateBroadcast, shapeOf } from './view.ts';
import type { Shape, View } from './view.ts';

/** One index tensor and the axis that it indexes. */
interface Lookup {
  readonly index: View;
  /** The axis, and its size. */
  readonly dim: number;
  readonly extent: Index;
  readonly site: number;
  /** Whether negative indices count from the end. */
  readonly wraps: boolean;
  /** Whether an index out of range is an error; else nobody looks. */
  readonly isChecked: boolean;
}

function lookup(
  lowering: Lowering,
  node: CallNode,
  what: { readonly index: View; readonly dim: number; readonly extent: Index },
): Lookup {
  const site = lowering.site(node, `the index of dim ${String(what.dim)}`);
  // The attribute is of primitives that subscripts are made of; by the others nothing counts from the end.
  return { ...what, site, wraps: node.attrs['wraps'] === true, isChecked: lowering.options.checkIndices };
}

/** An index: where it leads, and its checks. */
interface Checked {
  readonly place: Index;
  readonly checks: readonly ScalarId[];
}

/** The index that stands at `place` of the index tensor. */
function checkedIndex(body: BodyBuilder, one: Lookup, place: Index): Checked {
  const { index, extent, wraps, isChecked } = one;
  const { id } = load(body, index, { at: place });
  if (!isChecked) return { place: body.indirect(wraps ? wrapped(body, id, extent) : id, extent), checks: [] };
  const check = body.check(id, extent, one);
  return { place: body.indirect(check, extent), checks: [check] };
}

/** An index counted from the end where it is negative. */
function wrapped(body: BodyBuilder, index: ScalarId, extent: Index): ScalarId {
  const isNegative = body.apply('lt', [index, body.constant(0, 'i64')]);
  return body.apply('where', [isNegative, body.apply('add', [index, body.index(extent)]), index]);
}

/**
 * A load that is made where the checks hold: it keeps those alive that its address does not need, because the axis has at
 * most one element, or all its elements are the same memory. Of a value without elements nothing is ever read: no index into it
 * is in range, and what a failed check gives, 0, is not an element of it either.
 */
function guardedLoad(
  body: BodyBuilder,
  { axes, buffer, dtype }: View,
  { at: place, checks }: { readonly at: Index; readonly checks: readonly ScalarId[] },
): ScalarId {
  const isEmpty = axes.some(({ extent }) => extent.kind === 'int' && extent.value === 0);
  const needed = freeIndirects(place);
  const lost = isEmpty ? checks : checks.filter((check) => !needed.has(check));
  if (lost.length === 0) return body.load(buffer, dtype, place);
  const zero = body.constant(0, 'i64');
  const guards = lost.map((check) => body.apply(isEmpty ? 'lt' : 'ge', [check, zero]));
  return body.load(buffer, dtype, place, {
    mask: guards.reduce((all, guard) => body.apply('logicalAnd', [all, guard])),
  });
}

/** out[c] = x[c with coordinate dim replaced by index[c]]. */
const gather: Rule = (lowering, node) => {
  const [source, index] = [lowering.argument(node, 0), lowering.argument(node, 1)];
  const dim = numberAttr(node, 'dim');
  const extent = source.axes[dim]?.extent;
  return lowering.program.map(lowering.target(node), (body, coordinates) => {
    // A 0-d tensor is its own only element.
    if (extent === undefined) return body.load(source.buffer, source.dtype, locate(source, []));
    const one = lookup(lowering, node, { index, dim, extent });
    const { place, checks } = checkedIndex(body, one, locate(index, coordinates));
    return guardedLoad(body, source, { at: locate(source, coordinates.with(dim, place)), checks });
  });
};

const indexSelect: Rule = (lowering, node) => {
  const [source, index] = [lowering.argument(node, 0), lowering.argument(node, 1)];
  const dim = numberAttr(node, 'dim');
  const { extent } = at(source.axes, dim);
  return lowering.program.map(lowering.target(node), (body, coordinates) => {
    const one = lookup(lowering, node, { index, dim, extent });
    const { place, checks } = checkedIndex(body, one, locate(index, [at(coordinates, dim)]));
    return guardedLoad(body, source, { at: locate(source, coordinates.with(dim, place)), checks });
  });
};

/** Several index tensors, broadcast together to the leading axes of what they pick. */
interface Advanced {
  readonly lookups: readonly Lookup[];
  /** The shape of the broadcast indices. */
  readonly shape: Shape;
  /** Axes of the indexed value that are taken whole, in order. */
  readonly rest: readonly number[];
}

function advanced(lowering: Lowering, node: CallNode, indexed: Shape): Advanced {
  const dims = numbersAttr(node, 'dims');
  const indices = valuesArg(node, 1).map((value) => lowering.view(value));
  const lookups = indices.map((index, position) => {
    const dim = at(dims, position);
    return lookup(lowering, node, { index, dim, extent: at(indexed, dim) });
  });
  return {
    lookups,
    shape: broadcastShape(indices.map(shapeOf)),
    rest: indexed.map((_, axis) => axis).filter((axis) => !dims.includes(axis)),
  };
}

/** The coordinates in the indexed value of what is picked at `picked` of `shape`, and the checks of its indices. */
function pickedCoordinates(
  body: BodyBuilder,
  { lookups, shape, rest }: Advanced,
  picked: Shape,
): { readonly place: Shape; readonly checks: readonly ScalarId[] } {
  const coordinates = picked.slice(0, shape.length);
  const found = new Map<number, Index>();
  const checks: ScalarId[] = [];
  for (const one of lookups) {
    const { place, checks: own } = checkedIndex(body, one, locateBroadcast(one.index, shape, coordinates));
    found.set(one.dim, place);
    checks.push(...own);
  }
  rest.forEach((axis, position) => found.set(axis, at(picked, shape.length + position)));
  return { place: Array.from({ length: found.size }, (_, axis) => get(found, axis)), checks };
}

const index: Rule = (lowering, node) => {
  const source = lowering.argument(node, 0);
  const how = advanced(lowering, node, shapeOf(source));
  return lowering.program.map(lowering.target(node), (body, coordinates) => {
    const { place, checks } = pickedCoordinates(body, how, coordinates);
    return guardedLoad(body, source, { at: locate(source, place), checks });
  });
};

/** What a scatter writes: for each point of `shape`, the value at the coordinates that `element` gives. */
interface Scattered {
  readonly mode: ScatterNode['mode'];
  readonly shape: Shape;
  readonly element: (
    body: BodyBuilder,
    coordinates: Shape,
  ) => {
    readonly place: Shape;
    readonly value: View;
    readonly from: Index;
    /** Those of the indices, which the place need not mention. */
    readonly checks: readonly ScalarId[];
  };
}

/** A copy of the first argument with elements written into it. */
function scatterInto(lowering: Lowering, node: CallNode, { mode, shape, element }: Scattered): View {
  const { program } = lowering;
  const base = program.rowMajor(lowering.argument(node, 0), lowering.origin(node));
  const { axes, coordinates } = program.space(shape);
  const body = new BodyBuilder();
  const { place, value, from, checks } = element(body, coordinates);
  const result = body.load(value.buffer, value.dtype, from);
  const start = program.isZero(base.buffer) ? {} : { initial: base.buffer };
  const write = linearize(shapeOf(base), place);
  // The write's indices are nodes of the body, too: they are finished with it, and renumbered.
  const found = [...freeIndirects(write)];
  const { nodes, results } = body.finish([result, ...found, ...checks]);
  const renumbered = substitute(write, new Map(), (value, extent) =>
    indirect(at(results, found.indexOf(value) + 1), extent),
  );
  const whole = { nodes, results: results.slice(0, 1) };
  return program.append(
    lowering.target(node),
    { kind: 'scatter', mode, ...start, axes, body: whole, write: renumbered },
    coordinates,
  );
}

const scatter: Rule = (lowering, node) => {
  const [base, index, source] = [lowering.argument(node, 0), lowering.argument(node, 1), lowering.argument(node, 2)];
  const dim = numberAttr(node, 'dim');
  const extent = base.axes[dim]?.extent;
  const element: Scattered['element'] = (body, coordinates) => {
    const from = locate(source, coordinates);
    if (extent === undefined) return { place: [], value: source, from, checks: [] };
    const one = lookup(lowering, node, { index, dim, extent });
    const { place, checks } = checkedIndex(body, one, locate(index, coordinates));
    return { place: coordinates.with(dim, place), value: source, from, checks };
  };
  return scatterInto(lowering, node, { mode: scatterMode(node), shape: shapeOf(index), element });
};

const MODES: readonly ScatterNode['mode'][] = ['set', 'add', 'multiply', 'min', 'max'];

function scatterMode(node: CallNode): ScatterNode['mode'] {
  const wanted = stringAttr(node, 'mode');
  const mode = MODES.find((candidate) => candidate === wanted);
  if (mode === undefined) throw malformedNode(node.target, `mode ${wanted} is unknown`);
  return mode;
}

const indexPut: Rule = (lowering, node) => {
  const base = lowering.argument(node, 0);
  const values = lowering.argument(node, 2);
  const how = advanced(lowering, node, shapeOf(base));
  const shape = [...how.shape, ...how.rest.map((axis) => at(base.axes, axis).extent)];
  const element: Scattered['element'] = (body, coordinates) => ({
    ...pickedCoordinates(body, how, coordinates),
    value: values,
    from: locateBroadcast(values, shape, coordinates),
  });
  return scatterInto(lowering, node, { mode: flagAttr(node, 'accumulate') ? 'add' : 'set', shape, element });
};

/** A condition is checked as an index into an axis of size 1: 0 where it holds. */
const require: Rule = (lowering, node) => {
  const [source, holds] = [lowering.argument(node, 0), lowering.argument(node, 1)];
  const remedy = stringAttr(node, 'remedy');
  const named = typeof node.attrs['by'] === 'string' ? { op: node.attrs['by'] } : {};
  const site = lowering.site(node, stringAttr(node, 'what'), { remedy, ...named });
  const target = lowering.target(node);
  return lowering.program.map(target, (body, coordinates) => {
    const { id } = load(body, holds, { at: locateBroadcast(holds, target.shape, coordinates) });
    const check = body.check(body.cast(body.apply('logicalNot', [id]), 'i64'), int(1), { site, wraps: false });
    return guardedLoad(body, source, { at: locate(source, coordinates), checks: [check] });
  });
};

export const indexedRules: Readonly<Record<string, Rule>> = { gather, indexSelect, index, scatter, indexPut, require };
