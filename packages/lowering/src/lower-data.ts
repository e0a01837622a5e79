// Primitives that make or rearrange data: full, iota, pad, cat. Elements are moved in their own dtype, and computed in
// its compute dtype.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { ScalarRef } from '@tsinductor/graph';
import { add, coefficientOf, int, isAtMost, multiply, subtract } from '@tsinductor/ir';
import type { BodyBuilder, Index, ScalarId } from '@tsinductor/ir';
import { isIndex, numberAttr, operandArg, pairsAttr, scalarAttr, valuesArg } from './attributes.ts';
import { isOfProduct, paddedOrder } from './channels-last.ts';
import { convert, literal, load, roundedScalar, stored } from './element.ts';
import type { Element } from './element.ts';
import type { Rule } from './lowering.ts';
import type { Part, ProgramBuilder, Target } from './program-builder.ts';
import { isInt, locate, shapeOf, zero } from './view.ts';
import type { Shape, View } from './view.ts';

function constant(body: BodyBuilder, value: ScalarRef | Index, dtype: DType): Element {
  if (isIndex(value)) return convert(body, { id: body.index(value), dtype: 'i64' }, dtype);
  return literal(body, value, dtype);
}

const fullRule: Rule = (lowering, node) => {
  const target = lowering.target(node);
  const value = operandArg(node, 0);
  return lowering.program.map(target, (body) => {
    // Rounded at once: where the value is used, its rounding to a half float may be left out.
    if (value.kind === 'scalar') {
      const rounded = roundedScalar(value, target.dtype);
      return stored(body, constant(body, rounded, dtypeInfo[target.dtype].compute), target.dtype);
    }
    const view = lowering.view(value);
    return stored(
      body,
      load(body, view, {
        at: locate(
          view,
          view.axes.map(() => zero),
        ),
      }),
      target.dtype,
    );
  });
};

/** start + step * i: on integers where all are integers, else in double precision and rounded once, as PyTorch does. */
const iotaRule: Rule = (lowering, node) => {
  const target = lowering.target(node);
  const [start, step] = [scalarAttr(node, 'start'), scalarAttr(node, 'step')];
  return lowering.program.map(target, (body, coordinates) => {
    const position = at(coordinates, 0);
    if (isIndex(start) && isIndex(step)) {
      const value = add(start, multiply(position, step));
      return stored(body, { id: body.index(value), dtype: 'i64' }, target.dtype);
    }
    const dtype = isFloat(target.dtype) ? 'f64' : 'i64';
    const i = convert(body, { id: body.index(position), dtype: 'i64' }, dtype);
    const offset = body.apply('mul', [i.id, constant(body, step, dtype).id]);
    const id = body.apply('add', [constant(body, start, dtype).id, offset]);
    return stored(body, { id, dtype }, target.dtype);
  });
};

/** lower <= coordinate < upper, or undefined where ranges say so already. */
function within(body: BodyBuilder, coordinate: Index, bounds: { lower: Index; upper: Index }): ScalarId | undefined {
  const tests: ScalarId[] = [];
  if (!isAtMost(bounds.lower, coordinate))
    tests.push(body.apply('ge', [body.index(coordinate), body.index(bounds.lower)]));
  if (!isAtMost(add(coordinate, int(1)), bounds.upper)) {
    tests.push(body.apply('lt', [body.index(coordinate), body.index(bounds.upper)]));
  }
  return all(body, tests);
}

const all = (body: BodyBuilder, tests: readonly (ScalarId | undefined)[]): ScalarId | undefined =>
  tests.reduce(
    (left, right) =>
      left === undefined ? right : right === undefined ? left : body.apply('logicalAnd', [left, right]),
    undefined,
  );

const padRule: Rule = (lowering, node) => {
  const source = lowering.argument(node, 0);
  const padding = pairsAttr(node, 'padding');
  const value = scalarAttr(node, 'value');
  const order = paddedOrder(lowering, node, source);
  const target: Target = { ...lowering.target(node), ...(order !== undefined && { order }) };
  const isWorthParts = isLarge(target) && (order !== undefined || isTurned(source) || isOfProduct(lowering, source));
  if (lowering.options.hasLanes && isWorthParts && padding.flat().every(isPositive))
    return padInParts(lowering.program, { target, source, padding, value });
  return lowering.program.map(target, (body, coordinates) => {
    const outside = stored(body, constant(body, value, dtypeInfo[target.dtype].compute), target.dtype);
    if (shapeOf(source).some((extent) => isInt(extent, 0))) return outside;
    const inner = coordinates.map((coordinate, axis) => subtract(coordinate, at(at(padding, axis), 0)));
    const mask = all(
      body,
      inner.map((coordinate, axis) => within(body, coordinate, { lower: zero, upper: at(source.axes, axis).extent })),
    );
    const place = locate(source, inner);
    if (mask === undefined) return body.load(source.buffer, source.dtype, place);
    return body.load(source.buffer, source.dtype, place, { mask, other: outside });
  });
};

const isPositive = (index: Index): boolean => index.kind === 'int' && index.value >= 0;

/** Smaller results are copied in one loop, element by element. */
const FEW_ELEMENTS = 4096;

/** Whether a result is large, and its size known. */
const isLarge = ({ shape }: Target): boolean =>
  shape.reduce((count, extent) => count * (extent.kind === 'int' ? extent.value : NaN), 1) >= FEW_ELEMENTS;

/** Whether elements that lie side by side in a row-major result lie apart in the source, and others do not. */
function isTurned(source: View): boolean {
  const steps = source.axes.map((axis) => coefficientOf(source.at, axis));
  const isDense = steps.some((step) => step !== undefined && isInt(step, 1));
  const last = steps.at(-1);
  return isDense && last !== undefined && !isInt(last, 1) && !isInt(last, 0);
}

interface Padding {
  readonly target: Target;
  readonly source: View;
  readonly padding: readonly (readonly [Index, Index])[];
  readonly value: ScalarRef | Index;
}

/** The source in the midst, and around it what is before and after each dim: nodes without masks. */
function padInParts(program: ProgramBuilder, { target, source, padding, value }: Padding): View {
  const inner = shapeOf(source);
  const outside: Part['element'] = (body) =>
    stored(body, constant(body, value, dtypeInfo[target.dtype].compute), target.dtype);
  const borders = padding.flatMap(([before, after], dim): readonly Part[] => {
    // Of the dims before this one only what the source covers: the corners are theirs.
    const starts = padding.map(([first], other) => (other < dim ? first : zero));
    const shape = target.shape.map((extent, other) => (other < dim ? at(inner, other) : extent));
    const slab = (size: Index, start: Index): readonly Part[] =>
      isInt(size, 0) ? [] : [{ shape: shape.with(dim, size), start: starts.with(dim, start), element: outside }];
    return [...slab(before, zero), ...slab(after, add(before, at(inner, dim)))];
  });
  const midst: Part = {
    shape: inner,
    start: padding.map(([before]) => before),
    element: (body, coordinates) => body.load(source.buffer, source.dtype, locate(source, coordinates)),
  };
  return program.inParts(target, [...borders, midst]);
}

const catRule: Rule = (lowering, node) => {
  const { program } = lowering;
  const dim = numberAttr(node, 'dim');
  const values = valuesArg(node, 0);
  // Of an empty result no piece is read, whichever dim it is that is empty.
  const kept = values
    .map((value) => lowering.view(value))
    .filter(({ axes }) => !axes.some(({ extent }) => isInt(extent, 0)));
  const limit = Math.max(2, lowering.options.catInputs);
  const target = lowering.target(node);
  // Only of what nobody else reads: or pieces of pieces would be copied again by each reader.
  const known = values.every((value) => lowering.isReadOnce(value))
    ? kept.map((piece) => program.joinedParts(piece))
    : [];
  const parts = joinedParts(kept, known, dim);
  const isInParts = parts.length > limit && target.shape.every(({ kind }) => kind === 'int');
  const whole = isInParts ? program.inParts(target, parts) : concatenate(program, { target, pieces: kept, dim, limit });
  program.joined.set(whole.buffer, parts);
  return whole;
};

/** The pieces of a concatenation, of which each is copied to its place; of concatenations alone, as of rows of tiles, the pieces of these. */
function joinedParts(
  pieces: readonly View[],
  known: readonly (readonly Part[] | undefined)[],
  dim: number,
): readonly Part[] {
  const areJoined = known.every((parts) => parts !== undefined);
  let lower = zero;
  return pieces.flatMap((piece, position): readonly Part[] => {
    const shape = shapeOf(piece);
    const start = shape.map((_, axis) => (axis === dim ? lower : zero));
    lower = add(lower, at(shape, dim));
    const element: Part['element'] = (body, coordinates) =>
      body.load(piece.buffer, piece.dtype, locate(piece, coordinates));
    const inner = areJoined ? known[position] : undefined;
    if (inner === undefined) return [{ shape, start, element }];
    return inner.map((part) => ({ ...part, start: start.map((first, axis) => add(first, at(part.start, axis))) }));
  });
}

interface Concatenation {
  readonly target: Target;
  readonly pieces: readonly View[];
  readonly dim: number;
  /** Pieces that one node reads; more, of sizes that only a call knows, are first joined in groups. */
  readonly limit: number;
}

function concatenate(program: ProgramBuilder, concatenation: Concatenation): View {
  const { target, pieces, dim, limit } = concatenation;
  if (pieces.length > limit) {
    const size = Math.ceil(pieces.length / limit);
    const parts = Array.from({ length: Math.ceil(pieces.length / size) }, (_, part) =>
      pieces.slice(part * size, (part + 1) * size),
    );
    const joined = parts.map((part) =>
      concatenate(program, { target: { ...target, shape: joinedShape(part, dim) }, pieces: part, dim, limit }),
    );
    return concatenate(program, { ...concatenation, pieces: joined });
  }
  return program.map(target, (body, coordinates) => pickPiece(body, concatenation, coordinates));
}

const joinedShape = (pieces: readonly View[], dim: number): Shape => {
  const extent = pieces.reduce((sum, piece) => add(sum, at(piece.axes, dim).extent), zero);
  return shapeOf(at(pieces, 0)).with(dim, extent);
};

/** The element of the piece in whose part of the axis the coordinate lies; the others are not read. */
function pickPiece(body: BodyBuilder, { target, pieces, dim }: Concatenation, coordinates: Shape): ScalarId {
  const coordinate = at(coordinates, dim);
  const elements: { readonly element: Element; readonly upper: Index }[] = [];
  let lower = zero;
  pieces.forEach((piece, position) => {
    const upper = add(lower, at(piece.axes, dim).extent);
    const isLast = position === pieces.length - 1;
    const tests = [position > 0 ? body.apply('ge', [body.index(coordinate), body.index(lower)]) : undefined];
    if (!isLast) tests.push(body.apply('lt', [body.index(coordinate), body.index(upper)]));
    const mask = all(body, tests);
    const place = locate(piece, coordinates.with(dim, subtract(coordinate, lower)));
    const element = load(body, piece, { at: place, ...(mask === undefined ? {} : { mask }) });
    elements.push({ element, upper });
    lower = upper;
  });
  const last = elements.pop();
  if (last === undefined) return emptyElement(body, target.dtype);
  const picked = elements.reduceRight<Element>((rest, { element, upper }) => {
    const isHere = body.apply('lt', [body.index(coordinate), body.index(upper)]);
    return { id: body.apply('where', [isHere, element.id, rest.id]), dtype: element.dtype };
  }, last.element);
  return stored(body, picked, target.dtype);
}

/** The body of a map over no points at all. */
function emptyElement(body: BodyBuilder, dtype: DType): ScalarId {
  const { compute } = dtypeInfo[dtype];
  return stored(body, { id: body.constant(0, compute), dtype: compute }, dtype);
}

export const dataRules: Readonly<Record<string, Rule>> = { full: fullRule, iota: iotaRule, pad: padRule, cat: catRule };
