// Pointwise programs and index maps: chains, gates, views, concatenations, gathers. Each is one pass over memory.
import type { Tensor } from '@tsinductor/tensor';
import { arange, cat, randLike, stack, where } from '@tsinductor/tensor';
import type { Case } from './case.ts';

const once = { kernels: 1, traffic: 1 };

/** Value of a European call by Black and Scholes, and of the put. */
function blackScholes(spot: Tensor, strike: Tensor, time: Tensor): Tensor[] {
  const [rate, volatility] = [0.02, 0.3];
  const spread = time.sqrt().mul(volatility);
  const d1 = spot
    .div(strike)
    .log()
    .add(time.mul(rate + (volatility * volatility) / 2))
    .div(spread);
  const d2 = d1.sub(spread);
  const normal = (x: Tensor): Tensor => x.mul(Math.SQRT1_2).erf().add(1).mul(0.5);
  const discounted = strike.mul(time.mul(-rate).exp());
  const call = spot.mul(normal(d1)).sub(discounted.mul(normal(d2)));
  return [call, call.sub(spot).add(discounted)];
}

function mandelbrot(real: Tensor, imaginary: Tensor): Tensor {
  let [x, y] = [real, imaginary];
  let count = real.mul(0);
  for (let step = 0; step < 8; step += 1) {
    const [xx, yy] = [x.mul(x), y.mul(y)];
    count = count.add(xx.add(yy).lt(4).to('f32'));
    [x, y] = [xx.sub(yy).add(real), x.mul(y).mul(2).add(imaginary)];
  }
  return count;
}

function rotary(x: Tensor, cos: Tensor, sin: Tensor): Tensor {
  const [a, b] = x.chunk(2, -1) as [Tensor, Tensor];
  return x.mul(cos).add(cat([b.neg(), a], -1).mul(sin));
}

export const pointwiseCases: Readonly<Record<string, Case>> = {
  'pointwise chain': { run: (x) => x.mul(2).add(1).tanh().mul(x), inputs: [[64, 1024]], structure: once },
  'chain over a broadcast row and column': {
    run: (x, row, column) => x.mul(row).add(column).relu(),
    inputs: [[256, 512], [512], [256, 1]],
    structure: once,
  },
  'gelu gate': {
    run: (x) => {
      const [a, b] = x.chunk(2, -1) as [Tensor, Tensor];
      return a.gelu().mul(b);
    },
    inputs: [[256, 1024]],
    structure: once,
  },
  'swiglu gate of two inputs': {
    run: (a, b) => a.silu().mul(b),
    inputs: [
      [256, 512],
      [256, 512],
    ],
    structure: once,
  },
  'tanh gelu gate with a bias': {
    run: (x, bias, gate) => x.add(bias).geluTanh().mul(gate),
    inputs: [[256, 512], [512], [256, 512]],
    structure: once,
  },
  'rotary embedding': {
    run: rotary,
    inputs: [
      [4, 8, 128, 64],
      [128, 64],
      [128, 64],
    ],
    structure: once,
  },
  'a.T + b': {
    run: (a, b) => a.t().add(b),
    inputs: [
      [512, 256],
      [256, 512],
    ],
    structure: once,
  },
  'chain of permutations': {
    run: (x) => x.permute(2, 0, 1).sin().permute(1, 0, 2).add(1).permute(2, 1, 0),
    inputs: [[16, 32, 64]],
    structure: once,
  },
  'permutation of rank four, scaled': {
    run: (x) => x.permute(0, 2, 1, 3).mul(0.5).flatten(2),
    inputs: [[4, 8, 128, 64]],
    structure: once,
  },
  concatenation: {
    run: (a, b) => cat([a.sin(), b.mul(2)], 1),
    inputs: [
      [128, 64],
      [128, 192],
    ],
    structure: once,
  },
  'concatenation of rows, then a chain': {
    run: (a, b) => cat([a, b]).relu().add(1),
    inputs: [
      [128, 64],
      [64, 64],
    ],
    structure: once,
  },
  stack: {
    run: (a, b, c) => stack([a, b.neg(), c.exp()], 1),
    inputs: [
      [128, 64],
      [128, 64],
      [128, 64],
    ],
    structure: once,
  },
  'pad of a product': {
    run: (a, b) => a.mul(b).pad([1, 2, 3, 4], 'constant', 0),
    inputs: [
      [125, 61],
      [125, 61],
    ],
    structure: once,
  },
  'split, and joined again': {
    run: (x) => {
      const [a, b, c] = x.chunk(3, 1) as [Tensor, Tensor, Tensor];
      return a.mul(b).add(c);
    },
    inputs: [[256, 384]],
    structure: once,
  },
  'parts of one input as several results': {
    run: (x) => {
      const [a, b] = x.chunk(2, 1) as [Tensor, Tensor];
      return [a.relu(), b.sigmoid()];
    },
    inputs: [[256, 512]],
    structure: once,
    patch: { aggressiveFusion: true },
  },
  'embedding and positions': {
    run: (table, ids, positions) => table.indexSelect(0, ids).add(positions),
    inputs: [[512, 64], { shape: [256], dtype: 'i64' }, [256, 64]],
    // Half of the table is never read.
    structure: { kernels: 1, traffic: 0.752 },
  },
  'gather within a chain': {
    run: (x, index) => x.gather(1, index).exp().mul(2),
    inputs: [[256, 256], { shape: [256, 256], dtype: 'i64' }],
    structure: once,
  },
  'where of a comparison': {
    run: (x, y) => where(x.gt(y), x, y.mul(0.1)),
    inputs: [
      [256, 256],
      [256, 256],
    ],
    structure: once,
  },
  'Black-Scholes': { run: blackScholes, inputs: [[32_768], [32_768], [32_768]], structure: once },
  Mandelbrot: {
    run: mandelbrot,
    inputs: [
      [256, 256],
      [256, 256],
    ],
    structure: once,
  },
  'image normalise': {
    run: (image, mean, deviation) => image.to('f32').div(255).sub(mean).div(deviation).permute(2, 0, 1),
    inputs: [{ shape: [128, 96, 3], dtype: 'u8' }, [3], [3]],
    structure: once,
  },
  dropout: {
    run: (x) => where(randLike(x).lt(0.9), x.div(0.9), 0),
    inputs: [[256, 256]],
    // The second one counts the call for the generator.
    structure: { kernels: 2, traffic: 1 },
  },
  'bf16 chain': {
    run: (x, y) => x.mul(y).add(1).gelu(),
    inputs: [
      { shape: [128, 512], dtype: 'bf16' },
      { shape: [128, 512], dtype: 'bf16' },
    ],
    structure: once,
  },
  'int8 dequantise': {
    run: (x, scale) => x.to('f32').mul(scale).relu(),
    inputs: [{ shape: [128, 512], dtype: 'i8' }, [128, 1]],
    structure: once,
  },
  quantise: {
    run: (x) => x.div(0.05).round().clamp(-128, 127).to('i8'),
    inputs: [[128, 512]],
    structure: once,
  },
  'causal mask': {
    run: (scores) => {
      const columns = arange(scores.size(-1));
      return where(columns.unsqueeze(1).ge(columns), scores.mul(0.125), -Infinity);
    },
    inputs: [[8, 128, 128]],
    structure: once,
  },
  'independent maps of one shape': {
    run: (a, b) => [a.exp(), b.sin()],
    inputs: [
      [256, 256],
      [256, 256],
    ],
    structure: once,
    patch: { aggressiveFusion: true },
  },
  'independent maps that compute different things': {
    run: (a, b) => [a.exp(), b.sin()],
    inputs: [
      [256, 256],
      [256, 256],
    ],
    structure: { kernels: 2, traffic: 1 },
  },
  'one input, a dozen results': {
    run: (x) => Array.from({ length: 12 }, (_, power) => x.add(power).tanh()),
    inputs: [[64, 256]],
    structure: once,
  },
  'a small and a large independent map': {
    run: (a, b) => [a.exp(), b.sin()],
    inputs: [[64], [256, 256]],
    structure: once,
    patch: { comboKernels: true, comboKernelAllowMixedSizes: 2 },
  },
  'flip and roll': { run: (x) => x.flip([1]).add(x.roll(3, 0)), inputs: [[128, 128]], structure: once },
  'strided slices': {
    run: (x) => x.slice(1, 0, x.size(1), 2).mul(x.slice(1, 1, x.size(1), 2)),
    inputs: [[64, 512]],
    structure: once,
  },
  'diagonal scaled': {
    run: (x, y) => x.diagonal().mul(y),
    inputs: [[256, 256], [256]],
    structure: { kernels: 1, traffic: 0.012 },
  },
  'upsample nearest': {
    run: (x) => x.unsqueeze(-1).unsqueeze(3).expand([4, 16, 16, 2, 16, 2]).reshape([4, 16, 32, 32]).mul(2),
    inputs: [[4, 16, 16, 16]],
    structure: once,
  },
};
