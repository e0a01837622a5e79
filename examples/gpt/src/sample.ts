// Text that the model writes: one character after the other, each drawn by the scores that the model gives for what comes next.
import { arange, compile, multinomial, noGrad, tensor } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import type { Transformer } from './model.ts';

export interface SampleOptions {
  readonly length: number;
  /** Below 1, what is likely becomes likelier. */
  readonly temperature: number;
  readonly context: number;
}

/** Goes on behind `start`, in symbols. */
export function writeOn(
  model: Transformer,
  start: readonly number[],
  { length, temperature, context }: SampleOptions,
): readonly number[] {
  // One shape for every step: what is not written yet is filled up, and hidden from what is before it.
  const chances = compile(
    (tokens: Tensor, last: Tensor) =>
      model.forward(tokens).squeeze(0).indexSelect(0, last).div(temperature).softmax(-1),
    { fullgraph: true },
  );
  const written = [...start];
  noGrad(() => {
    while (written.length < start.length + length) {
      const seen = written.slice(-context);
      const padded = [...seen, ...new Array<number>(context - seen.length).fill(0)];
      using tokens = tensor(BigInt64Array.from(padded, BigInt), { shape: [1, context] });
      using last = arange(seen.length - 1, seen.length);
      using drawn = multinomial(chances(tokens, last), 1);
      written.push(Number(drawn.item()));
    }
  });
  return written.slice(start.length);
}
