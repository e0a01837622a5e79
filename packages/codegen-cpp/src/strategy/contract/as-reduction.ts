// A matrix product with one row as what it is: a reduction of the rows of b, each scaled by an element of a, into one row of
// the result. The strategies for reductions stream b from end to end, which tiles a few columns wide would not. Elements that lie
// interleaved in b, which are the taps of the sum, are all taken at a point of k: what they lie in is read once.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { typicalValue } from '@tsinductor/codegen';
import { axisIndex, BodyBuilder, decideBodyAt, int, loadsOf, replayBody, substitute } from '@tsinductor/ir';
import type { Access, Axis, Body, Index, LoopBand, LoopNode, LoopTree, ScalarId, Value } from '@tsinductor/ir';
import { scalarLoop, wholeRange } from '../write/loops.ts';
import type { Nest } from '../write/nest.ts';
import { writeRegions } from '../write/regions.ts';
import { operandName } from './operands.ts';
import { fuses, stepAlong } from './plan.ts';
import type { Oriented } from './plan.ts';
import { pointsOf, positionIn } from './points.ts';

export function writeAsReduction(nest: Nest, given: Oriented): void {
  nest.memory.scoped(() => {
    const oriented = withPartsTogether(nest, given);
    const { node, k } = oriented;
    const parallel = node.axes.map((axis): LoopBand => ({ axis, role: 'parallel' }));
    const tree: LoopTree = {
      kind: 'loops',
      loops: [...parallel, { axis: k, role: 'reduction' }],
      children: [{ kind: 'node', node: 0 }],
    };
    const group = { ...nest.group, nodes: [asReduction(oriented)], nest: tree, locals: [] };
    writeRegions({ ...nest, group }, tree);
  });
}

/** Where there are taps: the row of a with the elements of each tap side by side, as those are that they are multiplied with. */
function withPartsTogether(nest: Nest, oriented: Oriented): Oriented {
  const { node, a, b, k, m, taps } = oriented;
  const isReadByB = b.element !== undefined && loadsOf(b.element).some(({ buffer }) => buffer === a.buffer);
  if (taps.length === 0 || stepAlong(a, k) === 1 || isReadByB) return oriented;
  const axes = [...node.batch, ...taps, k];
  const place = positionIn(axes, new Map(axes.map((axis) => [axis.name, axisIndex(axis)])));
  const { name } = nest.memory.workspace('parts', a.dtype, pointsOf(axes));
  writeParts(nest, oriented, { axes, name, place, point: new Map([[m.name, int(0)]]) });
  nest.memory.setRow(a.buffer, { name, lanes: 1, outside: new Set(), base: int(0) });
  return { ...oriented, a: { ...a, at: place } };
}

interface Parts {
  /** Those that are not loops yet, and the coordinates of the others. */
  readonly axes: readonly Axis[];
  readonly point: ReadonlyMap<string, Index>;
  readonly name: string;
  readonly place: Index;
}

function writeParts(nest: Nest, oriented: Oriented, { axes: [axis, ...axes], point, name, place }: Parts): void {
  if (axis !== undefined) {
    scalarLoop(nest, wholeRange(axis), (value) => {
      writeParts(nest, oriented, { axes, name, place, point: new Map([...point, [axis.name, value]]) });
    });
    return;
  }
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
  const value = writer.define(load, 'part', writer.depth);
  writer.emit({ kind: 'store', access: accessOf(name, place), value });
}

const bodyOf = (build: (builder: BodyBuilder) => ScalarId): Body => {
  const builder = new BodyBuilder();
  return builder.finish([build(builder)]);
};

function asReduction(oriented: Oriented): LoopNode {
  const { node, k, outDType } = oriented;
  const dtype = node.accumulate;
  const sum = (builder: BodyBuilder, slot: number): ScalarId => builder.carried(slot, dtype);
  return {
    kind: 'reduce',
    id: node.id,
    outs: node.outs,
    writes: node.writes,
    axes: node.axes,
    origins: node.origins,
    over: [k],
    state: [dtype],
    init: bodyOf((builder) => builder.constant(0, dtype)),
    step: bodyOf((builder) =>
      products(builder, oriented).reduce(
        (all, factors) => addProduct(builder, { factors, sum: all, dtype }),
        sum(builder, 0),
      ),
    ),
    merge: bodyOf((builder) => builder.apply('add', [sum(builder, 0), sum(builder, 1)])),
    finish: bodyOf((builder) => builder.cast(sum(builder, 0), outDType)),
  };
}

/** What is multiplied at a point of k: two factors for each tap. */
function products(builder: BodyBuilder, { node, a, b, taps }: Oriented): readonly (readonly ScalarId[])[] {
  return tapsOf(taps).map((point) =>
    [a, b].map(({ buffer, dtype, at: place, element }) => {
      const plain = new BodyBuilder();
      const body = element ?? plain.finish([plain.cast(plain.load(buffer, dtype, place), node.accumulate)]);
      return at(replayBody(point.size === 0 ? body : decideBodyAt(body, point), builder).results, 0);
    }),
  );
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
