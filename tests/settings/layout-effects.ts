// The effects of the settings of convolutions, of products and of where their channels lie, seen in kernels, in decisions
// and in the strides of results.
import { expect } from '@jest/globals';
import { arange, nn, randn } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { compiledWith, reportOf } from './effect.ts';
import type { Effect, Options } from './effect.ts';

const { conv2d } = nn.functional;

/** Numbers whose products and sums do not round, so that all orders of summation agree. */
const whole = (...shape: readonly number[]): Tensor =>
  arange(shape.reduce((count, size) => count * size, 1))
    .remainder(7)
    .sub(3)
    .to('f32')
    .reshape(shape);

/** A gated convolution whose result a second one reads, and a sum. */
function block(x: Tensor, first: Tensor, second: Tensor): Tensor {
  const gated = conv2d(x, first).mul(0.01).sigmoid().mul(8).round();
  const centre = gated.slice(2, 1, 7).slice(3, 1, 7);
  return conv2d(gated, second).add(centre);
}
const blockInputs = (channels: number): [Tensor, Tensor, Tensor] => [
  whole(2, channels, 10, 10),
  whole(channels, channels, 3, 3),
  whole(channels, channels, 3, 3),
];

/** The strides of what follows a product, which may lie as its product does. */
function stridesAfterProduct(channels: number, options: Options): readonly number[] {
  const layer = (x: Tensor, weight: Tensor): Tensor => conv2d(x, weight).relu();
  const inputs = [whole(2, 4, 10, 10), whole(channels, 4, 3, 3)] as const;
  return compiledWith(layer, { keepOutputStride: false, ...options })(...inputs).strides;
}

function expectUnchanged(options: Options): void {
  const inputs = blockInputs(20);
  expect(compiledWith(block, options)(...inputs).toArray()).toEqual(block(...inputs).toArray());
}

export const layoutEffects = {
  layoutOptimization: () => {
    expect(stridesAfterProduct(20, {})).toEqual([1280, 1, 160, 20]);
    expect(stridesAfterProduct(20, { layoutOptimization: false })).toEqual([1280, 64, 8, 1]);
    expectUnchanged({});
    expectUnchanged({ layoutOptimization: false });
  },
  forceLayoutOptimization: () => {
    // Four channels do not fill a vector.
    expect(stridesAfterProduct(4, {})).toEqual([256, 64, 8, 1]);
    expect(stridesAfterProduct(4, { forceLayoutOptimization: true })).toEqual([256, 1, 32, 4]);
    expectUnchanged({ forceLayoutOptimization: true });
  },
  keepOutputStride: () => {
    const layer = (x: Tensor, weight: Tensor): Tensor => conv2d(x, weight).relu();
    const [x, weight] = [whole(2, 4, 10, 10), whole(16, 4, 3, 3)];
    const result = (options: Options): Tensor => compiledWith(layer, options)(x, weight);
    expect(result({}).strides).toEqual(layer(x, weight).strides);
    expect(result({ keepOutputStride: false }).strides).toEqual([1024, 1, 128, 16]);
    expect(result({ keepOutputStride: false }).toArray()).toEqual(layer(x, weight).toArray());
  },
  padChannelsLast: () => {
    const padding = { disablePaddingCpu: false, paddingStrideThreshold: 8, epilogueFusion: false };
    const padded = (options: Options): readonly string[] =>
      reportOf(block, blockInputs(20), { ...padding, ...options }).decisions.flatMap((it) =>
        it.kind === 'padded' && it.isDone ? [it.strides] : [],
      );
    expect(padded({})).not.toContain('2048, 1, 256, 32');
    expect(padded({ padChannelsLast: true })).toContain('2048, 1, 256, 32');
    expectUnchanged({ ...padding, padChannelsLast: true });
  },
  conv1x1AsMm: () => {
    const layer = (x: Tensor, weight: Tensor, bias: Tensor): Tensor => conv2d(x, weight, bias).relu();
    const inputs = [randn([3, 16, 6, 7]), randn([24, 16, 1, 1]), randn([24])] as const;
    const kernels = (options: Options): number => reportOf(layer, inputs, options).kernels.length;
    expect([{}, { conv1x1AsMm: true }].map(kernels)).toEqual([3, 1]);
    const [copied, inPlace] = [{}, { conv1x1AsMm: true }].map((options) => compiledWith(layer, options)(...inputs));
    expect(inPlace?.toArray()).toEqual(copied?.toArray());
  },
  prologueFusion: () => {
    const layer = (x: Tensor, weight: Tensor, scale: Tensor): Tensor => x.matmul(weight.to('f32').mul(scale));
    // One row, a few, a tile of both; the weight by rows and by columns.
    for (const [rows, depth, columns] of [
      [1, 40, 300],
      [3, 40, 30],
      [70, 130, 80],
    ] as const) {
      const inputs = [whole(rows, depth), whole(depth, columns).to('i8'), whole(columns)] as const;
      const turned = [inputs[0], whole(columns, depth).to('i8').t(), inputs[2]] as const;
      const kernels = (options: Options): number => reportOf(layer, inputs, options).kernels.length;
      expect([{}, { prologueFusion: false }].map(kernels)).toEqual([1, 2]);
      for (const given of [inputs, turned])
        expect(compiledWith(layer, {})(...given).toArray()).toEqual(layer(...given).toArray());
    }
  },
} satisfies Record<string, Effect>;
