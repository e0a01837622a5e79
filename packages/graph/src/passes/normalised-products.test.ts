import { describe, expect, test } from '@jest/globals';
import { int } from '@tsinductor/ir';
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { scalar, valuesOf } from '../argument-reader.ts';
import type { Graph, GraphNode, ValueRef } from '../graph.ts';
import { GraphBuilder } from '../graph-builder.ts';
import { printGraph } from '../print-graph.ts';
import { contiguousMeta } from '../shape.ts';
import { verifyGraph } from '../verify-graph.ts';
import { optimize } from './optimize.ts';

type Rows = Readonly<Record<'g' | 'c', ValueRef>>;
type Build = (b: GraphBuilder, rows: Rows) => ValueRef;

/** The optimized graph of a function of rows g and c. */
function optimized(build: Build, dtype: DType = 'f32'): Graph {
  const b = new GraphBuilder({ expand: true });
  const [g, c] = ['g', 'c'].map((name) => b.placeholder(name, contiguousMeta([int(4), int(16)], dtype))) as [
    ValueRef,
    ValueRef,
  ];
  b.output(build(b, { g, c }));
  const graph = optimize(b.finish());
  verifyGraph(graph);
  return graph;
}

const along = { dim: -1, keepdim: true };
const mul = (b: GraphBuilder, x: ValueRef, y: ValueRef): ValueRef => b.call('mul', [x, y]);
const shifted = (b: GraphBuilder, squares: ValueRef, { eps = 1e-5, dim = -1 } = {}): ValueRef =>
  b.call('add', [b.call('mean', [squares], { dim, keepdim: true }), scalar(eps)]);
const root = (b: GraphBuilder, c: ValueRef): ValueRef => b.call('rsqrt', [shifted(b, mul(b, c, c))]);
const total = (b: GraphBuilder, x: ValueRef): ValueRef => b.call('sum', [x], along);

/** Whether the last sum is made of a root. */
function waits({ nodes }: Graph): boolean {
  const isCall = (node: GraphNode, ...targets: readonly string[]): boolean =>
    node.kind === 'call' && targets.includes(node.target);
  const needs = (value: ValueRef): boolean => {
    const maker = at(nodes, value.node);
    if (isCall(maker, 'sqrt', 'rsqrt')) return true;
    return maker.kind === 'call' && valuesOf(maker.args).some(needs);
  };
  const last = nodes.findLast((node) => isCall(node, 'sum'));
  return last?.kind === 'call' && valuesOf(last.args).some(needs);
}

describe('a sum of products with a normalised row waits for no norm', () => {
  test('but is multiplied by it', () => {
    const graph = optimized((b, { g, c }) => total(b, mul(b, g, mul(b, c, root(b, c)))));
    expect(printGraph(graph)).toMatch(
      /mul\(%1, %0\).*\n.*sum\(%\d+, dims=\[1\], keepdim=true\).*\n.*mul\(%\d+, %\d+\)/,
    );
    expect(waits(graph)).toBe(false);
  });

  test.each<[string, Build]>([
    ['divided by a root', (b, { g, c }) => total(b, mul(b, b.call('div', [c, b.call('sqrt', [shifted(b, mul(b, c, c))])]), g))],
    ['times the reciprocal of a root', (b, { g, c }) => total(b, mul(b, mul(b, g, c), b.call('reciprocal', [b.call('sqrt', [shifted(b, mul(b, c, c))])])))],
    ['with a square of its own', (b, { g, c }) => total(b, mul(b, g, mul(b, c, b.call('rsqrt', [shifted(b, b.call('square', [c]))]))))],
    ['with a second power', (b, { g, c }) => total(b, mul(b, g, mul(b, c, b.call('rsqrt', [shifted(b, b.call('pow', [c, scalar(2)]))]))))],
    ['alone', (b, { c }) => total(b, mul(b, c, root(b, c)))],
    ['as a mean', (b, { g, c }) => b.call('mean', [mul(b, g, mul(b, c, root(b, c)))], along)],
    ['over another factor that is the same along the row', (b, { g, c }) => total(b, mul(b, mul(b, total(b, g), c), root(b, c)))],
  ])('%s', (_name, build) => {
    expect(waits(optimized(build))).toBe(false);
    expect(waits(optimized(build, 'f64'))).toBe(false);
    expect(waits(optimized(build, 'bf16'))).toBe(true);
  }); // prettier-ignore
});

describe('a factor stays in its sum', () => {
  test.each<[string, Build]>([
    ['where it guards against overflow', (b, { g, c }) => {
      const scale = b.call('reciprocal', [b.call('sqrt', [b.call('add', [b.call('amax', [mul(b, c, c)], { dims: [1], keepdim: true }), scalar(1)])])]);
      return total(b, mul(b, g, mul(b, c, scale)));
    }],
    ['where it is of another row', (b, { g, c }) => total(b, mul(b, g, root(b, c)))],
    ['where it stands twice', (b, { g, c }) => total(b, mul(b, mul(b, c, root(b, c)), mul(b, g, root(b, c))))],
    ['where nothing bounds it', (b, { g, c }) => total(b, mul(b, g, mul(b, c, b.call('rsqrt', [shifted(b, mul(b, c, c), { eps: 1e-30 })]))))],
    ['where it is of another axis', (b, { g, c }) => total(b, mul(b, g, mul(b, c, b.call('rsqrt', [shifted(b, mul(b, c, c), { dim: 0 })]))))],
    ['where it is of another power', (b, { g, c }) => total(b, mul(b, g, mul(b, c, b.call('rsqrt', [shifted(b, b.call('pow', [c, c]))]))))],
    ['where it is a root that multiplies', (b, { g, c }) => total(b, mul(b, g, mul(b, c, b.call('sqrt', [shifted(b, mul(b, c, c))]))))],
  ])('%s', (_name, build) => {
    expect(waits(optimized(build))).toBe(true);
  }); // prettier-ignore
});
