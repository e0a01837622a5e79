// Transformers of the suite `models`, as modules: GPT-2 with and without a cache of keys and values, BERT, and the encoder of Whisper.
import { at } from '@tsinductor/base';
import { arange, nn, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import {
  Conv1d,
  Embedding,
  LayerNorm,
  Linear,
  Module,
  TransformerEncoder,
  TransformerEncoderLayer,
  parameter,
} from 'tsinductor/nn';
import type { Params } from '../protocol.ts';

const { functional: F } = nn;

/** Keys and values of the tokens before, with room for the next one behind them. */
type Cache = readonly [keys: Tensor, values: Tensor];

/** A layer of GPT-2. */
export class Gpt2Block extends Module {
  readonly ln1: LayerNorm;
  readonly attend: Linear;
  readonly project: Linear;
  readonly ln2: LayerNorm;
  readonly up: Linear;
  readonly down: Linear;
  readonly heads: number;

  constructor({ width = 0, heads = 0 }: Params) {
    super();
    this.ln1 = new LayerNorm(width);
    this.attend = new Linear(width, 3 * width);
    this.project = new Linear(width, width);
    this.ln2 = new LayerNorm(width);
    this.up = new Linear(width, 4 * width);
    this.down = new Linear(4 * width, width);
    this.heads = heads;
  }

  forward(x: Tensor, ...cache: Cache | readonly []): Tensor {
    const parts = this.attend.forward(this.ln1.forward(x)).chunk(3, -1);
    const [query, key, value] = [0, 1, 2].map((part) =>
      at(parts, part).unflatten(-1, [this.heads, -1]).transpose(1, 2),
    ) as [Tensor, Tensor, Tensor];
    const mixed =
      cache.length === 0
        ? F.scaledDotProductAttention(query, key, value, { isCausal: true })
        : F.scaledDotProductAttention(query, ...appended(cache, [key, value]));
    const attended = x.add(this.project.forward(mixed.transpose(1, 2).flatten(-2)));
    const wide = F.gelu(this.up.forward(this.ln2.forward(attended)), { approximate: 'tanh' });
    return attended.add(this.down.forward(wide));
  }
}

/** The caches, with what is new in their last rows. */
function appended(cache: Cache, fresh: Cache): Cache {
  cache.forEach((rows, which) => {
    rows.narrow(2, rows.size(2) - 1, 1).copy_(at(fresh, which));
  });
  return cache;
}

/** Scores of the next token at every place; with caches, of the one behind the last token, which goes into them. */
export class Gpt2 extends Module {
  readonly wte: Embedding;
  readonly wpe: Embedding;
  readonly blocks: readonly Gpt2Block[];
  readonly lnF: LayerNorm;

  constructor(params: Params) {
    super();
    const { layers = 0, vocabulary = 0, positions = 0, width = 0 } = params;
    this.wte = new Embedding(vocabulary, width);
    this.wpe = new Embedding(positions, width);
    this.blocks = Array.from({ length: layers }, () => new Gpt2Block(params));
    this.lnF = new LayerNorm(width);
  }

  forward(tokens: Tensor, ...caches: readonly Tensor[]): Tensor {
    const cached = caches[0] === undefined ? 0 : caches[0].size(2) - 1;
    const places = arange(cached, cached + tokens.size(1));
    const first = this.wte.forward(tokens).add(this.wpe.forward(places));
    const last = this.blocks.reduce(
      (x, block, layer) =>
        caches.length === 0 ? block.forward(x) : block.forward(x, at(caches, 2 * layer), at(caches, 2 * layer + 1)),
      first,
    );
    return F.linear(this.lnF.forward(last), this.wte.weight);
  }
}

/** BERT up to the rows of its last layer; all tokens are of one text. */
export class Bert extends Module {
  readonly words: Embedding;
  readonly places: Embedding;
  readonly kinds: Embedding;
  readonly norm: LayerNorm;
  readonly encoder: TransformerEncoder;

  constructor({ layers = 0, vocabulary = 0, positions = 0, width = 0, heads = 0 }: Params) {
    super();
    this.words = new Embedding(vocabulary, width);
    this.places = new Embedding(positions, width);
    this.kinds = new Embedding(2, width);
    this.norm = new LayerNorm(width, { eps: 1e-12 });
    const options = { dimFeedforward: 4 * width, activation: 'gelu', layerNormEps: 1e-12, batchFirst: true } as const;
    this.encoder = new TransformerEncoder(() => new TransformerEncoderLayer(width, heads, options), layers);
  }

  forward(tokens: Tensor): Tensor {
    const places = arange(tokens.size(1));
    const kinds = zeros([1], { dtype: 'i64' });
    const first = this.words.forward(tokens).add(this.places.forward(places)).add(this.kinds.forward(kinds));
    return this.encoder.forward(this.norm.forward(first));
  }
}

/** The encoder of Whisper: two convolutions over the frames of a spectrogram, and layers with norms first. */
export class WhisperEncoder extends Module {
  readonly conv1: Conv1d;
  readonly conv2: Conv1d;
  readonly positions: Tensor;
  readonly encoder: TransformerEncoder;

  constructor({ layers = 0, frames = 0, channels = 0, width = 0, heads = 0 }: Params) {
    super();
    this.conv1 = new Conv1d(channels, width, { kernelSize: 3, padding: 1 });
    this.conv2 = new Conv1d(width, width, { kernelSize: 3, padding: 1, stride: 2 });
    this.positions = parameter(zeros([frames / 2, width]));
    const options = { dimFeedforward: 4 * width, activation: 'gelu', normFirst: true, batchFirst: true } as const;
    const layer = (): TransformerEncoderLayer => new TransformerEncoderLayer(width, heads, options);
    this.encoder = new TransformerEncoder(layer, layers, new LayerNorm(width));
  }

  forward(spectrogram: Tensor): Tensor {
    const frames = F.gelu(this.conv2.forward(F.gelu(this.conv1.forward(spectrogram))));
    return this.encoder.forward(frames.transpose(1, 2).add(this.positions));
  }
}
