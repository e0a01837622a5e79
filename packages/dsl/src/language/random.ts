// Random numbers: Philox 4x32 with 10 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"), a pure function
// of seed and offset. Words are i32 with the bits of the unsigned ones. Element i of the first random call after
// `manualSeed(s)` draws the words of (seed s, offset i), so kernels and tensors can agree.
import type { DType } from '@tsinductor/base';
import { at, isInteger } from '@tsinductor/base';
import type { Tile, TileBuilder } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';
import { broadcastAll } from '../lower/coerce.ts';
import { tileValue } from '../lower/value.ts';
import { entry } from './define.ts';
import type { Call, LanguageEntry } from './define.ts';

const multipliers = [0xd2511f53n, 0xcd9e8d57n] as const;
const growth = [0x9e3779b9n, 0xbb67ae85n] as const;
const rounds = 10;
const lowWord = 0xffffffffn;

/** Arithmetic on i64 tiles whose lower halves are unsigned 32-bit words; what is above them is left as it falls. */
class Words {
  readonly #builder: TileBuilder;

  constructor(builder: TileBuilder) {
    this.#builder = builder;
  }

  apply(op: PointwiseName, tile: Tile, value: bigint): Tile {
    const constant = this.#builder.constant(value, { dtype: 'i64', shape: tile.shape });
    return this.#builder.apply(op, [tile, constant]);
  }

  low(tile: Tile): Tile {
    return this.apply('bitwiseAnd', tile, lowWord);
  }

  high(tile: Tile): Tile {
    return this.apply('bitwiseRightShift', tile, 32n);
  }

  xor(a: Tile, b: Tile, c: Tile): Tile {
    return this.#builder.apply('bitwiseXor', [this.#builder.apply('bitwiseXor', [a, b]), c]);
  }
}

/** The four words of each offset, as i64 tiles. */
function philoxWords(call: Call): readonly Tile[] {
  const { builder } = call.site.context;
  const words = new Words(builder);
  const wide = (name: string): Tile => {
    const tile = call.tile(name);
    if (!isInteger(tile.dtype)) return call.refuse(name, 'of whole numbers', 'use an integer seed and integer offsets');
    return builder.cast(tile, 'i64');
  };
  const [seed, offset] = broadcastAll([wide('seed'), wide('offset')], call.site) as [Tile, Tile];
  const zero = builder.constant(0n, { dtype: 'i64', shape: offset.shape });
  let [x0, x1, x2, x3] = [offset, words.high(offset), zero, zero];
  let [k0, k1] = [seed, words.high(seed)];
  for (let round = 0; round < rounds; round += 1) {
    const product0 = words.apply('mulWords', x0, multipliers[0]);
    const product1 = words.apply('mulWords', x2, multipliers[1]);
    [x0, x1, x2, x3] = [
      words.xor(words.high(product1), x1, k0),
      product1,
      words.xor(words.high(product0), x3, k1),
      product0,
    ];
    k0 = words.apply('add', k0, growth[0]);
    k1 = words.apply('add', k1, growth[1]);
  }
  return [x0, x1, x2, x3].map((word) => words.low(word));
}

const parameters = ['seed', 'offset'];

export const randint4x: LanguageEntry = entry('Four random words for each offset, i32.', parameters, (call) => ({
  kind: 'list',
  items: philoxWords(call).map((word) => tileValue(call.site.context.builder.cast(word, 'i32'))),
}));

export const randint: LanguageEntry = entry('A random word for each offset, i32.', parameters, (call) =>
  tileValue(call.site.context.builder.cast(at(philoxWords(call), 0), 'i32')),
);

/** The leading 24 bits of a word as a fraction in [0, 1). */
function fraction(word: Tile, builder: TileBuilder): Tile {
  const bits = new Words(builder).apply('bitwiseRightShift', word, 8n);
  const scale = builder.constant(2 ** -24, { dtype: 'f32', shape: word.shape });
  return builder.apply('mul', [builder.cast(bits, 'f32'), scale]);
}

export const rand: LanguageEntry = entry('Uniform numbers in [0, 1), f32.', parameters, (call) =>
  tileValue(fraction(at(philoxWords(call), 0), call.site.context.builder)),
);

export const randn: LanguageEntry = entry('Normal numbers (Box and Muller), f32.', parameters, (call) => {
  const { builder } = call.site.context;
  const [w0, w1] = philoxWords(call) as [Tile, Tile];
  const dtype: DType = 'f32';
  const constant = (value: number): Tile => builder.constant(value, { dtype, shape: w0.shape });
  const u = builder.apply('sub', [constant(1), fraction(w0, builder)]);
  const radius = builder.apply('sqrt', [builder.apply('mul', [constant(-2), builder.apply('log', [u])])]);
  const angle = builder.apply('mul', [constant(2 * Math.PI), fraction(w1, builder)]);
  return tileValue(builder.apply('mul', [radius, builder.apply('cos', [angle])]));
});
