import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { int, sizeSymbol } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { scalar } from '../argument-reader.ts';
import type { Graph, ValueRef } from '../graph.ts';
import { GraphBuilder } from '../graph-builder.ts';
import { printGraph } from '../print-graph.ts';
import { contiguousMeta, sizeAttr } from '../shape.ts';
import { verifyGraph } from '../verify-graph.ts';
import type { Packing } from './pack-products.ts';
import { splitFrozen } from './split-frozen.ts';
import type { FrozenSplit } from './split-frozen.ts';

const ints = (sizes: readonly number[]): readonly Index[] => sizes.map((size) => int(size));
const packing: Packing = { panelColumns: (dtype) => (dtype === 'f32' ? 16 : undefined), leastRows: 4 };

type Build = (b: GraphBuilder, x: ValueRef, w: ValueRef) => ValueRef;

/** A graph of an argument x and a frozen w. */
function graphOf(build: Build, x: readonly Index[] = ints([8, 24]), w = [32, 24]): Graph {
  const b = new GraphBuilder({ expand: true });
  const argument = b.placeholder('x', contiguousMeta(x, 'f32'));
  b.output(build(b, argument, b.placeholder('w', contiguousMeta(ints(w), 'f32'))));
  return b.finish();
}

const split = (graph: Graph, how?: Packing): FrozenSplit | undefined =>
  splitFrozen(graph, { isFrozen: (position) => position === 1, ...(how === undefined ? {} : { packing: how }) });
const callsOf = (graph: Graph | undefined): readonly string[] =>
  (graph?.nodes ?? []).flatMap((node) => (node.kind === 'call' ? [node.target] : []));

const byScaled: Build = (b, x, w) => b.call('linear', [x, b.call('mul', [w, scalar(2)]), null]);
const linear: Build = (b, x, w) => b.call('linear', [x, w, null]);

describe('what is computed once', () => {
  test('is what depends on frozen inputs alone', () => {
    const parts = split(graphOf(byScaled));
    expect(parts?.folded.map(({ graph, inputs }) => [callsOf(graph), inputs])).toEqual([[['mul'], [1]]]);
    expect(callsOf(parts?.rest)).not.toContain('mul');
    expect(parts?.inputs).toEqual([
      { kind: 'input', position: 0 },
      { kind: 'folded', position: 0 },
    ]);
    for (const graph of [parts?.rest, parts?.folded[0]?.graph]) if (graph) verifyGraph(graph, { primitivesOnly: true });
  });

  test('is nothing that a symbolic size is in: it is another one in a call of other sizes', () => {
    const ofLast: Build = (b, x, w) => {
      const last = b.call('iota', [], {
        length: 1,
        start: sizeAttr(at(b.metaOf(x).shape, 0)),
        step: 1,
        dtype: { dtype: 'i64' },
      });
      return b.call('add', [x, b.call('mul', [b.call('indexSelect', [w, last], { dim: 0 }), scalar(2)])]);
    };
    const size = sizeSymbol('s0', 2, 31);
    expect(split(graphOf(ofLast, [size, int(24)]))).toBeUndefined();
    expect(split(graphOf(ofLast, ints([8, 24])))?.folded).toHaveLength(1);
  });

  test('is no view, which costs nothing where it is', () => {
    expect(split(graphOf(linear))).toBeUndefined();
  });

  test('is no result of the graph, which belongs to the caller, but what results are made of', () => {
    expect(split(graphOf((b, _, w) => b.call('exp', [w])))).toBeUndefined();
    const parts = split(graphOf((b, _, w) => b.call('exp', [b.call('sum', [w], { dims: [0] })])));
    expect(parts?.folded.map(({ graph }) => callsOf(graph))).toEqual([['sum']]);
    expect(callsOf(parts?.rest)).toEqual(['exp']);
  });

  test('is nothing that is larger than what it is made of: that is made anew', () => {
    const wider: Build = (b, x, w) =>
      b.call('mul', [
        b.call('cast', [x], { dtype: { dtype: 'f64' } }),
        b.call('cast', [w], { dtype: { dtype: 'f64' } }),
      ]);
    expect(split(graphOf(wider, ints([32, 24])))).toBeUndefined();
    const then: Build = (b, x, w) =>
      b.call('mul', [
        x,
        b.call('cast', [b.call('sum', [b.call('cast', [w], { dtype: { dtype: 'f64' } })], { dims: [0] })], {
          dtype: { dtype: 'f32' },
        }),
      ]);
    const parts = split(graphOf(then));
    expect(parts?.folded.map(({ graph }) => callsOf(graph))).toEqual([['cast', 'sum', 'cast']]);
  });

  test('are not several cheap values that are larger together than what they are made of', () => {
    const both =
      (first: string, second: string): Build =>
      (b, x, w) =>
        b.call('add', [
          b.call('linear', [x, b.call(first, [w]), null]),
          b.call('linear', [b.call('neg', [x]), b.call(second, [w]), null]),
        ]);
    expect(split(graphOf(both('neg', 'abs')))).toBeUndefined();
    const heavy = split(graphOf(both('sin', 'cos')));
    expect(heavy?.folded.map(({ graph }) => callsOf(graph))).toEqual([['cos'], ['sin']]);
  });

  test('is a copy of a view whose elements no strides describe', () => {
    const turned: Build = (b, x, w) =>
      b.call('mul', [x, b.call('reshape', [b.call('permute', [w], { dims: [1, 0] })], { shape: [8, 96] })]);
    const parts = split(graphOf(turned, ints([8, 96])));
    expect(parts?.folded.map(({ graph }) => callsOf(graph))).toEqual([['permute', 'reshape']]);
  });

  test('is nothing where nothing is frozen', () => {
    expect(splitFrozen(graphOf(byScaled), { isFrozen: () => false })).toBeUndefined();
  });
});

describe('panels', () => {
  test('are computed once, and the product is over them', () => {
    const parts = split(graphOf(linear), packing);
    expect(parts?.folded.map(({ meta }) => meta.shape)).toEqual([ints([2, 24, 16])]);
    expect(callsOf(parts?.rest).filter((name) => name !== 'reshape')).toEqual(['expand', 'bmm', 'permute']);
    if (parts) verifyGraph(parts.rest, { primitivesOnly: true });
  });

  test('are one for all products by a matrix, as the steps of a recurrent network are', () => {
    const steps: Build = (b, x, w) => {
      const once = b.call('tanh', [linear(b, x, w)]);
      return linear(b, b.call('slice', [once], { dim: 1, start: 0, end: 24, step: 1 }), w);
    };
    const parts = split(graphOf(steps), packing);
    expect(callsOf(parts?.rest).filter((target) => target === 'bmm')).toHaveLength(2);
    expect(parts?.folded.map(({ meta }) => meta.shape)).toEqual([ints([2, 24, 16])]);
  });

  test('are of products of any number of rows', () => {
    const parts = split(graphOf(linear, [sizeSymbol('s0', 2, 10_000), int(24)]), packing);
    expect(parts?.folded).toHaveLength(1);
    expect(parts?.rest.sizes).toEqual([{ name: 's0', placeholder: 0, axis: 0 }]);
  });

  test.each<[string, readonly number[], readonly number[]]>([
    ['of few rows', [3, 24], [32, 24]],
    ['of columns that do not fill panels', [8, 24], [40, 24]],
  ])('are not made for products %s', (_name, x, w) => {
    expect(split(graphOf(linear, ints(x), [...w]), packing)).toBeUndefined();
  });
});

describe('folded values', () => {
  test('of different graphs are one, if they are computed equally', () => {
    const [one, other] = [graphOf(linear), graphOf((b, x, w) => b.call('exp', [linear(b, x, w)]), ints([9, 24]))];
    const keys = [one, other].map((graph) => split(graph, packing)?.folded[0]?.key);
    expect(keys[0]).toBe(keys[1]);
    expect(split(graphOf(byScaled), packing)?.folded[0]?.key).not.toBe(keys[0]);
  });

  test('are computed by one graph, which takes each input once', () => {
    const both: Build = (b, x, w) => b.call('add', [byScaled(b, x, w), b.call('sum', [w], { dims: [1] })]);
    const parts = split(graphOf(both), packing);
    const joined = parts?.fold([0, 1]);
    expect(joined?.inputs).toEqual([1]);
    expect(joined?.graph.outputs).toHaveLength(2);
    if (joined) verifyGraph(joined.graph, { primitivesOnly: true });
    expect(joined && printGraph(joined.graph).match(/placeholder/g)).toHaveLength(1);
  });

  test('keep which input is written to', () => {
    const b = new GraphBuilder({ expand: true });
    const w = b.placeholder('w', contiguousMeta(ints([4]), 'f32'));
    const x = b.placeholder('x', contiguousMeta(ints([4]), 'f32'));
    const result = b.output(b.call('add', [x, b.call('exp', [w])]));
    b.mutate(1, result);
    const parts = splitFrozen(b.finish(), { isFrozen: (position) => position === 0 });
    expect(parts?.inputs).toEqual([
      { kind: 'input', position: 1 },
      { kind: 'folded', position: 0 },
    ]);
    expect(parts?.rest.mutations).toEqual([{ placeholder: 0, output: 0 }]);
  });
});
