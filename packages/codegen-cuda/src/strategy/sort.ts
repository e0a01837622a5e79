// Sorts: a thread for each element counts how many of its row go before it, which is its place in the order, and puts it there; or
// at each of the results for which that place is asked. Rows are read by all of their threads at once, so mostly from caches.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { Frame } from '@tsinductor/codegen';
import {
  assignVariables,
  bindAxis,
  declareVariable,
  emptyFrame,
  evaluateBody,
  evaluationAt,
  named,
  placesAt,
  product,
} from '@tsinductor/codegen';
import { axisIndex, BodyBuilder, int, substitute, subtract } from '@tsinductor/ir';
import type { Axis, Body, Index, LoopNode, ScalarId, Value } from '@tsinductor/ir';
import { mapThreads, mostBlocks } from '../target.ts';
import { byThreadsOfGrid, gridOf, loop, share } from './nest.ts';
import type { Grid, Nest } from './nest.ts';

type Sort = LoopNode & { readonly kind: 'sort' };

export function writeSort(nest: Nest, node: Sort): Grid {
  const axes = [...node.axes, node.along];
  share(nest, axes, {
    sharing: byThreadsOfGrid(nest, mapThreads),
    frame: emptyFrame,
    body: (frame) => {
      const place = placeOf(nest, node, frame);
      if (node.places === undefined)
        onlyIf(nest, { place, isBelow: node.kept.extent }, () => writeAt(nest, node, { frame, result: place }));
      else writeWanted(nest, node, { frame, place });
    },
  });
  nest.notes.push('sort, each element at the number of those before it');
  return gridOf(product(axes.map(({ extent }) => extent)), { threads: mapThreads, most: mostBlocks });
}

/** The number of elements of the row that go before the one at a point. */
function placeOf(nest: Nest, node: Sort, frame: Frame): Index {
  const { writer } = nest;
  const other: Axis = { name: writer.fresh('other'), extent: node.along.extent };
  const zero: Value = { kind: 'constant', value: 0, type: { dtype: 'i64', lanes: 1 } };
  const count = declareVariable(writer, 'before', zero);
  const step = countStep(nest, node, other);
  loop(nest, { name: other.name, from: int(0), to: other.extent, extent: other.extent }, (position) => {
    const inner = bindAxis(frame, other.name, position);
    assignVariables(writer, [count], evaluateBody(step, evaluationAt(nest, inner, [count])));
  });
  const name = writer.fresh('place');
  writer.emit({ kind: 'let', name, value: count });
  return named(name, node.along.extent);
}

/** The count, one higher where the element at `other` goes before that of the point. */
function countStep({ memory }: Nest, { along, keys, descending }: Sort, other: Axis): Body {
  const body = new BodyBuilder();
  const { dtype } = memory.decl(keys.buffer);
  const { compute } = dtypeInfo[dtype];
  const element = (place: Index): ScalarId => body.cast(body.load(keys.buffer, dtype, place), compute);
  const [mine, theirs] = [element(keys.at), element(substitute(keys.at, new Map([[along.name, axisIndex(other)]])))];
  const smaller = (one: ScalarId, two: ScalarId): ScalarId => {
    const less = body.apply('lt', [one, two]);
    if (!isFloat(dtype)) return less;
    const isLast = body.apply('logicalAnd', [
      body.apply('isnan', [two]),
      body.apply('logicalNot', [body.apply('isnan', [one])]),
    ]);
    return body.apply('logicalOr', [less, isLast]);
  };
  const [below, above] = [smaller(theirs, mine), smaller(mine, theirs)];
  const [ahead, behind] = descending ? [above, below] : [below, above];
  const isEarlier = body.apply('lt', [body.index(axisIndex(other)), body.index(axisIndex(along))]);
  const isTied = body.apply('logicalAnd', [body.apply('logicalNot', [behind]), isEarlier]);
  const isBefore = body.apply('logicalOr', [ahead, isTied]);
  return body.finish([body.apply('add', [body.carried(0, 'i64'), body.cast(isBefore, 'i64')])]);
}

interface Placed {
  readonly frame: Frame;
  /** Where the element is in the order. */
  readonly place: Index;
}

/** The element, as each of the results that ask for its place. */
function writeWanted(nest: Nest, node: Sort, { frame, place }: Placed): void {
  const { kept, along, places } = node;
  if (places === undefined) return;
  loop(nest, { name: kept.name, from: int(0), to: kept.extent, extent: kept.extent }, (result) => {
    const body = new BodyBuilder();
    const last = body.index(subtract(along.extent, int(1)));
    const asked = body.load(places.buffer, 'i64', places.at);
    const nearest = body.apply('minimum', [body.apply('maximum', [asked, body.constant(0, 'i64')]), last]);
    const evaluation = evaluationAt(nest, bindAxis(frame, kept.name, result));
    const wanted = at(evaluateBody(body.finish([nearest]), evaluation), 0);
    const name = nest.writer.fresh('wanted');
    nest.writer.emit({ kind: 'let', name, value: wanted });
    onlyIf(nest, { place, isEqual: named(name, along.extent) }, () => {
      writeAt(nest, node, { frame, result });
    });
  });
}

interface Written {
  readonly frame: Frame;
  /** Which of the row's results it is. */
  readonly result: Index;
}

/** The element of a point, and its position in the row. */
function writeAt(nest: Nest, node: Sort, { frame, result }: Written): void {
  const { memory, writer } = nest;
  const { dtype } = memory.decl(node.keys.buffer);
  const body = new BodyBuilder();
  const ids = { values: body.load(node.keys.buffer, dtype, node.keys.at), indices: body.index(axisIndex(node.along)) };
  const inner = bindAxis(frame, node.kept.name, result);
  const [values, indices] = evaluateBody(body.finish([ids.values, ids.indices]), evaluationAt(nest, inner)) as [
    Value,
    Value,
  ];
  node.outs.forEach((out, slot) => {
    const { name, dtype: own } = memory.parameter(out);
    const access = {
      buffer: name,
      at: placesAt(nest, inner).resolve(at(node.writes, slot)),
      step: int(0),
      align: dtypeInfo[own].bytes,
    };
    writer.emit({ kind: 'store', access, value: at(node.results, slot) === 'values' ? values : indices });
  });
}

type Test = { readonly place: Index } & ({ readonly isBelow: Index } | { readonly isEqual: Index });

function onlyIf({ writer, memory }: Nest, test: Test, body: () => void): void {
  const then = writer.block([], () => {
    memory.scoped(body);
  });
  const condition =
    'isBelow' in test
      ? ({ kind: 'less', left: test.place, right: test.isBelow } as const)
      : ({ kind: 'equal', left: test.place, right: test.isEqual } as const);
  writer.emit({ kind: 'if', test: condition, then });
}
