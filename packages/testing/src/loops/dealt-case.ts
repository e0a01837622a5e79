// For tests: elements that share work in the way of random numbers that are drawn four at a time. Of 32 elements in a row, each
// eight take another value of eight blocks in a row.
import { add, axisIndex, floorDivide, int, modulo, multiply } from '@tsinductor/ir';
import type { BodyBuilder, Index, ScalarId } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, loops, ProgramMaker } from './programs.ts';

const lanes = 8;

/** out[i] = x[i] + the value of i's share of its block, where the four of a block come of a long chain of products of words. */
export function dealt(count: number): Case {
  const maker = new ProgramMaker();
  const i = axis('i', count);
  const x = maker.buffer('x', 'input', { shape: [i.extent], dtype: 'f32' });
  const out = maker.buffer('out', 'output', { shape: [i.extent], dtype: 'f32' });
  const place = axisIndex(i);
  maker.map(out, [i], (b) => {
    const words = wordsOf(b, blockOf(place));
    const share = b.index(modulo(floorDivide(place, int(lanes)), int(words.length)));
    const chosen = words.reduceRight((rest, word, number) =>
      b.apply('where', [b.apply('eq', [share, b.constant(number, 'i64')]), word, rest]),
    );
    const leading = b.apply('bitwiseAnd', [chosen, b.constant(0xffff, 'i64')]);
    return b.apply('add', [b.load(x, 'f32', place), b.cast(leading, 'f32')]);
  });
  const nest = loops([[i, 'parallel']], [0]);
  const schedule = maker.schedule([{ nodes: maker.nodes, nest, locals: [] }]);
  return { name: `dealt to ${String(count)}`, schedule, sizes: new Map(), tolerance: 0 };
}

const blockOf = (place: Index): Index =>
  add(multiply(floorDivide(place, int(4 * lanes)), int(lanes)), modulo(place, int(lanes)));

/** Four words of a block, by ten rounds of products. */
function wordsOf(b: BodyBuilder, block: Index): readonly ScalarId[] {
  const constant = (value: number): ScalarId => b.constant(value, 'i64');
  let words = [b.index(block), constant(1), constant(2), constant(3)];
  for (let round = 0; round < 10; round += 1) {
    const [w0 = constant(0), w1 = constant(0), w2 = constant(0), w3 = constant(0)] = words;
    const [first, second] = [
      b.apply('mulWords', [w0, constant(0xd2511f53)]),
      b.apply('mulWords', [w2, constant(0xcd9e8d57)]),
    ];
    const high = (word: ScalarId): ScalarId => b.apply('bitwiseRightShift', [word, constant(32)]);
    words = [b.apply('bitwiseXor', [high(second), w1]), second, b.apply('bitwiseXor', [high(first), w3]), first];
  }
  return words;
}
