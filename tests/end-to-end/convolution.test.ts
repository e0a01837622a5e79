// Convolutions in compiled code beside eager mode: every form that a layer takes.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { compile, conv1d, conv2d, conv3d, convTranspose2d, manualSeed, nn, randn, valueAndGrad } from 'tsinductor';
import type { DType, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

interface How {
  readonly stride?: number;
  readonly padding?: number;
  readonly dilation?: number;
  readonly groups?: number;
}

const convolutions = [conv1d, conv2d, conv3d];
type Given = [Tensor, Tensor, Tensor];
const convolve = ([x, w, b]: Given, how: How): Tensor => at(convolutions, x.shape.length - 3)(x, w, b, how);

/** The largest difference, by the largest value. */
const difference = (made: Tensor, wanted: Tensor): number => {
  const scale = wanted.abs().amax().item() as number;
  return (made.sub(wanted).abs().amax().item() as number) / scale;
};

type Layer = readonly [string, readonly number[], readonly number[], How];

const layers: readonly Layer[] = [
  ['without padding', [2, 3, 9, 9], [8, 3, 3, 3], {}],
  ['padded, of several images', [2, 16, 8, 12], [24, 16, 3, 3], { padding: 1 }],
  ['a stem: few channels, a large window, a stride', [1, 3, 17, 17], [16, 3, 7, 7], { stride: 2, padding: 3 }],
  ['dilated', [2, 16, 10, 10], [40, 16, 3, 3], { padding: 2, dilation: 2 }],
  ['of groups', [2, 16, 10, 10], [32, 8, 3, 3], { padding: 1, groups: 2 }],
  ['depthwise', [2, 16, 10, 10], [16, 1, 3, 3], { padding: 1, groups: 16 }],
  ['depthwise, two outputs of each channel', [2, 8, 10, 10], [16, 1, 3, 3], { padding: 1, groups: 8, stride: 2 }],
  ['more channels than a block has', [2, 600, 6, 6], [70, 600, 3, 3], { padding: 1 }],
  ['in one dim', [2, 16, 30], [24, 16, 5], { padding: 2 }],
  ['in three dims', [1, 4, 6, 7, 8], [20, 4, 3, 3, 3], { padding: 1 }],
  ['one output', [2, 16, 10, 10], [1, 16, 3, 3], { padding: 1 }],
  ['one by one, with a stride', [3, 32, 7, 7], [64, 32, 1, 1], { stride: 2 }],
  ['a filter', [1, 1, 12, 12], [1, 1, 3, 3], {}],
  ['rows longer than what is stored at once', [1, 16, 3, 130], [24, 16, 3, 3], { padding: 1 }],
  ['many channels, a long window in one dim', [2, 20, 60], [24, 20, 31], { padding: 15, stride: 2 }],
  ['depthwise with a stride, wider than vectors', [1, 4, 20, 70], [4, 1, 3, 3], { padding: 1, groups: 4, stride: 2 }],
  ['depthwise with a stride of 3', [1, 4, 20, 110], [4, 1, 5, 5], { padding: 2, groups: 4, stride: 3 }],
  ['rows of three places, which are copied', [2, 5, 6, 3], [7, 5, 3, 3], { padding: 1 }],
];

describe('convolutions', () => {
  test.each(layers)('%s', (...[, image, weight, how]) => {
    manualSeed(3);
    const [x, w, b] = [randn(image), randn(weight), randn([at(weight, 0)])];
    const layer = (...given: Given): Tensor => convolve(given, how);
    const followed = (...given: Given): Tensor => convolve(given, how).relu().mul(0.5);
    for (const fn of [layer, followed]) expect(difference(compile(fn)(x, w, b), fn(x, w, b))).toBeLessThan(1e-6);
  });

  test.each<DType>(['f32', 'f64', 'bf16'])('lie as their operands do: channels last, a residual, %s', (dtype) => {
    manualSeed(4);
    const [x, w, b] = [randn([2, 11, 9, 40], { dtype }), randn([36, 40, 3, 3], { dtype }), randn([36], { dtype })];
    const residual = randn([2, 36, 11, 9], { dtype });
    const block = (x: Tensor, r: Tensor): Tensor =>
      conv2d(x.permute(0, 3, 1, 2), w, b, { padding: 1 })
        .add(r)
        .relu();
    const last = (x: Tensor, r: Tensor): Tensor => block(x, r).permute(0, 2, 3, 1).contiguous();
    for (const fn of [block, last])
      expect(difference(compile(fn)(x, residual), fn(x, residual))).toBeLessThan(dtype === 'bf16' ? 1e-2 : 1e-6);
  });

  test.each([false, true])(
    'by channel between those of one place lie with their channels last (frozen: %s)',
    (freezing) => {
      manualSeed(5);
      const [wide, narrow] = [randn([64, 16, 1, 1]), randn([24, 64, 1, 1])];
      const [window, scale] = [randn([64, 1, 3, 3]), randn([64, 1, 1])];
      const block = (x: Tensor): Tensor => {
        const made = conv2d(x, wide).mul(scale).clamp(0, 6);
        return conv2d(conv2d(made, window, null, { padding: 1, stride: 2, groups: 64 }).relu(), narrow);
      };
      const compiled = compile(block, { options: { freezing } });
      const x = randn([2, 16, 14, 14]);
      expect(difference(compiled(x), block(x))).toBeLessThan(1e-6);
      // Image and window are turned before, and the result after: the product, the layer by channel and the second product follow one another.
      // The first product fills the padded image but for its borders, which are a kernel of their own.
      const kernels = compiled.graphs().flatMap(({ kernels }) => kernels);
      expect(kernels).toHaveLength(6);
      expect(kernels.filter(({ name }) => name.startsWith('fused_conv2d_clamp_mul'))).toHaveLength(1);
    },
  );

  test.each<[image: number[], stride: number, groups: number]>([
    [[1, 24, 7, 7], 1, 40],
    [[3, 24, 9, 11], 1, 1],
    [[2, 24, 14, 5], 2, 40],
    [[2, 24, 12, 13], 3, 1],
  ])('padded after one of a place: %j, stride %i, %i groups', (image, stride, groups) => {
    manualSeed(6);
    const [narrow, window] = [randn([40, 24, 1, 1]), randn([40, 40 / groups, 3, 3]).mul(0.02)];
    const net = (x: Tensor): Tensor => {
      const made = conv2d(x.relu(), narrow).clamp(-1, 2);
      return conv2d(made, window, null, { padding: [2, 1], stride, groups }).tanh();
    };
    const x = randn(image);
    const wanted = net(x);
    for (const freezing of [false, true])
      expect(difference(compile(net, { options: { freezing } })(x), wanted)).toBeLessThan(1e-6);
    for (const epilogueFusion of [false, true])
      expect(
        difference(compile(net, { options: { epilogueFusion, loopIndexInversionInFusion: false } })(x), wanted),
      ).toBeLessThan(1e-6);
  });

  test.each<[DType, padding: number[]]>([
    ['f32', [1, 1, 1, 1]],
    ['f64', [0, 2, 2, 1]],
    ['f16', [2, 1, 0, 1, 1, 0]],
  ])('between which padding stands by itself: %s, %j', (dtype, padding) => {
    manualSeed(7);
    const made = 24 + (padding[4] ?? 0);
    const [narrow, window] = [randn([24, 16, 1, 1]), randn([8, made, 3, 3])].map((w) => w.mul(0.02).to(dtype)) as [
      Tensor,
      Tensor,
    ];
    const net = (x: Tensor): Tensor =>
      conv2d(nn.functional.pad(conv2d(x, narrow).tanh(), padding, { value: 1.5 }), window);
    for (const shape of [
      [3, 16, 28, 1],
      [2, 16, 9, 13],
    ]) {
      const x = randn(shape).to(dtype);
      const wanted = net(x);
      for (const options of [{}, { freezing: true }, { epilogueFusion: false }])
        expect(difference(compile(net, { options })(x), wanted)).toBeLessThan(dtype === 'f16' ? 1e-2 : 1e-6);
    }
  });

  test('of batches of any size are one graph', () => {
    const net = (x: Tensor, w: Tensor, v: Tensor): Tensor =>
      conv2d(conv2d(x, w, null, { padding: 1 }).relu(), v, null, { padding: 1, stride: 2 });
    const compiled = compile(net, { dynamic: true });
    const [w, v] = [randn([12, 5, 3, 3]), randn([9, 12, 3, 3])];
    for (const batch of [2, 3, 7]) {
      const x = randn([batch, 5, 8, 10]);
      expect(difference(compiled(x, w, v), net(x, w, v))).toBeLessThan(1e-6);
    }
    expect(compiled.graphs()).toHaveLength(1);
  });

  test.each<Layer>([
    ['of one channel', [2, 1, 5, 6, 7], [8, 1, 3, 3, 3], { padding: 1 }],
    ['of several', [3, 4, 5, 6, 7], [8, 4, 3, 3, 3], { padding: 1 }],
  ])('of volumes of any size, whatever makes them: %s', (...[, volume, weight, how]) => {
    const net = (x: Tensor, w: Tensor): Tensor => conv3d(x.relu(), w, null, how);
    const [x, w] = [randn(volume), randn(weight)];
    expect(difference(compile(net, { dynamic: true })(x, w), net(x, w))).toBeLessThan(1e-6);
  });

  test.each<Layer>([
    ['dense', [2, 4, 6, 7], [5, 4, 3, 3], { padding: 1, stride: 2 }],
    ['depthwise', [2, 4, 6, 7], [4, 1, 3, 3], { padding: 1, groups: 4 }],
  ])('have gradients: %s', (...[, image, weight, how]) => {
    const loss = (x: Tensor, w: Tensor): Tensor => conv2d(x, w, null, how).tanh().sum();
    const step = valueAndGrad(loss, { argnums: [0, 1] });
    const [x, w] = [randn(image), randn(weight)];
    const [, eager] = step(x, w);
    const [, compiled] = compile(step)(x, w);
    compiled.forEach((gradient, place) => {
      expect(difference(gradient, at(eager, place))).toBeLessThan(1e-5);
    });
  });

  test.each<Layer>([
    ['one output of each group', [2, 18, 5, 7], [2, 9, 3, 3], { padding: 1, groups: 2 }],
    ['one output, a stride', [1, 40, 7, 6], [1, 40, 3, 3], { padding: 1, stride: 2 }],
    ['many places', [1, 32, 20, 21], [2, 16, 3, 3], { groups: 2 }],
    ['in one dim', [2, 80, 30], [2, 40, 5], { padding: 2, groups: 2 }],
  ])('by a weight that is computed: %s', (...[, image, weight, how]) => {
    const [x, w, b] = [randn(image), randn(weight), randn([at(weight, 0)])];
    for (const scaled of [(w: Tensor) => w.mul(0.5), (w: Tensor) => w.relu().add(1)]) {
      const layer = (...[x, w, b]: Given): Tensor => convolve([x, scaled(w), b], how);
      expect(difference(compile(layer)(x, w, b), layer(x, w, b))).toBeLessThan(2e-6);
    }
  });

  test('transposed ones spread what they read', () => {
    const [x, w] = [randn([2, 6, 5, 5]), randn([6, 3, 3, 3])];
    const spread = (...given: [Tensor, Tensor]): Tensor =>
      convTranspose2d(...given, null, { stride: 2, padding: 1, outputPadding: 1 });
    expect(difference(compile(spread)(x, w), spread(x, w))).toBeLessThan(1e-6);
  });
});
