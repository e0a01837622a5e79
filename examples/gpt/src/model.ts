// The transformer: embeddings of characters and places, layers of causal attention, and a score for each character that may come next.
import { arange } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { Embedding, LayerNorm, Linear, Module, ModuleList, TransformerEncoderLayer } from 'tsinductor/nn';

export interface Sizes {
  readonly symbols: number;
  /** How many characters it sees at once. */
  readonly context: number;
  readonly width: number;
  readonly heads: number;
  readonly layers: number;
}

export class Transformer extends Module {
  readonly symbol: Embedding;
  readonly place: Embedding;
  readonly layers: ModuleList<TransformerEncoderLayer>;
  readonly norm: LayerNorm;
  readonly head: Linear;

  constructor({ symbols, context, width, heads, layers }: Sizes) {
    super();
    const options = {
      dimFeedforward: 4 * width,
      dropout: 0,
      activation: 'gelu',
      batchFirst: true,
      normFirst: true,
    } as const;
    this.symbol = new Embedding(symbols, width);
    this.place = new Embedding(context, width);
    this.layers = new ModuleList(
      Array.from({ length: layers }, () => new TransformerEncoderLayer(width, heads, options)),
    );
    this.norm = new LayerNorm(width);
    this.head = new Linear(width, symbols);
  }

  /** i64[batch, characters] to the scores of what comes next, f32[batch, characters, symbols]. */
  forward(tokens: Tensor): Tensor {
    const places = this.place.forward(arange(tokens.shape[1] ?? 0));
    let x = this.symbol.forward(tokens).add(places);
    for (const layer of this.layers) x = layer.forward(x, { isCausal: true });
    return this.head.forward(this.norm.forward(x));
  }
}
