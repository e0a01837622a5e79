// First values of parameters, as in `torch.nn.init`: each fills a tensor in place and gives it back. Random ones are drawn from the
// library's generator, so `manualSeed` decides them.
import { diagonal, linalg, noGrad, rand, randn } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { badInput, badOption } from './errors.ts';

const filled = (tensor: Tensor, fill: () => void): Tensor => {
  noGrad(fill);
  return tensor;
};

/** Uniform in [low, high). */
export const uniform_ = (tensor: Tensor, low = 0, high = 1): Tensor =>
  filled(tensor, () => {
    tensor.uniform_(low, high);
  });

export const normal_ = (tensor: Tensor, mean = 0, std = 1): Tensor =>
  filled(tensor, () => {
    tensor.normal_(mean, std);
  });

export const constant_ = (tensor: Tensor, value: number): Tensor =>
  filled(tensor, () => {
    tensor.fill_(value);
  });

export const ones_ = (tensor: Tensor): Tensor => constant_(tensor, 1);
export const zeros_ = (tensor: Tensor): Tensor => constant_(tensor, 0);

/** The identity: for a matrix. */
export function eye_(tensor: Tensor): Tensor {
  requireRank('eye_', tensor, [2]);
  return filled(tensor, () => {
    tensor.zero_();
    diagonal(tensor).fill_(1);
  });
}

/** Each output channel of a convolution copies an input channel, in every group. */
export function dirac_(tensor: Tensor, groups = 1): Tensor {
  requireRank('dirac_', tensor, [3, 4, 5]);
  const [outputs = 0, inputs = 0, ...window] = tensor.shape;
  if (outputs % groups !== 0)
    throw badOption('dirac_', 'groups', { is: groups, needs: `a divisor of ${String(outputs)}` });
  const perGroup = outputs / groups;
  return filled(tensor, () => {
    tensor.zero_();
    for (let output = 0; output < outputs; output += 1) {
      const input = output % perGroup;
      if (input >= inputs) continue;
      let place = tensor.select(0, output).select(0, input);
      for (const size of window) place = place.select(0, Math.floor(size / 2));
      place.fill_(1);
    }
  });
}

/** Normal, of which what lies outside [low, high] is drawn anew (by the inverse of the distribution). */
export function truncNormal_(tensor: Tensor, { mean = 0, std = 1, low = -2, high = 2 }: TruncatedNormal = {}): Tensor {
  if (!(low < high)) throw badOption('truncNormal_', 'low', { is: low, needs: `less than high (${String(high)})` });
  const below = (value: number): number => (1 + erf((value - mean) / std / Math.SQRT2)) / 2;
  const [from, to] = [below(low), below(high)];
  return filled(tensor, () => {
    const drawn = rand([...tensor.shape], { dtype: 'f64' })
      .mul(2 * (to - from))
      .add(2 * from - 1);
    tensor.copy_(
      drawn
        .erfinv()
        .mul(std * Math.SQRT2)
        .add(mean)
        .clamp(low, high),
    );
  });
}

export interface TruncatedNormal {
  readonly mean?: number;
  readonly std?: number;
  readonly low?: number;
  readonly high?: number;
}

/** The error function within 1.2e-7 (Numerical Recipes, 6.2): it only sets bounds of a uniform draw, and results are clamped. */
function erf(x: number): number {
  const t = 1 / (1 + Math.abs(x) / 2);
  const series = [
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223,
    0.17087277,
  ];
  const sum = series.reduceRight((total, term) => total * t + term, 0);
  const tail = t * Math.exp(-x * x + sum);
  return x >= 0 ? 1 - tail : tail - 1;
}

/** Inputs and outputs of one unit: of a weight [outputs, inputs, …window]. */
export function fans(tensor: Tensor): { readonly fanIn: number; readonly fanOut: number } {
  if (tensor.shape.length < 2)
    throw badInput(
      'init',
      `fans of a tensor of ${String(tensor.shape.length)} dims are not defined`,
      'give a weight of at least two dims',
    );
  const [outputs = 1, inputs = 1, ...window] = tensor.shape;
  const field = window.reduce((left, right) => left * right, 1);
  return { fanIn: inputs * field, fanOut: outputs * field };
}

type Activation = 'linear' | 'sigmoid' | 'tanh' | 'relu' | 'leakyRelu' | 'selu';

/** The factor by which an activation asks for larger weights; `slope` is of `leakyRelu`. */
export function calculateGain(activation: Activation, slope = 0.01): number {
  const gains: Readonly<Record<Activation, number>> = {
    linear: 1,
    sigmoid: 1,
    tanh: 5 / 3,
    relu: Math.SQRT2,
    leakyRelu: Math.sqrt(2 / (1 + slope ** 2)),
    selu: 3 / 4,
  };
  if (!Object.hasOwn(gains, activation))
    throw badOption('calculateGain', 'activation', {
      is: activation,
      needs: `one of ${Object.keys(gains).join(', ')}`,
    });
  return gains[activation];
}

/** Glorot's: uniform with the variance 2 gain² / (fanIn + fanOut). */
export function xavierUniform_(tensor: Tensor, gain = 1): Tensor {
  const { fanIn, fanOut } = fans(tensor);
  const bound = gain * Math.sqrt(6 / (fanIn + fanOut));
  return uniform_(tensor, -bound, bound);
}

export function xavierNormal_(tensor: Tensor, gain = 1): Tensor {
  const { fanIn, fanOut } = fans(tensor);
  return normal_(tensor, 0, gain * Math.sqrt(2 / (fanIn + fanOut)));
}

export interface KaimingOptions {
  /** The slope of a leaky ReLU behind the layer. */
  readonly slope?: number;
  readonly mode?: 'fanIn' | 'fanOut';
  readonly nonlinearity?: Activation;
}

function kaimingStd(tensor: Tensor, { slope = 0, mode = 'fanIn', nonlinearity = 'leakyRelu' }: KaimingOptions): number {
  const fan = fans(tensor)[mode];
  return fan === 0 ? 0 : calculateGain(nonlinearity, slope) / Math.sqrt(fan);
}

/** He's: uniform with the variance gain² / fan. */
export function kaimingUniform_(tensor: Tensor, options: KaimingOptions = {}): Tensor {
  const bound = Math.sqrt(3) * kaimingStd(tensor, options);
  return uniform_(tensor, -bound, bound);
}

export const kaimingNormal_ = (tensor: Tensor, options: KaimingOptions = {}): Tensor =>
  normal_(tensor, 0, kaimingStd(tensor, options));

/** Rows, or columns where there are fewer of them, that are orthogonal and of length `gain`. */
export function orthogonal_(tensor: Tensor, gain = 1): Tensor {
  if (tensor.shape.length < 2) requireRank('orthogonal_', tensor, [2]);
  const [rows = 1, ...others] = tensor.shape;
  const columns = others.reduce((left, right) => left * right, 1);
  return filled(tensor, () => {
    const drawn = randn([Math.max(rows, columns), Math.min(rows, columns)], { dtype: 'f64' });
    const basis = orthogonalised(orthogonalised(drawn));
    const matrix = rows < columns ? basis.t() : basis;
    tensor.copy_(matrix.mul(gain).reshape([...tensor.shape]));
  });
}

/** Columns that span the same, orthogonal as far as the condition of the matrix allows: by a Cholesky factor of their products. */
const orthogonalised = (x: Tensor): Tensor =>
  linalg.solveTriangular(linalg.cholesky(x.t().matmul(x)), x.t(), { upper: false }).t();

/** Normal, with so large a part of each column 0. */
export function sparse_(tensor: Tensor, sparsity: number, std = 0.01): Tensor {
  requireRank('sparse_', tensor, [2]);
  if (!(sparsity >= 0 && sparsity <= 1))
    throw badOption('sparse_', 'sparsity', { is: sparsity, needs: 'a number from 0 to 1' });
  const [rows = 0, columns = 0] = tensor.shape;
  return filled(tensor, () => {
    const order = rand([rows, columns]).argsort(0).argsort(0);
    const isKept = order.ge(Math.ceil(sparsity * rows));
    tensor.copy_(randn([rows, columns]).mul(std).mul(isKept.to('f32')));
  });
}

function requireRank(name: string, tensor: Tensor, ranks: readonly number[]): void {
  if (!ranks.includes(tensor.shape.length))
    throw badInput(
      name,
      `a tensor of ${String(tensor.shape.length)} dims was given`,
      `give one of ${ranks.join(' or ')} dims`,
    );
}
