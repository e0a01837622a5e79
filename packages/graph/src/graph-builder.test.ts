import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { int } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import {
  contiguousMeta,
  decompose,
  GraphBuilder,
  isAttribute,
  operatorFor,
  operators,
  optimize,
  primitives,
  printGraph,
  SizeEnvironment,
  verifyGraph,
} from './index.ts';
import type { Graph, LaunchMemory, Operator, ValueRef } from './index.ts';

const shape = (...sizes: readonly (number | Index)[]): readonly Index[] =>
  sizes.map((size) => (typeof size === 'number' ? int(size) : size));

/** The text of what `build` makes of inputs x and y, decomposed and optimised. */
function lowered(build: (b: GraphBuilder, x: ValueRef, y: ValueRef) => ValueRef): string {
  const builder = new GraphBuilder();
  const [x, y] = [
    builder.placeholder('x', contiguousMeta(shape(2, 3), 'f32')),
    builder.placeholder('y', contiguousMeta(shape(3), 'f32')),
  ];
  builder.output(build(builder, x, y));
  const graph = optimize(decompose(builder.finish()));
  verifyGraph(graph, { primitivesOnly: true });
  return printGraph(graph)
    .split('\n')
    .slice(2)
    .map((line) => line.split('  #')[0] ?? '')
    .join('\n')
    .trim();
}

describe('GraphBuilder', () => {
  test('prints as FX does, with the user line and the composites', () => {
    const location = { file: 'model.ts', line: 12 };
    const builder = new GraphBuilder({ locate: () => location });
    const x = builder.placeholder('x', contiguousMeta(shape(4, 8), 'f16'));
    builder.output(builder.call('softmax', [x], { dim: -1 }));
    const traced = builder.finish();
    expect(printGraph(traced)).toBe(`%0 : f16[4, 8] = placeholder(x)
%1 : f16[4, 8] = softmax(%0, dim=-1, dtype=null)  # model.ts:12
return %1
`);
    expect(printGraph(decompose(traced))).toBe(`%0 : f16[4, 8] = placeholder(x)
%1 : f32[4, 8] = cast(%0, dtype=f32)  # model.ts:12 softmax
%2 : f32[4, 1] = amax(%1, dims=[1], keepdim=true)  # model.ts:12 softmax
%3 : f32[4, 8] = sub(%1, %2)  # model.ts:12 softmax
%4 : f32[4, 8] = exp(%3)  # model.ts:12 softmax
%5 : f32[4, 1] = sum(%4, dims=[1], keepdim=true)  # model.ts:12 softmax
%6 : f32[4, 1] = reciprocal(%5)  # model.ts:12 softmax
%7 : f32[4, 8] = mul(%4, %6)  # model.ts:12 softmax
%8 : f16[4, 8] = cast(%7, dtype=f16)  # model.ts:12 softmax
return %8
`);
  });

  test('errors say what, where and what to do', () => {
    const builder = new GraphBuilder({ locate: () => ({ file: 'model.ts', line: 3 }) });
    const [x, y] = [
      builder.placeholder('x', contiguousMeta(shape(3, 4), 'f32')),
      builder.placeholder('y', contiguousMeta(shape(5), 'f32')),
    ];
    expect(() => builder.call('add', [x, y])).toThrow(
      'cannot broadcast [3, 4] with [5]: axis 1 is 4 and 5, at model.ts:3; insert a reshape or an expand',
    );
    expect(() => builder.call('permute', [x], { dims: [0, 2] })).toThrow(
      'dim 2 of a tensor of rank 2, at model.ts:3; use -2 to 1',
    );
    expect(() => builder.call('nothing', [x])).toThrow('there is no operator nothing');
  });

  test('symbolic sizes flow through, and are bound to the axes where they appear', () => {
    const sizes = new SizeEnvironment();
    const n = sizes.declare('s0', 6);
    const builder = new GraphBuilder({ sizes, expand: true });
    const x = builder.placeholder('x', contiguousMeta(shape(n, 8), 'f32'));
    const w = builder.placeholder('w', contiguousMeta(shape(4, 8), 'f32'));
    builder.output(
      builder.call('linear', [x, w, null]),
      builder.call('flatten', [x]),
      builder.call('mean', [x], { dim: [0] }),
    );
    const graph = builder.finish();
    expect(graph.sizes).toEqual([{ name: 's0', placeholder: 0, axis: 0 }]);
    expect(printGraph(graph)).toMatchInlineSnapshot(`
     "%0 : f32[s0, 8] = placeholder(x)
     %1 : f32[4, 8] = placeholder(w)
     %2 : f32[8, 4] = permute(%1, dims=[1, 0])  # linear
     %3 : f32[1, s0, 8] = reshape(%0, shape=[1, s0, 8])  # linear
     %4 : f32[1, 8, 4] = reshape(%2, shape=[1, 8, 4])  # linear
     %5 : f32[1, s0, 4] = bmm(%3, %4)  # linear
     %6 : f32[s0, 4] = reshape(%5, shape=[s0, 4])  # linear
     %7 : f32[s0 * 8] = reshape(%0, shape=[s0 * 8])  # flatten
     %8 : f32[8] = sum(%0, dims=[0], keepdim=false)  # mean
     %9 : i64[1] = iota(length=1, start=s0, step=0, dtype=i64)  # mean
     %10 : i64[] = reshape(%9, shape=[])  # mean
     %11 : f32[] = cast(%10, dtype=f32)  # mean
     %12 : f32[8] = div(%8, %11)  # mean
     return %6, %7, %12
     s0 := size 0 of input 0
     "
    `);
    expect(sizes.guards()).toEqual([]);
  });

  test('primitives and public operators of one name are told apart by their attributes', () => {
    expect(operatorFor('sum', { dims: [0], keepdim: false })).toBe(primitives.get('sum'));
    expect(operatorFor('sum', { dim: 0 })).toBe(operators.get('sum'));
    expect(operatorFor('add', {})).toBe(primitives.get('add'));
    expect(operatorFor('permute', { dims: [0] })).toBe(operators.get('permute'));
  });
});

describe('passes', () => {
  test('views that undo each other go away', () => {
    expect(lowered((b, x) => b.call('exp', [b.call('t', [b.call('t', [x])])]))).toBe(
      '%2 : f32[2, 3] = exp(%0)\nreturn %2',
    );
    expect(
      lowered((b, x) =>
        b.call('exp', [b.call('reshape', [b.call('reshape', [x], { shape: [6] })], { shape: [-1, 3] })]),
      ),
    ).toBe('%2 : f32[2, 3] = exp(%0)\nreturn %2');
  });

  test('casts that lose nothing are joined, others stay', () => {
    const there = (b: GraphBuilder, x: ValueRef, via: string): ValueRef => b.call('float', [b.call(via, [x])]);
    expect(lowered((b, x) => there(b, x, 'double'))).toBe('return %0');
    expect(lowered((b, x) => there(b, x, 'half'))).toBe(
      '%2 : f16[2, 3] = cast(%0, dtype=f16)\n%3 : f32[2, 3] = cast(%2, dtype=f32)\nreturn %3',
    );
  });

  test('common calls are shared, dead ones dropped', () => {
    expect(
      lowered((b, x, y) => {
        b.call('sin', [y]);
        return b.call('add', [b.call('exp', [x]), b.call('exp', [x])]);
      }),
    ).toBe('%2 : f32[2, 3] = exp(%0)\n%3 : f32[2, 3] = add(%2, %2)\nreturn %3');
  });

  test('arithmetic on constants is done here', () => {
    expect(
      lowered((b) =>
        b.call('mul', [b.call('ones', [], { size: [4] }), { kind: 'scalar', category: 'float', value: 2.5 }]),
      ),
    ).toBe('%2 : f32[4] = full(2.5, shape=[4], dtype=f32)\nreturn %2');
  });

  test('a second optimisation changes nothing', () => {
    const builder = new GraphBuilder();
    const x = builder.placeholder('x', contiguousMeta(shape(4, 6), 'f32'));
    builder.output(builder.call('layerNorm', [x, null, null], { normalizedShape: [6] }), builder.call('std', [x], {}));
    const once = optimize(decompose(builder.finish()));
    expect(optimize(once)).toEqual(once);
  });
});

describe('verifyGraph', () => {
  const broken = (change: (graph: Graph) => Graph): (() => void) => {
    const builder = new GraphBuilder();
    builder.output(builder.call('exp', [builder.placeholder('x', contiguousMeta(shape(3), 'f32'))]));
    const graph = change(builder.finish());
    return () => {
      verifyGraph(graph);
    };
  };

  test('a launch names memories among its arguments, and has a result for each that it writes to', () => {
    const meta = contiguousMeta(shape(3), 'f32');
    const launched = (changed: Partial<LaunchMemory>) => (): void => {
      const builder = new GraphBuilder();
      const x = builder.placeholder('x', meta);
      const layout = { shape: meta.shape, strides: meta.strides, offset: int(0) };
      const launch = { operands: [{ name: 'x', memory: 0, layout }], homes: [0], written: [0], ...changed };
      builder.output(...builder.host({ target: 'double', args: [x], attrs: {}, launch }, [meta]));
      verifyGraph(builder.finish());
    };
    expect(launched({})).not.toThrow();
    expect(launched({ homes: [] })).toThrow('its operands lie in its memories, each of which has a home');
    expect(launched({ written: [] })).toThrow('its results are what its written memories hold');
    expect(launched({ written: [1] })).toThrow('its results are what its written memories hold');
  });

  test('names the node and the law', () => {
    expect(broken((graph) => graph)).not.toThrow();
    expect(
      broken((graph) => ({
        ...graph,
        nodes: graph.nodes
          .map((node) => ({ ...node, results: [contiguousMeta(shape(4), 'f32')] }))
          .map((node, i) => (i === 0 ? { ...node, results: [contiguousMeta(shape(3), 'f32')] } : node)),
      })),
    ).toThrow('its operator gives');
    expect(broken((graph) => ({ ...graph, nodes: [...graph.nodes].reverse() }))).toThrow('it stands at position 0');
    expect(broken((graph) => ({ ...graph, outputs: [{ kind: 'value', node: 7, result: 0 }] }))).toThrow(
      'which does not stand before it',
    );
  });
});

describe('the operator table', () => {
  test('every entry has a doc, known overloads, and parameters of which required ones come first', () => {
    for (const { name, doc, overloads = [], parameters } of operators.values()) {
      expect([name, doc.length > 0]).toEqual([name, true]);
      expect(overloads.filter((other) => !operators.has(other))).toEqual([]);
      const positional = parameters.filter(({ keywordOnly, variadic }) => keywordOnly !== true && variadic !== true);
      const optional = positional.findIndex((parameter) => parameter.default !== undefined);
      const late =
        optional === -1 ? [] : positional.slice(optional).filter((parameter) => parameter.default === undefined);
      expect([name, late]).toEqual([name, []]);
    }
  });

  test("a public operator of a primitive's name can be told from it by its attributes", () => {
    const namesOf = ({ parameters }: Operator): readonly string[] =>
      parameters.filter(isAttribute).map(({ name }) => name);
    const hidden = [...operators.values()].filter((operator) => {
      const low = primitives.get(operator.name);
      return low !== undefined && low !== operator && isDeepStrictEqual(namesOf(low), namesOf(operator));
    });
    expect(hidden.map(({ name }) => name)).toEqual([]);
  });

  test('every operator made of pointwise ops states how accurate it is, and from what that follows', () => {
    const composed = [...operators.values()].filter(
      ({ kind, decompose, doc }) => kind === 'pointwise' && decompose !== undefined && !doc.startsWith('Alias'),
    );
    expect(composed.length).toBeGreaterThan(25);
    for (const { name, accuracy = [] } of composed) {
      expect([name, accuracy.length]).not.toEqual([name, 0]);
      for (const { because, ulp, reference, exact } of accuracy) {
        expect([name, because.length > 5]).toEqual([name, true]);
        expect([name, exact !== undefined || (ulp !== undefined && reference !== undefined)]).toEqual([name, true]);
      }
    }
  });

  test('no PyTorch name means two operators', () => {
    const names = [...operators.values()].flatMap(({ torch }) => torch);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});
