// Tables of vectors that are looked up by number.
import { nn, noGrad } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { badOption } from './errors.ts';
import { normal_ } from './init.ts';
import { Module } from './module.ts';
import { checkSizes, readOptions } from './options.ts';
import { blank } from './parameter.ts';
import type { Placement } from './parameter.ts';

const { functional } = nn;

export interface EmbeddingOptions extends Placement {
  /** A row that begins as zeros and gets no gradient; it counts from the end where it is negative. */
  readonly paddingIdx?: number | null;
  /** Rows that are looked up are scaled in place to at most this norm, of the kind `normType`. */
  readonly maxNorm?: number | null;
  readonly normType?: number;
}

/** Numbers to rows of a table: [...] of integers becomes [..., width]. */
export class Embedding extends Module {
  readonly weight: Tensor;
  readonly paddingIdx: number | null;
  readonly maxNorm: number | null;
  readonly normType: number;

  constructor(count: number, width: number, given: EmbeddingOptions = {}) {
    super();
    const { paddingIdx, maxNorm, normType, ...placement } = readOptions<EmbeddingOptions>(
      'Embedding',
      { paddingIdx: null, maxNorm: null, normType: 2, dtype: 'f32', device: 'cpu' },
      given,
    );
    checkSizes('Embedding', { count });
    checkSizes('Embedding', { width });
    if (paddingIdx !== null && !(Number.isInteger(paddingIdx) && paddingIdx >= -count && paddingIdx < count))
      throw badOption('Embedding', 'paddingIdx', {
        is: paddingIdx,
        needs: `a row from ${String(-count)} to ${String(count - 1)}`,
      });
    this.paddingIdx = paddingIdx !== null && paddingIdx < 0 ? paddingIdx + count : paddingIdx;
    this.maxNorm = maxNorm;
    this.normType = normType;
    this.weight = normal_(blank([count, width], placement));
    const padding = this.paddingIdx;
    if (padding !== null) noGrad(() => this.weight.select(0, padding).zero_());
  }

  forward(index: Tensor): Tensor {
    const { weight, paddingIdx, maxNorm, normType } = this;
    return functional.embedding(index, weight, { paddingIdx, maxNorm, normType });
  }
}
