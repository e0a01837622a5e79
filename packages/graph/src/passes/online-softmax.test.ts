import { describe, expect, test } from '@jest/globals';
import { int, sizeSymbol } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { scalar } from '../argument-reader.ts';
import type { ValueRef } from '../graph.ts';
import { GraphBuilder } from '../graph-builder.ts';
import { contiguousMeta } from '../shape.ts';
import { latePasses, optimize } from './optimize.ts';

/** The calls of a graph after the passes, where rows of 64 bytes are long. */
function callsOf(shape: readonly Index[], build: (b: GraphBuilder, x: ValueRef) => ValueRef): readonly string[] {
  const b = new GraphBuilder({ expand: true });
  b.output(build(b, b.placeholder('x', contiguousMeta(shape, 'f32'))));
  const { nodes } = latePasses.run(optimize(b.finish()), { onlineSoftmax: { leastBytes: 64 } });
  return nodes.flatMap((node) => (node.kind === 'call' ? [node.target] : []));
}

const softmax = (b: GraphBuilder, x: ValueRef): ValueRef => b.call('softmax', [x], { dim: -1 });

describe('one pass over a row', () => {
  test('finds its maximum and the sum of its exponentials', () => {
    expect(callsOf([int(4), int(16)], softmax)).toEqual(['amax', 'sub', 'exp', 'sumExp', 'reciprocal', 'mul']);
  });

  test('is all that the logarithm of a softmax needs before its result', () => {
    const calls = callsOf([int(4), int(16)], (b, x) => b.call('logSoftmax', [x], { dim: -1 }));
    expect(calls).toEqual(['amax', 'sub', 'sumExp', 'log', 'sub']);
  });
});

describe('two passes', () => {
  test.each<[string, readonly Index[], (b: GraphBuilder, x: ValueRef) => ValueRef]>([
    ['over a short row', [int(4), int(15)], softmax],
    ['over a row of symbolic length', [int(4), sizeSymbol('s0', 2, 10_000)], softmax],
    ['where the maximum is along another axis', [int(16), int(16)], (b, x) => {
      const peak = b.call('amax', [x], { dims: [0], keepdim: true });
      return b.call('sum', [b.call('exp', [b.call('sub', [x, peak])])], { dims: [1], keepdim: true });
    }], // prettier-ignore
    ['where another value is subtracted', [int(4), int(16)], (b, x) => {
      const peak = b.call('amax', [x], { dims: [1], keepdim: true });
      const less = b.call('sub', [b.call('mul', [x, scalar(2)]), peak]);
      return b.call('sum', [b.call('exp', [less])], { dims: [1], keepdim: true });
    }], // prettier-ignore
  ])('%s', (_name, shape, build) => {
    expect(callsOf(shape, build)).not.toContain('sumExp');
  });
});
