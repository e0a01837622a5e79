// Which products are padded (`shapePadding`, `forceShapePad`), and why. In and out: a graph of primitives.
//
// On processors what is past the end of a row is masked, or computed by a loop of its own: a padding copies operands, and gains next to
// nothing, so that only a clock may say otherwise. On CUDA devices products of 16 bits go by matrix instructions, whose operands are copied
// into shared memory by 4, 8 or 16 bytes (PTX, "cp.async"): rows that begin within a word of 4 bytes are computed element by element.
import { stableStringify } from '@tsinductor/base';
import type { Form, Stage } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import { padProducts } from '@tsinductor/graph';
import type { Graph, PaddingVerdict, UnevenProduct } from '@tsinductor/graph';
import type { Schedule } from '@tsinductor/ir';
import { mayTimeProducts } from '@tsinductor/scheduler';
import type { Measure } from '@tsinductor/scheduler';
import { contextFor } from './graph-pass.ts';

interface Context {
  readonly config: Config;
  readonly measure?: Measure | undefined;
}

interface Padding<More extends Context> {
  readonly schedule: (graph: Graph, context: More) => Schedule;
  /** Whether the target multiplies matrices by instructions that read even rows. */
  readonly hasMatrices: boolean;
}

/** Whether a clock decides which products are padded. */
export const timesPaddings = (config: Config): boolean =>
  config.shapePadding && !config.forceShapePad && config.maxAutotuneGemm && mayTimeProducts(config);

export const padStage = <More extends Context>(
  form: Form<Graph>,
  { schedule, hasMatrices }: Padding<More>,
): Stage<Graph, Graph, More> => ({
  name: 'pad-products',
  doc: 'operands of products lie in rows of multiples of 16 bytes, where that is faster',
  makes: form,
  run: (graph, context) => {
    const { config } = context;
    if (!config.usePostGradPasses || !(config.shapePadding || config.forceShapePad)) return graph;
    const known = new Map<string, PaddingVerdict>();
    const measured = (product: UnevenProduct): PaddingVerdict => {
      const ways = product.ways();
      const key = stableStringify(ways);
      const verdict =
        known.get(key) ??
        byClock(
          ways.map((way) => schedule(way, context)),
          context,
        );
      known.set(key, verdict);
      return verdict;
    };
    const judge = (product: UnevenProduct): PaddingVerdict => {
      if (config.forceShapePad) return { isPadded: true, reason: 'forceShapePad' };
      const { sizes } = product;
      if (sizes === undefined) return refused('its sizes are known only when it is called');
      if (hasMatrices) return byEstimate(product, sizes);
      if (context.measure === undefined || !timesPaddings(config))
        return refused('processors mask what is past the end of a row, and a padding would copy the operands');
      return intensityOf(sizes) < leastTimed
        ? refused('it reads as much as it multiplies, and a padding would copy the operands')
        : measured(product);
    };
    return padProducts(graph, contextFor('simplified', graph, config.patternMatcher), judge);
  },
});

const refused = (reason: string): PaddingVerdict => ({ isPadded: false, reason });

type Sizes = NonNullable<UnevenProduct['sizes']>;

/** Multiplications for each element of operands and result, as PyTorch's pad_mm has it: of 16 bits, operations for each byte. */
const intensityOf = ([, rows, depth, columns]: Sizes): number =>
  (rows * depth * columns) / (rows * depth + depth * columns + rows * columns);

/** Below this no clock is asked: a tile of 16 rows by columns reads what it multiplies 16 times at most. */
const leastTimed = 16;

/** By how much less time a padded product has to take; PyTorch's pad_mm asks for as much. */
const leastGain = 0.1;

function byClock(plans: readonly Schedule[], { config, measure }: Context): PaddingVerdict {
  const timed = measure?.(plans, config.autotunePolicy === 'autotune') ?? { failure: 'there is no clock' };
  if ('failure' in timed) return refused(`not measured: ${timed.failure}`);
  const [alone = 0, padded = Infinity] = timed.times;
  const reason = `measured ${padded.toPrecision(3)} ms padded, ${alone.toPrecision(3)} ms as it is`;
  return { isPadded: padded * (1 + leastGain) < alone, reason };
}

/**
 * Operations for each byte of operands and result from which a padding pays, by what NVIDIA says of an H100 SXM: 989 TFLOP/s of 16 bits, 67 of
 * f32, 3.35 TB/s. Rows that begin within words are computed at the rate of f32: a padding writes and reads as many bytes as the product twice
 * more, so that it pays from 3 * 67 / 3.35. Others have matrix instructions anyway, and only wider copies to gain: half of 989 / 3.35, where
 * PyTorch's pad_mm begins to look at products as bound by arithmetic.
 */
const leastIntensity = { odd: 60, even: 148 } as const;

function byEstimate(product: UnevenProduct, sizes: Sizes): PaddingVerdict {
  const { dtype, isOdd, isChained } = product;
  if (dtype !== 'f16' && dtype !== 'bf16')
    return refused(`products of ${dtype} have no matrix instructions, which read even rows`);
  if (sizes[0] > 1 && isChained())
    return refused('it follows another product through sums of rows, and may be one kernel with it');
  const [intensity, least] = [intensityOf(sizes), leastIntensity[isOdd ? 'odd' : 'even']];
  const gain = isOdd ? 'matrix instructions read rows in words of 4 bytes' : 'rows are copied by 16 bytes at a time';
  const says = `${intensity.toFixed(0)} operations for each byte`;
  return intensity < least
    ? refused(`${says}, and a padding pays from ${String(least)}`)
    : { isPadded: true, reason: `${gain}; ${says}` };
}
