// Graphs with host functions, split: what each part takes and gives, in the order of the program.
import { describe, expect, test } from '@jest/globals';
import { int } from '@tsinductor/ir';
import { GraphBuilder } from '../graph-builder.ts';
import type { Meta, ValueRef } from '../graph.ts';
import { printGraph } from '../print-graph.ts';
import { contiguousMeta } from '../shape.ts';
import { SizeEnvironment } from '../size-environment.ts';
import { splitAtHosts } from './split-at-hosts.ts';

const vector = (...shape: readonly number[]): Meta => contiguousMeta(shape.map(int), 'f32');
const first = (refs: readonly ValueRef[]): ValueRef => refs[0] ?? { kind: 'value', node: -1, result: 0 };
/** A host function of one argument or more, with one result. */
const host = (builder: GraphBuilder, call: readonly [target: string, ...args: ValueRef[]], meta: Meta): ValueRef => {
  const [target, ...args] = call;
  return first(builder.host({ target, args, attrs: {} }, [meta]));
};

/** Parts as text: a host's name, or a graph's nodes with what its inputs and outputs are in the whole. */
function parts(builder: GraphBuilder): readonly string[] {
  return splitAtHosts(builder.finish()).map((part) => {
    if (part.kind === 'host') return part.node.target;
    const names = (refs: readonly ValueRef[]): string => refs.map(({ node }) => `%${String(node)}`).join(' ');
    return `${names(part.inputs)} -> ${names(part.outputs)}\n${printGraph(part.graph)}`;
  });
}

describe('splitAtHosts', () => {
  test('leaves a graph without host functions as it is', () => {
    const builder = new GraphBuilder();
    builder.output(builder.call('exp', [builder.placeholder('x', vector(4))]));
    const graph = builder.finish();
    const [part, ...rest] = splitAtHosts(graph);
    expect(rest).toEqual([]);
    expect(part?.kind === 'graph' && part.graph).toBe(graph);
  });

  test('computes before a host function what it can, and hands on what is used later', () => {
    const builder = new GraphBuilder();
    const x = builder.placeholder('x', vector(4));
    const before = builder.call('exp', [x]);
    const apart = builder.call('sin', [x]);
    const made = host(builder, ['lib::f', before], vector(4));
    builder.output(builder.call('mul', [made, apart]), apart);
    expect(parts(builder)).toEqual([
      '%0 -> %1 %2\n%0 : f32[4] = placeholder(x)\n%1 : f32[4] = exp(%0)\n%2 : f32[4] = sin(%0)\nreturn %1, %2\n',
      'lib::f',
      '%3 %2 -> %4\n%0 : f32[4] = placeholder(value3_0)\n%1 : f32[4] = placeholder(value2_0)\n%2 : f32[4] = mul(%0, %1)\nreturn %2\n',
    ]);
  });

  test('has no part where nothing is computed, and hands views on as copies', () => {
    const builder = new GraphBuilder();
    const x = builder.placeholder('x', vector(2, 3));
    const once = host(builder, ['lib::f', x], vector(2, 3));
    const twice = host(builder, ['lib::g', once], vector(2, 3));
    const turned = builder.call('permute', [twice], { dims: [1, 0] });
    const last = host(builder, ['lib::h', turned], vector(3, 2));
    builder.output(last, turned);
    const whole = builder.finish();
    const split = splitAtHosts(whole);
    expect(split.map((part) => (part.kind === 'host' ? part.node.target : part.outputs.length))).toEqual([
      'lib::f',
      'lib::g',
      1,
      'lib::h',
    ]);
  });

  test('makes what has no arguments anew in each part, once for those who need the tensor', () => {
    const builder = new GraphBuilder();
    const x = builder.placeholder('x', vector(4));
    const ones = builder.call('full', [{ kind: 'scalar', category: 'float', value: 1 }], {
      shape: [4],
      dtype: { dtype: 'f32' },
    });
    const first = host(builder, ['lib::f', builder.call('add', [x, ones])], vector(4));
    const second = host(builder, ['lib::g', builder.call('mul', [first, ones]), ones], vector(4));
    builder.output(second);
    const texts = parts(builder);
    expect(texts.map((text) => text.split('\n')[0])).toEqual(['%0 -> %1 %2', 'lib::f', '%3 -> %4', 'lib::g']);
    expect(texts[2]).toContain('full(');
  });

  test('binds symbolic sizes in every part', () => {
    const sizes = new SizeEnvironment();
    const builder = new GraphBuilder({ sizes });
    const shape = [sizes.declare('s0', 5)];
    const x = builder.placeholder('x', contiguousMeta(shape, 'f32'));
    const total = host(builder, ['lib::total', builder.call('exp', [x])], vector());
    builder.output(builder.call('expand', [total], { shape: [{ size: shape[0] ?? int(0) }] }));
    const [, , last] = splitAtHosts(builder.finish());
    expect(last?.kind === 'graph' && last.graph.sizes).toEqual([{ name: 's0', placeholder: 0, axis: 0 }]);
  });
});
