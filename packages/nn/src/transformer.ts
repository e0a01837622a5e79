// Layers of transformers (https://arxiv.org/abs/1706.03762), and stacks of them.
import type { Tensor } from '@tsinductor/tensor';
import { MultiheadAttention } from './attention.ts';
import type { AttentionMasks } from './attention.ts';
import { Dropout } from './dropout.ts';
import { badOption } from './errors.ts';
import { Linear } from './linear.ts';
import { Module } from './module.ts';
import type { Member } from './module.ts';
import { LayerNorm } from './normalization.ts';
import { checkSizes, readOptions } from './options.ts';
import type { Placement } from './parameter.ts';

type Activation = 'relu' | 'gelu' | ((x: Tensor) => Tensor);

export interface TransformerLayerOptions extends Placement {
  /** The width of the layer between the two products behind attention. */
  readonly dimFeedforward?: number;
  readonly dropout?: number;
  readonly activation?: Activation;
  readonly layerNormEps?: number;
  /** Whether the batch comes before the length; it comes after it, unless `true` is given. */
  readonly batchFirst?: boolean;
  /** Whether norms stand before attention and products, and not behind them. */
  readonly normFirst?: boolean;
  readonly bias?: boolean;
}

const defaults: Required<TransformerLayerOptions> = {
  dimFeedforward: 2048,
  dropout: 0.1,
  activation: 'relu',
  layerNormEps: 1e-5,
  batchFirst: false,
  normFirst: false,
  bias: true,
  dtype: 'f32',
  device: 'cpu',
};

function activationOf(layer: string, given: Activation): (x: Tensor) => Tensor {
  if (given === 'relu') return (x) => x.relu();
  if (given === 'gelu') return (x) => x.gelu();
  if (typeof given === 'function') return given;
  throw badOption(layer, 'activation', { is: given, needs: 'relu, gelu or a function of a tensor' });
}

/** What both kinds of layers share: self-attention, and two products. */
abstract class TransformerLayer extends Module {
  readonly selfAttn: MultiheadAttention;
  readonly linear1: Linear;
  readonly dropout: Dropout;
  readonly linear2: Linear;
  readonly norm1: LayerNorm;
  readonly norm2: LayerNorm;
  readonly dropout1: Dropout;
  readonly dropout2: Dropout;
  readonly normFirst: boolean;
  protected readonly activation: (x: Tensor) => Tensor;

  protected constructor(layer: string, { width, heads }: Widths, options: Required<TransformerLayerOptions>) {
    super();
    const { dimFeedforward, dropout, layerNormEps, batchFirst, bias, dtype, device } = options;
    checkSizes(layer, { dimFeedforward });
    const placement = { dtype, device };
    this.selfAttn = new MultiheadAttention(width, heads, { dropout, bias, batchFirst, ...placement });
    this.linear1 = new Linear(width, dimFeedforward, { bias, ...placement });
    this.dropout = new Dropout(dropout);
    this.linear2 = new Linear(dimFeedforward, width, { bias, ...placement });
    const norm = { eps: layerNormEps, bias, ...placement };
    this.norm1 = new LayerNorm(width, norm);
    this.norm2 = new LayerNorm(width, norm);
    this.dropout1 = new Dropout(dropout);
    this.dropout2 = new Dropout(dropout);
    this.normFirst = options.normFirst;
    this.activation = activationOf(layer, options.activation);
  }

  protected attendToItself(x: Tensor, masks: AttentionMasks): Tensor {
    const [made] = this.selfAttn.forward(x, x, x, { ...masks, needWeights: false });
    return this.dropout1.forward(made);
  }

  protected feedForward(x: Tensor): Tensor {
    return this.linear2.forward(this.dropout.forward(this.activation(this.linear1.forward(x))));
  }
}

interface Widths {
  readonly width: number;
  readonly heads: number;
}

/** `true` keeps out, numbers are added. */
export interface EncoderMasks {
  readonly srcMask?: Tensor | null;
  readonly srcKeyPaddingMask?: Tensor | null;
  readonly isCausal?: boolean;
}

/** Self-attention and two products: [length, batch, width], or with `batchFirst` [batch, length, width]. */
export class TransformerEncoderLayer extends TransformerLayer {
  constructor(width: number, heads: number, given: TransformerLayerOptions = {}) {
    const layer = 'TransformerEncoderLayer';
    super(layer, { width, heads }, readOptions<TransformerLayerOptions>(layer, defaults, given));
  }

  forward(src: Tensor, masks: EncoderMasks = {}): Tensor {
    const { srcMask = null, srcKeyPaddingMask = null, isCausal = false } = masks;
    const own = { attnMask: srcMask, keyPaddingMask: srcKeyPaddingMask, isCausal };
    if (this.normFirst) {
      const x = src.add(this.attendToItself(this.norm1.forward(src), own));
      return x.add(this.dropout2.forward(this.feedForward(this.norm2.forward(x))));
    }
    const x = this.norm1.forward(src.add(this.attendToItself(src, own)));
    return this.norm2.forward(x.add(this.dropout2.forward(this.feedForward(x))));
  }
}

export interface DecoderMasks {
  readonly tgtMask?: Tensor | null;
  readonly memoryMask?: Tensor | null;
  readonly tgtKeyPaddingMask?: Tensor | null;
  readonly memoryKeyPaddingMask?: Tensor | null;
  readonly tgtIsCausal?: boolean;
  readonly memoryIsCausal?: boolean;
}

/** Self-attention, attention to what an encoder made, and two products. */
export class TransformerDecoderLayer extends TransformerLayer {
  readonly multiheadAttn: MultiheadAttention;
  readonly norm3: LayerNorm;
  readonly dropout3: Dropout;

  constructor(width: number, heads: number, given: TransformerLayerOptions = {}) {
    const layer = 'TransformerDecoderLayer';
    const options = readOptions<TransformerLayerOptions>(layer, defaults, given);
    super(layer, { width, heads }, options);
    const { dropout, bias, batchFirst, layerNormEps, dtype, device } = options;
    this.multiheadAttn = new MultiheadAttention(width, heads, { dropout, bias, batchFirst, dtype, device });
    this.norm3 = new LayerNorm(width, { eps: layerNormEps, bias, dtype, device });
    this.dropout3 = new Dropout(dropout);
  }

  /** In PyTorch's order: both attentions come first. */
  override members(): readonly Member[] {
    const isAttention = ({ value }: Member): boolean => value instanceof MultiheadAttention;
    const all = super.members();
    return [...all.filter(isAttention), ...all.filter((member) => !isAttention(member))];
  }

  forward(tgt: Tensor, memory: Tensor, masks: DecoderMasks = {}): Tensor {
    const own = {
      attnMask: masks.tgtMask ?? null,
      keyPaddingMask: masks.tgtKeyPaddingMask ?? null,
      isCausal: masks.tgtIsCausal ?? false,
    };
    const other = {
      attnMask: masks.memoryMask ?? null,
      keyPaddingMask: masks.memoryKeyPaddingMask ?? null,
      isCausal: masks.memoryIsCausal ?? false,
    };
    if (this.normFirst) {
      const x = tgt.add(this.attendToItself(this.norm1.forward(tgt), own));
      const y = x.add(attendTo(this, { x: this.norm2.forward(x), memory }, other));
      return y.add(this.dropout3.forward(this.feedForward(this.norm3.forward(y))));
    }
    const x = this.norm1.forward(tgt.add(this.attendToItself(tgt, own)));
    const y = this.norm2.forward(x.add(attendTo(this, { x, memory }, other)));
    return this.norm3.forward(y.add(this.dropout3.forward(this.feedForward(y))));
  }
}

/** Attention to what an encoder made. */
function attendTo(
  { multiheadAttn, dropout2 }: TransformerDecoderLayer,
  { x, memory }: { readonly x: Tensor; readonly memory: Tensor },
  masks: AttentionMasks,
): Tensor {
  const [made] = multiheadAttn.forward(x, memory, memory, { ...masks, needWeights: false });
  return dropout2.forward(made);
}

/** Encoder layers one after another, and a norm behind them. */
export class TransformerEncoder extends Module {
  readonly layers: readonly TransformerEncoderLayer[];
  readonly norm: LayerNorm | null;

  /** `layer` makes each of the layers, so that each has parameters of its own. */
  constructor(layer: () => TransformerEncoderLayer, count: number, norm: LayerNorm | null = null) {
    super();
    checkSizes('TransformerEncoder', { count });
    this.layers = Array.from({ length: count }, () => layer());
    this.norm = norm;
  }

  forward(src: Tensor, masks: EncoderMasks = {}): Tensor {
    const x = this.layers.reduce((value, layer) => layer.forward(value, masks), src);
    return this.norm === null ? x : this.norm.forward(x);
  }
}

/** Decoder layers one after another, and a norm behind them. */
export class TransformerDecoder extends Module {
  readonly layers: readonly TransformerDecoderLayer[];
  readonly norm: LayerNorm | null;

  constructor(layer: () => TransformerDecoderLayer, count: number, norm: LayerNorm | null = null) {
    super();
    checkSizes('TransformerDecoder', { count });
    this.layers = Array.from({ length: count }, () => layer());
    this.norm = norm;
  }

  forward(tgt: Tensor, memory: Tensor, masks: DecoderMasks = {}): Tensor {
    const x = this.layers.reduce((value, layer) => layer.forward(value, memory, masks), tgt);
    return this.norm === null ? x : this.norm.forward(x);
  }
}
