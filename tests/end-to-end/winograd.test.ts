// Convolutions with fewer multiplications (`cpp.winograd`): their values beside f64, where they are taken, and why not elsewhere.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { compile, conv2d, grad, manualSeed, randn } from 'tsinductor';
import type { CompiledFunction, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

const compiled = <F extends (...args: never[]) => unknown>(fn: F, freezing = false): CompiledFunction<F> =>
  compile(fn, { options: { freezing, cpp: { winograd: true } } });

/** What the rule says of the only graph of a function that was called. */
function told(fn: { readonly graphs: () => readonly { readonly decisions: readonly object[] }[] }): readonly string[] {
  const all = fn.graphs().flatMap(({ decisions }) => decisions) as { rule?: string; count?: number; reason: string }[];
  return all.flatMap(({ rule, count, reason }) => (rule === 'winograd' ? [`${String(count)}: ${reason}`] : []));
}

const isTaken = (fn: Parameters<typeof told>[0]): boolean => told(fn).some((line) => line.startsWith('1: windows'));

const wide = (x: Tensor): Tensor => x.to('f64');
const largest = (x: Tensor): number => x.abs().amax().item() as number;

/**
 * The largest error by what bounds it: (channels + 20) 2^-14 times the sum over channels of the largest |x| there and all |w|. Here the
 * largest |x| of the image stands for that of a tile.
 */
function errorByBound(made: Tensor, wanted: Tensor, [x, w]: readonly [Tensor, Tensor]): number {
  const channels = at(x.shape, 1);
  const magnitudes = wide(x)
    .abs()
    .amax([0, 2, 3])
    .mul(wide(w).abs().sum([2, 3]))
    .sum(1);
  return largest(wide(made).sub(wanted)) / (largest(magnitudes) * (channels + 20) * 2 ** -14);
}

type Given = readonly [Tensor, Tensor];

const doubled = ([w, b]: Given): Given => [wide(w), wide(b)];

type Layer = readonly [string, readonly number[], number, 0 | 1 | 2 | 'same'];

const layers: readonly Layer[] = [
  ['padded, of odd sizes', [1, 32, 47, 41], 48, 1],
  ['padded by two, of several images', [3, 32, 23, 29], 32, 2],
  ['of channels that fill no vectors', [2, 37, 34, 29], 43, 0],
  ['of few places, many images', [16, 72, 6, 7], 88, 'same'],
];

describe('convolutions by tiles', () => {
  test.each(layers)('%s', (...[, image, outputs, padding]) => {
    manualSeed(7);
    const [x, w, b] = [randn(image), randn([outputs, at(image, 1), 3, 3]), randn([outputs])];
    const layer = (x: Tensor, w: Tensor, b: Tensor): Tensor => conv2d(x, w, b, { padding });
    const wanted = layer(wide(x), wide(w), wide(b));
    const magnitudes = layer(wide(x).abs(), wide(w).abs(), wide(b).abs());
    const given = compiled(layer);
    const frozen = compiled((x: Tensor) => layer(x, w, b), true);
    for (const made of [given(x, w, b), frozen(x)]) {
      expect(made.shape).toEqual(wanted.shape);
      expect(errorByBound(made, wanted, [x, w])).toBeLessThan(0.01);
      expect(largest(wide(made).sub(wanted).div(magnitudes))).toBeLessThan(2 ** -18);
    }
    expect([given, frozen].map(isTaken)).toEqual([true, true]);
    expect(frozen.graphs()[0]?.frozen).toHaveLength(1);
  });

  test.each([false, true])('of a residual block, whose layers lie as tiles leave them (frozen: %s)', (freezing) => {
    manualSeed(8);
    const x = randn([2, 32, 27, 26]);
    const given = (): Given => [randn([32, 32, 3, 3]), randn([32])];
    const [first, second] = [given(), given()];
    const block = (x: Tensor, [[v, a], [w, b]]: readonly [Given, Given]): Tensor =>
      conv2d(conv2d(x, v, a, { padding: 1 }).relu(), w, b, { padding: 1 })
        .add(x)
        .relu();
    const fn = compiled((x: Tensor) => block(x, [first, second]), freezing);
    const wanted = block(wide(x), [doubled(first), doubled(second)]);
    expect(largest(wide(fn(x)).sub(wanted)) / largest(wanted)).toBeLessThan(2e-5);
    expect(told(fn)).toEqual(['2: windows of 3 x 3 are tiles of 4 x 4 places']);
  });

  test('give what is not finite where sums would be so', () => {
    const x = randn([1, 32, 34, 34]);
    const w = randn([32, 32, 3, 3]);
    const made = compiled((x: Tensor) => conv2d(x.mul(Infinity), w))(x);
    expect(made.isfinite().any().item()).toBe(false);
  });
});

describe('others stay, with a reason', () => {
  const w = randn([32, 32, 3, 3]);
  test.each([
    ['few channels', () => [randn([1, 8, 32, 32]), randn([8, 8, 3, 3])], /^0: 8,8 channels at 30,30 save/],
    [
      'too little saved',
      () => [randn([1, 64, 6, 6]), randn([64, 64, 3, 3])],
      /^0: 64,64 channels at 4,4 save \d\.\d operations for a byte/,
    ],
  ] as const)('%s', (_name, inputs, reason) => {
    const fn = compiled((x: Tensor, w: Tensor) => conv2d(x, w));
    fn(...(inputs() as [Tensor, Tensor]));
    expect(told(fn)).toEqual([expect.stringMatching(reason)]);
  });

  test.each([
    ['a stride', { stride: 2 }],
    ['dilation', { dilation: 2 }],
    ['groups', { groups: 2 }],
  ])('of %s is another operation', (_name, how) => {
    const fn = compiled((x: Tensor) => conv2d(x, 'groups' in how ? w.narrow(1, 0, 16) : w, null, how));
    fn(randn([1, 32, 40, 40]));
    expect(told(fn)).toEqual([]);
  });

  test('of symbolic sizes is not known to gain', () => {
    const fn = compile((x: Tensor) => conv2d(x, w), { dynamic: true, options: { cpp: { winograd: true } } });
    fn(randn([1, 32, 40, 40]));
    expect(told(fn)).toEqual(['0: sizes are symbols']);
  });

  test('gradients', () => {
    const loss = (x: Tensor): Tensor => conv2d(x, w, null, { padding: 1 }).square().sum();
    const fn = compiled(grad(loss));
    const x = randn([1, 32, 24, 24]);
    const wanted = grad(loss)(x);
    expect(largest(fn(x).sub(wanted)) / largest(wanted)).toBeLessThan(2e-5);
    expect(told(fn)).toEqual(['1: windows of 3 x 3 are tiles of 4 x 4 places']);
  });
});
