// Which blocks of keys a block of queries has to look at (PyTorch's BlockMask). In: a mask as a function of one score's place. Out: for each
// block of queries the blocks of keys of which any, and those of which all count; as numbers, and as a table.
import type { DType } from '@tsinductor/base';
import { dispatchOne } from './dispatch.ts';
import { badArgument, describe } from './errors.ts';
import { checkOptions } from './given-options.ts';
import { located } from './location.ts';
import { vmap } from './mapping/vmap.ts';
import { isTensor } from './tensor.ts';
import type { Tensor } from './tensor.ts';

/** Where a score is: integers (i64) without dims. */
export type ScorePlace = [batch: Tensor, head: Tensor, query: Tensor, key: Tensor];

/** Whether a key counts for a query: a bool without dims. */
export type MaskMod = (...place: ScorePlace) => Tensor;

/** Options of `createBlockMask`. */
export interface BlockMaskOptions {
  /** How many batches and heads differ. Default: 1, all share one mask. */
  readonly batch?: number;
  readonly heads?: number;
  /** How many queries and keys there are. */
  readonly queries: number;
  readonly keys: number;
  /** Queries and keys of a block; one number is for both. Default: 128. */
  readonly blockSize?: number | readonly [queries: number, keys: number];
}

/** A mask, and which blocks it leaves out, as `createBlockMask` makes it. As `torch.nn.attention.flex_attention.BlockMask`. */
export class BlockMask {
  readonly blockSize: readonly [queries: number, keys: number];
  readonly maskMod: MaskMod;
  /** Whether any key of a block counts for any query of one: bool [batch, heads, blocks of queries, blocks of keys]. */
  readonly used: Tensor;
  /** How many blocks of keys count in part (i32 [batch, heads, blocks of queries]), and their numbers, which come first in a row. */
  readonly kvNumBlocks: Tensor;
  readonly kvIndices: Tensor;
  /** The same of blocks that count as a whole. */
  readonly fullKvNumBlocks: Tensor;
  readonly fullKvIndices: Tensor;
  /** Vectors as long as queries and keys: as sizes of tensors, lengths may change without new code. */
  readonly lengths: readonly [queries: Tensor, keys: Tensor];

  constructor({
    used,
    full,
    ...made
  }: Pick<BlockMask, 'blockSize' | 'maskMod' | 'used' | 'lengths'> & { readonly full: Tensor }) {
    this.blockSize = made.blockSize;
    this.lengths = made.lengths;
    this.maskMod = made.maskMod;
    this.used = used;
    [this.kvNumBlocks, this.kvIndices] = ordered(used.logicalAnd(full.logicalNot()));
    [this.fullKvNumBlocks, this.fullKvIndices] = ordered(full);
  }

  /** Batch, heads, queries and keys. */
  get shape(): readonly number[] {
    const [batch = 0, heads = 0] = this.used.shape;
    return [batch, heads, ...this.lengths.map(({ numel }) => numel)];
  }

  /** The share of blocks that are left out, in percent. Reads the table. */
  sparsity(): number {
    return 100 * (1 - Number(this.used.sum().item()) / this.used.numel);
  }

  toString(): string {
    const [rows, columns] = this.blockSize;
    return `BlockMask [${this.shape.join(', ')}] in blocks of ${rows} x ${columns}, ${this.sparsity().toFixed(2)} % left out`;
  }
}

/** How many blocks of each row are marked, and the numbers of all, those of the marked first. */
const ordered = (marked: Tensor): [Tensor, Tensor] => [
  marked.sum(-1).to('i32'),
  marked.to('i32').argsort(-1, true, { stable: true }).to('i32'),
];

/**
 * The blocks of keys that count for each block of queries under a mask, for `nn.functional.flexAttention`: compiled code leaves the others
 * out. Lengths need be no multiples of a block. The mask is computed once for each query and key. In a
 * compiled function no memory holds it. As `torch.nn.attention.flex_attention.create_block_mask`.
 *
 * ```ts
 * const documents = tensor([0, 0, 0, 1, 1, 2, 2, 2]); // which one each token is of
 * const blockMask = nn.functional.createBlockMask(
 *   (_, __, i, j) => documents.index([i]).eq(documents.index([j])),
 *   { queries: 8, keys: 8, blockSize: 2 },
 * );
 * console.log(String(blockMask)); // BlockMask [1, 1, 8, 8] in blocks of 2 x 2, 37.50 % left out
 * nn.functional.flexAttention(q, k, v, { blockMask });
 * ```
 *
 * Raises ARGUMENT_VALUE for sizes that are no whole numbers from 1 and for a function that gives anything but a bool, OPTION_UNKNOWN, and
 * what `vmap` raises where the function reads elements or draws random numbers.
 */
export function createBlockMask(maskMod: MaskMod, options: BlockMaskOptions): BlockMask {
  try {
    checkOptions(name, options, ['batch', 'heads', 'queries', 'keys', 'blockSize']);
    if (typeof maskMod !== 'function')
      throw badArgument(name, `maskMod is ${describe(maskMod)}`, 'give a function over tensors');
    const { batch = 1, heads = 1, queries, keys, blockSize = 128 } = options;
    const [rows, columns] = typeof blockSize === 'number' ? [blockSize, blockSize] : blockSize;
    for (const [what, size] of Object.entries({
      batch,
      heads,
      queries,
      keys,
      'blockSize of queries': rows,
      'blockSize of keys': columns,
    }))
      if (!Number.isSafeInteger(size) || size < 1)
        throw badArgument(name, `${what} is ${describe(size)}`, 'give a whole number from 1');
    const shape = [batch, heads, queries, keys] as const;
    const mask = ofAllPlaces(
      (...place: ScorePlace) => checkedScalar(name, 'maskMod', { made: maskMod(...place), dtype: 'bool' }),
      0,
    );
    const all = mask(...(shape.map((size) => dispatchOne('arange', [size])) as ScorePlace));
    const [height, width] = [Math.ceil(queries / rows), Math.ceil(keys / columns)];
    const padded = all.constantPadNd([0, width * columns - keys, 0, height * rows - queries]);
    const blocks = padded.reshape(batch, heads, height, rows, width, columns);
    return new BlockMask({
      blockSize: [rows, columns],
      maskMod,
      lengths: [all.newEmpty([queries]), all.newEmpty([keys])],
      used: blocks.any(5).any(3),
      full: blocks.all(5).all(3),
    });
  } catch (error) {
    throw located(error);
  }
}

const name = 'createBlockMask';

/** A function of one place as one of all of them; the first `whole` arguments have an axis for each of a place's. */
export function ofAllPlaces<Args extends readonly unknown[]>(
  fn: (...args: Args) => Tensor,
  whole: number,
): (...args: Args) => Tensor {
  const axes = [0, 1, 2, 3];
  // From the innermost axis, that of keys, outward.
  return axes.toReversed().reduce((inner, axis) => {
    const ofPlace = axes.map((other) => (other === axis ? 0 : null));
    return vmap(inner, { inAxes: [...new Array<number>(whole).fill(0), ...ofPlace] as never });
  }, fn);
}

interface Given {
  readonly made: unknown;
  readonly dtype: DType;
}

/** What a function of the program made of one score or place. */
export function checkedScalar(where: string, what: string, { made, dtype }: Given): Tensor {
  if (!isTensor(made)) throw badArgument(where, `${what} gives ${describe(made)}`, 'give a tensor without dims');
  if (made.shape.length > 0 || made.dtype !== dtype)
    throw badArgument(where, `${what} gives ${made.dtype} [${made.shape.join(', ')}]`, `give ${dtype} without dims`);
  return made;
}
