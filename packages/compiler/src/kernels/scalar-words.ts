// The scalar arguments of a launch as an entry takes them: 8 bytes each, integers as i64, floats as the bits of an f64. The
// memory is the same for all launches, so that its address is asked for once.
import { isFloat } from '@tsinductor/base';
import type { BoundArgument } from './bind-arguments.ts';

export class ScalarWords {
  /** At least one word: native code gets its address. */
  readonly array: BigInt64Array;
  readonly #floats: Float64Array;

  constructor(count: number) {
    this.array = new BigInt64Array(Math.max(1, count));
    this.#floats = new Float64Array(this.array.buffer);
  }

  /** Writes the scalars among the arguments, in order. */
  set(args: readonly BoundArgument[]): void {
    let word = 0;
    for (const argument of args) {
      if (argument.kind === 'buffer') continue;
      if (isFloat(argument.dtype)) this.#floats[word] = Number(argument.value);
      else this.array[word] = BigInt(argument.value);
      word += 1;
    }
  }
}
