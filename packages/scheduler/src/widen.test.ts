// Pointwise work in the first points of larger loops: what is joined so, how it reads, and what is left apart.
import { describe, expect, test } from '@jest/globals';
import type { ConfigPatch } from '@tsinductor/config';
import { scalar } from '@tsinductor/graph';
import { printSchedule } from '@tsinductor/ir';
import { input, scheduled, sketches } from './test-support/scheduled.ts';
import type { Build } from './test-support/scheduled.ts';

describe('expandDimensionForPointwiseNodes', () => {
  const half = { dtype: { dtype: 'f16' } } as const;
  const padded =
    (shape: readonly number[], pad: readonly number[]): Build =>
    (b) => {
      const x = input(b, shape);
      return [b.call('pad', [x], { pad: [...pad], value: scalar(0) }), b.call('cast', [x], half)];
    };
  const patch = { expandDimensionForPointwiseNodes: true };

  test.each([
    { what: 'columns behind', build: padded([256, 64], [0, 32]), nest: '256 96(pad cast)' },
    { what: 'rows below', build: padded([256, 64], [0, 0, 0, 44]), nest: '300 64(pad cast)' },
    { what: 'both', build: padded([8, 16], [0, 3, 0, 2]), nest: '10 19(pad cast)' },
    { what: 'one axis', build: padded([100], [0, 28]), nest: '128(pad cast)' },
  ])('one kernel for an array with $what and a cast of it', ({ build, nest }) => {
    expect(scheduled(build).groups).toHaveLength(2);
    const plan = scheduled(build, patch);
    expect(sketches(plan)).toEqual([nest]);
    expect(printSchedule(plan)).toContain('read once for both, of which the smaller runs in the first points');
  });

  test('the smaller names its own points', () => {
    const text = printSchedule(scheduled(padded([256, 64], [0, 32]), patch));
    expect(text).toMatch(/for \(i < 256, j < 96\)\n.*map \(i < 256, j < 96\).*pad[^]*map \(i < 256, j < 64\).*cast/);
  });

  const following: Build = (b) => {
    const x = input(b, [64]);
    const longer = b.call('pad', [x], { pad: [0, 32], value: scalar(0) });
    const total = b.call('sum', [longer], { dims: [0], keepdim: true });
    return [longer, b.call('mul', [x, total])];
  };
  test.each<readonly [string, Build, ConfigPatch]>([
    ['what moves more than smallMemoryAccessThreshold', padded([256, 64], [0, 32]), { smallMemoryAccessThreshold: 1 }],
    ['an array that begins later', padded([256, 64], [32, 0]), {}],
    ['what would have to be split', padded([256, 64], [0, 32]), { loopIndexInversionInFusion: false }],
    ['what needs all of the larger', following, {}],
  ])('leaves apart %s', (_, build, more) => {
    expect(scheduled(build, { ...patch, ...more }).groups).toEqual(scheduled(build, more).groups);
  });
});
