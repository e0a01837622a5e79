// Convolutions in one to three dims, and transposed ones. Weights are PyTorch's: [outputs, inputs / groups, ...window], and
// [inputs, outputs / groups, ...window] of transposed ones.
import { nn } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { badInput, badOption } from './errors.ts';
import { fans, kaimingUniform_, uniform_ } from './init.ts';
import { Module } from './module.ts';
import { checkDivides, checkSizes, eachDim, readOptions } from './options.ts';
import { blank } from './parameter.ts';
import type { Placement } from './parameter.ts';

const { functional } = nn;

type PerDim = number | readonly number[];
type PaddingMode = 'zeros' | 'reflect' | 'replicate' | 'circular';

export interface ConvOptions extends Placement {
  readonly kernelSize: PerDim;
  readonly stride?: PerDim;
  /** Places added on either side of each dim; `same` as many as keep the size, `valid` none. */
  readonly padding?: PerDim | 'same' | 'valid';
  readonly dilation?: PerDim;
  readonly groups?: number;
  readonly bias?: boolean;
  readonly paddingMode?: PaddingMode;
}

interface Window {
  readonly name: string;
  readonly dims: number;
  readonly inputs: number;
  readonly outputs: number;
}

/** How it convolves: the size of the window alone, or all options. */
type How<Options> = PerDim | Options;

const optionsOf = <Options extends { readonly kernelSize: PerDim }>(given: How<Options>): Options =>
  (typeof given === 'number' || Array.isArray(given) ? { kernelSize: given } : given) as Options;

/** A weight and a bias with PyTorch's first values. */
function weightsOf(
  layer: string,
  shape: readonly number[],
  { bias, outputs, ...placement }: Weights,
): Pick<Convolution, 'weight' | 'bias'> {
  const weight = kaimingUniform_(blank(shape, placement), { slope: Math.sqrt(5) });
  const { fanIn } = fans(weight);
  if (fanIn === 0) throw badInput(layer, 'its weight is empty', 'give at least one channel to each group');
  const bound = 1 / Math.sqrt(fanIn);
  return { weight, bias: bias ? uniform_(blank([outputs], placement), -bound, bound) : null };
}

interface Weights extends Required<Placement> {
  readonly bias: boolean;
  readonly outputs: number;
}

function checkWindow(
  { name, dims, inputs, outputs }: Window,
  { groups, kernelSize }: { readonly groups: number; readonly kernelSize: PerDim },
): readonly number[] {
  checkSizes(name, { inputs });
  checkSizes(name, { outputs });
  checkSizes(name, { groups });
  checkDivides(name, ['inputs', inputs], ['groups', groups]);
  checkDivides(name, ['outputs', outputs], ['groups', groups]);
  return eachDim(name, 'kernelSize', { value: kernelSize, dims });
}

abstract class Convolution extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly stride: readonly number[];
  readonly padding: readonly number[] | 'same' | 'valid';
  readonly dilation: readonly number[];
  readonly groups: number;
  readonly paddingMode: PaddingMode;

  protected constructor(window: Window, given: How<ConvOptions>) {
    super();
    const { name, dims, inputs, outputs } = window;
    const options = readOptions<ConvOptions>(
      name,
      {
        kernelSize: 1,
        stride: 1,
        padding: 0,
        dilation: 1,
        groups: 1,
        bias: true,
        paddingMode: 'zeros',
        dtype: 'f32',
        device: 'cpu',
      },
      optionsOf(given),
    );
    const { stride, padding, dilation, groups, paddingMode, bias, dtype, device } = options;
    const kernel = checkWindow(window, options);
    this.stride = eachDim(name, 'stride', { value: stride, dims });
    this.dilation = eachDim(name, 'dilation', { value: dilation, dims });
    this.padding = typeof padding === 'string' ? padding : eachDim(name, 'padding', { value: padding, dims, least: 0 });
    if (typeof padding === 'string' && !['same', 'valid'].includes(padding))
      throw badOption(name, 'padding', { is: padding, needs: 'numbers, same or valid' });
    if (padding === 'same' && this.stride.some((step) => step !== 1))
      throw badOption(name, 'padding', { is: 'same', needs: 'a stride of 1 with it, or numbers' });
    if (!['zeros', 'reflect', 'replicate', 'circular'].includes(paddingMode))
      throw badOption(name, 'paddingMode', { is: paddingMode, needs: 'zeros, reflect, replicate or circular' });
    this.groups = groups;
    this.paddingMode = paddingMode;
    const shape = [outputs, inputs / groups, ...kernel];
    const { weight, bias: own } = weightsOf(name, shape, { bias, outputs, dtype, device });
    this.weight = weight;
    this.bias = own;
  }

  /** The input and how it is convolved: padded before, where the padding is not of zeros. */
  protected padded(x: Tensor): { readonly x: Tensor; readonly options: HowConvolved } {
    const { stride, padding, dilation, groups, paddingMode } = this;
    if (paddingMode === 'zeros') return { x, options: { stride, padding, dilation, groups } };
    const sides = sidesOf(this).toReversed().flat();
    return { x: functional.pad(x, sides, paddingMode), options: { stride, padding: 0, dilation, groups } };
  }
}

/** Places before and behind each dim. */
function sidesOf({
  padding,
  dilation,
  weight,
}: Pick<Convolution, 'padding' | 'dilation' | 'weight'>): readonly (readonly [number, number])[] {
  return dilation.map((step, dim) => {
    if (padding === 'valid') return [0, 0];
    if (padding !== 'same') return [padding[dim] ?? 0, padding[dim] ?? 0];
    const total = step * ((weight.shape[dim + 2] ?? 1) - 1);
    return [Math.floor(total / 2), total - Math.floor(total / 2)];
  });
}

interface HowConvolved {
  readonly stride: readonly number[];
  readonly padding: readonly number[] | number | 'same' | 'valid';
  readonly dilation: readonly number[];
  readonly groups: number;
}

/** [batch, inputs, length] becomes [batch, outputs, places]. */
export class Conv1d extends Convolution {
  constructor(inputs: number, outputs: number, how: How<ConvOptions>) {
    super({ name: 'Conv1d', dims: 1, inputs, outputs }, how);
  }

  forward(given: Tensor): Tensor {
    const { x, options } = this.padded(given);
    return functional.conv1d(x, this.weight, this.bias, options);
  }
}

/** [batch, inputs, height, width] becomes [batch, outputs, rows, columns]. */
export class Conv2d extends Convolution {
  constructor(inputs: number, outputs: number, how: How<ConvOptions>) {
    super({ name: 'Conv2d', dims: 2, inputs, outputs }, how);
  }

  forward(given: Tensor): Tensor {
    const { x, options } = this.padded(given);
    return functional.conv2d(x, this.weight, this.bias, options);
  }
}

/** [batch, inputs, depth, height, width] becomes [batch, outputs, ...places]. */
export class Conv3d extends Convolution {
  constructor(inputs: number, outputs: number, how: How<ConvOptions>) {
    super({ name: 'Conv3d', dims: 3, inputs, outputs }, how);
  }

  forward(given: Tensor): Tensor {
    const { x, options } = this.padded(given);
    return functional.conv3d(x, this.weight, this.bias, options);
  }
}

export interface ConvTransposeOptions extends Placement {
  readonly kernelSize: PerDim;
  readonly stride?: PerDim;
  readonly padding?: PerDim;
  /** Places added on one side of each dim of the result. */
  readonly outputPadding?: PerDim;
  readonly dilation?: PerDim;
  readonly groups?: number;
  readonly bias?: boolean;
}

abstract class TransposedConvolution extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  protected readonly how: Required<Pick<ConvTransposeOptions, 'groups'>> & {
    readonly stride: readonly number[];
    readonly padding: readonly number[];
    readonly outputPadding: readonly number[];
    readonly dilation: readonly number[];
  };

  protected constructor(window: Window, given: How<ConvTransposeOptions>) {
    super();
    const { name, dims, inputs, outputs } = window;
    const { bias, groups, dtype, device, ...options } = readOptions<ConvTransposeOptions>(
      name,
      {
        kernelSize: 1,
        stride: 1,
        padding: 0,
        outputPadding: 0,
        dilation: 1,
        groups: 1,
        bias: true,
        dtype: 'f32',
        device: 'cpu',
      },
      optionsOf(given),
    );
    const kernel = checkWindow(window, { groups, kernelSize: options.kernelSize });
    this.how = {
      stride: eachDim(name, 'stride', { value: options.stride, dims }),
      padding: eachDim(name, 'padding', { value: options.padding, dims, least: 0 }),
      outputPadding: eachDim(name, 'outputPadding', { value: options.outputPadding, dims, least: 0 }),
      dilation: eachDim(name, 'dilation', { value: options.dilation, dims }),
      groups,
    };
    const shape = [inputs, outputs / groups, ...kernel];
    const { weight, bias: own } = weightsOf(name, shape, { bias, outputs, dtype, device });
    this.weight = weight;
    this.bias = own;
  }
}

/** [batch, inputs, length] becomes [batch, outputs, places]: the gradient of a convolution by its input. */
export class ConvTranspose1d extends TransposedConvolution {
  constructor(inputs: number, outputs: number, how: How<ConvTransposeOptions>) {
    super({ name: 'ConvTranspose1d', dims: 1, inputs, outputs }, how);
  }

  forward(x: Tensor): Tensor {
    return functional.convTranspose1d(x, this.weight, this.bias, this.how);
  }
}

/** The same in two dims. */
export class ConvTranspose2d extends TransposedConvolution {
  constructor(inputs: number, outputs: number, how: How<ConvTransposeOptions>) {
    super({ name: 'ConvTranspose2d', dims: 2, inputs, outputs }, how);
  }

  forward(x: Tensor): Tensor {
    return functional.convTranspose2d(x, this.weight, this.bias, this.how);
  }
}

/** The same in three dims. */
export class ConvTranspose3d extends TransposedConvolution {
  constructor(inputs: number, outputs: number, how: How<ConvTransposeOptions>) {
    super({ name: 'ConvTranspose3d', dims: 3, inputs, outputs }, how);
  }

  forward(x: Tensor): Tensor {
    return functional.convTranspose3d(x, this.weight, this.bias, this.how);
  }
}
