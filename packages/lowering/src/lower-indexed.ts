// Primitives with indices that are loaded: gather, indexSelect, index, scatter, indexPut. Every index passes a check
// that names the user's line; the checked value is in range, so what it addresses is safe.
import { at } from '@tsinductor/base';
import { indirect } from '@tsinductor/ir';
import type { BodyBuilder, Index, ScatterNode } from '@tsinductor/ir';
import { flagAttr, numberAttr, numbersAttr, stringAttr, valuesArg } from './attributes.ts';
import type { CallNode } from './attributes.ts';
import { stored, load } from './element.ts';
import type { Lowering, Rule } from './lowering.ts';
import { isInt, linearize, locate, locateBroadcast, shapeOf } from './view.ts';
import type { Shape, View } from './view.ts';

/** One index tensor and the axis that it indexes. */
interface Lookup {
  readonly index: View;
  /** The axis, and its size. */
  readonly dim: number;
  readonly extent: Index;
  readonly site: number;
}

function lookup(lowering: Lowering, node: CallNode, what: { readonly index: View; readonly dim: number; readonly extent: Index }): Lookup {
  return { ...what, site: lowering.site(node, `the index of dim ${String(what.dim)}`) };
}

/** The checked index that stands at `place` of the index tensor. */
function checkedIndex(body: BodyBuilder, { index, extent, site }: Lookup, place: Index): Index {
  const { id } = load(body, index, { at: place });
  return indirect(body.check(id, extent, site), extent);
}

/** out[c] = x[c with coordinate dim replaced by index[c]]. */
const gather: Rule = (lowering, node) => {
  const [source, index] = [lowering.argument(node, 0), lowering.argument(node, 1)];
  const dim = numberAttr(node, 'dim');
  const extent = source.axes[dim]?.extent;
  return lowering.program.map(lowering.target(node), (body, coordinates) => {
    // A 0-d tensor is its own only element.
    if (extent === undefined) return body.load(source.buffer, source.dtype, locate(source, []));
    const found = checkedIndex(body, lookup(lowering, node, { index, dim, extent }), locate(index, coordinates));
    return body.load(source.buffer, source.dtype, locate(source, coordinates.with(dim, found)));
  });
};

const indexSelect: Rule = (lowering, node) => {
  const [source, index] = [lowering.argument(node, 0), lowering.argument(node, 1)];
  const dim = numberAttr(node, 'dim');
  const { extent } = at(source.axes, dim);
  return lowering.program.map(lowering.target(node), (body, coordinates) => {
    const place = locate(index, [at(coordinates, dim)]);
    const found = checkedIndex(body, lookup(lowering, node, { index, dim, extent }), place);
    return body.load(source.buffer, source.dtype, locate(source, coordinates.with(dim, found)));
  });
};

/** Several index tensors, broadcast together to the leading axes of what they pick. */
interface Advanced {
  readonly lookups: readonly Lookup[];
  /** The rank of the broadcast indices. */
  readonly rank: number;
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
  const rank = Math.max(0, ...indices.map((index) => index.axes.length));
  return { lookups, rank, rest: indexed.map((_, axis) => axis).filter((axis) => !dims.includes(axis)) };
}

/** The coordinates in the indexed value of what is picked at `picked` of `shape`. */
function pickedCoordinates(body: BodyBuilder, { lookups, rank, rest }: Advanced, picked: { shape: Shape; coordinates: Shape }): Shape {
  const [shape, coordinates] = [picked.shape.slice(0, rank), picked.coordinates.slice(0, rank)];
  const found = new Map(
    lookups.map((one) => [one.dim, checkedIndex(body, one, locateBroadcast(one.index, shape, coordinates))]),
  );
  rest.forEach((axis, position) => found.set(axis, at(picked.coordinates, rank + position)));
  return Array.from({ length: found.size }, (_, axis) => at([found.get(axis)].filter((item) => item !== undefined), 0));
}

const index: Rule = (lowering, node) => {
  const source = lowering.argument(node, 0);
  const target = lowering.target(node);
  const how = advanced(lowering, node, shapeOf(source));
  return lowering.program.map(target, (body, coordinates) => {
    const place = pickedCoordinates(body, how, { shape: target.shape, coordinates });
    return body.load(source.buffer, source.dtype, locate(source, place));
  });
};
