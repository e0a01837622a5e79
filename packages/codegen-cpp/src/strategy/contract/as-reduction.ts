// A matrix product with one row as what it is: a reduction of the rows of b, each scaled by an element of a, into one row of
// the result. The strategies for reductions stream b from end to end, which tiles a few columns wide would not. Elements that lie
// interleaved in b, which are the taps of the sum, are all taken at a point of k: what they lie in is read once. A few rows are states of
// one reduction, so that an element of b is computed once for all of them.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { staticValue, typicalValue } from '@tsinductor/codegen';
import { add, axisIndex, BodyBuilder, ceilDivide, decideBodyAt, int, loadsOf, multiply } from '@tsinductor/ir';
import { replayBody, substitute } from '@tsinductor/ir';
import type { Access, Axis, Body, Index, LoopBand, LoopNode, LoopTree, ScalarId, Value } from '@tsinductor/ir';
import { lineBytes } from '../../machine/facts.ts';
import { scalarLoop, wholeRange } from '../write/loops.ts';
import type { Nest } from '../write/nest.ts';
import { writeRegions } from '../write/regions.ts';
import { operandName } from './operands.ts';
import { fuses, stepAlong } from './oriented.ts';
import type { Operand, Oriented } from './oriented.ts';
import { pointsOf, positionIn } from './points.ts';

export function writeAsReduction(nest: Nest, given: Oriented): void {
  nest.memory.scoped(() => {
    const oriented = withPartsTogether(nest, given);
    const { k } = oriented;
    const node = asReduction(oriented);
    const parallel = node.axes.map((axis): LoopBand => ({ axis, role: 'parallel' }));
    const tree: LoopTree = {
      kind: 'loops',
      loops: [...parallel, { axis: k, role: 'reduction' }],
      children: [{ kind: 'node', node: 0 }],
    };
    const group = { ...nest.group, nodes: [node], nest: tree, locals: [] };
    writeRegions({ ...nest, group }, tree);
  });
}

/**
 * Where there are taps: rows of a with the elements of each tap side by side, as those are that they are multiplied with. Several rows are
 * read for every column: in the type of the sum, and in no distance that has them all in one set of a cache.
 */
function withPartsTogether(nest: Nest, oriented: Oriented): Oriented {
  const { node, a, b, k, m, taps } = oriented;
  const readByB = b.element === undefined ? [b] : loadsOf(b.element);
  const isReadByB = readByB.some(({ buffer }) => buffer === a.buffer);
  const hasRows = staticValue(m.extent) !== 1;
  const isApart = taps.length > 0 && stepAlong(a, k) !== 1;
  if (!(isApart || hasRows) || isReadByB) return oriented;
  const dtype = hasRows ? node.accumulate : a.dtype;
  const line = int(lineBytes / dtypeInfo[dtype].bytes);
  const row = hasRows ? { ...k, extent: multiply(add(ceilDivide(k.extent, line), int(1)), line) } : k;
  const axes = [...node.batch, m, ...taps, k];
  const padded = [...axes.slice(0, -1), row];
  const place = positionIn(padded, new Map(axes.map((axis) => [axis.name, axisIndex(axis)])));
  const { name } = nest.memory.workspace('parts', dtype, pointsOf(padded));
  writeParts(nest, oriented, { axes, name, dtype, place, point: new Map() });
  nest.memory.setRow(a.buffer, { name, lanes: 1, outside: new Set(), base: int(0) });
  return { ...oriented, a: { ...a, dtype, at: place } };
}

interface Parts {
  /** Those that are not loops yet, and the coordinates of the others. */
  readonly axes: readonly Axis[];
  readonly point: ReadonlyMap<string, Index>;
  readonly name: string;
  readonly dtype: DType;
  readonly place: Index;
}

function writeParts(nest: Nest, oriented: Oriented, { axes: [axis, ...axes], point, ...parts }: Parts): void {
  if (axis !== undefined) {
    scalarLoop(nest, wholeRange(axis), (value) => {
      writeParts(nest, oriented, { ...parts, axes, point: new Map([...point, [axis.name, value]]) });
    });
    return;
  }
  const { name, dtype, place } = parts;
  const { a } = oriented;
  const { writer } = nest;
  const accessOf = (buffer: string, index: Index): Access => ({
    buffer,
    at: substitute(index, point),
    step: int(0),
    align: dtypeInfo[a.dtype].bytes,
  });
  const load: Value = {
    kind: 'load',
    type: { dtype: a.dtype, lanes: 1 },
    access: accessOf(operandName(nest, a), a.at),
  };
  const part = writer.define(load, 'part', writer.depth);
  const value: Value = dtype === a.dtype ? part : { kind: 'cast', value: part, type: { dtype, lanes: 1 } };
  writer.emit({ kind: 'store', access: accessOf(name, place), value });
}

function asReduction(oriented: Oriented): LoopNode & { readonly kind: 'reduce' } {
  const { node, k, m, outDType } = oriented;
  const dtype = node.accumulate;
  const rows = Array.from({ length: typicalValue(m.extent) }, (_, row) => new Map([[m.name, int(row)]]));
  /** One result for each row. */
  const bodyOf = (build: (builder: BodyBuilder, row: number) => ScalarId): Body => {
    const builder = new BodyBuilder();
    return builder.finish(rows.map((_, row) => build(builder, row)));
  };
  const sum = (builder: BodyBuilder, slot: number): ScalarId => builder.carried(slot, dtype);
  return {
    kind: 'reduce',
    id: node.id,
    outs: rows.map(() => at(node.outs, 0)),
    writes: rows.map((row) => substitute(at(node.writes, 0), row)),
    axes: node.axes.filter((axis) => axis.name !== m.name),
    origins: node.origins,
    over: [k],
    state: rows.map(() => dtype),
    init: bodyOf((builder) => builder.constant(0, dtype)),
    step: stepOf(oriented, rows),
    merge: bodyOf((builder, row) => builder.apply('add', [sum(builder, row), sum(builder, rows.length + row)])),
    finish: bodyOf((builder, row) => builder.cast(sum(builder, row), outDType)),
  };
}

/** Adds the products at a point of k to the sum of each row: one for each tap, of which b's factor is that of all rows. */
function stepOf({ node, a, b, taps }: Oriented, rows: readonly ReadonlyMap<string, Index>[]): Body {
  const builder = new BodyBuilder();
  const dtype = node.accumulate;
  const factor = (operand: Operand, point: ReadonlyMap<string, Index>): ScalarId => {
    const plain = new BodyBuilder();
    const { buffer, at: place, element } = operand;
    const body = element ?? plain.finish([plain.cast(plain.load(buffer, operand.dtype, place), dtype)]);
    return at(replayBody(decideBodyAt(body, point), builder).results, 0);
  };
  const sums = rows.map((_, row) => builder.carried(row, dtype));
  for (const tap of tapsOf(taps)) {
    const right = factor(b, tap);
    rows.forEach((row, slot) => {
      const factors = [factor(a, new Map([...tap, ...row])), right];
      sums[slot] = addProduct(builder, { factors, sum: at(sums, slot), dtype });
    });
  }
  return builder.finish(sums);
}

/** The coordinates of each tap; without taps those of one point without coordinates. */
const tapsOf = (taps: readonly Axis[]): readonly ReadonlyMap<string, Index>[] =>
  taps.reduce<readonly ReadonlyMap<string, Index>[]>(
    (points, { name, extent }) =>
      points.flatMap((point) =>
        Array.from({ length: typicalValue(extent) }, (_, place) => new Map([...point, [name, int(place)]])),
      ),
    [new Map()],
  );

interface Adding {
  readonly factors: readonly ScalarId[];
  readonly sum: ScalarId;
  readonly dtype: DType;
}

function addProduct(builder: BodyBuilder, { factors, sum, dtype }: Adding): ScalarId {
  if (fuses(dtype)) return builder.apply('fma', [...factors, sum]);
  return builder.apply('add', [sum, builder.apply('mul', factors)]);
}
