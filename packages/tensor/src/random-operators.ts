// Random numbers as operators, for traces: the same words and the same mapping as in random.ts, on tensors of i64 whose
// lower halves are unsigned 32-bit words. What is above them is left as it falls: products are of lower halves alone, and numbers
// are made of masked words.
import type { DType } from '@tsinductor/base';
import { dispatchInPlace, dispatchOne } from './dispatch.ts';
import { blocksTogether, leadingBits, philoxConstants } from './philox.ts';
import type { WordsEach } from './philox.ts';
import { float } from './scalars.ts';
import type { Tensor } from './tensor.ts';

interface Draw {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

const word = 0xffffffff;
type Operand = Tensor | number | ReturnType<typeof float>;

const op = (name: string, ...operands: readonly Operand[]): Tensor => dispatchOne(name, operands);
const quotient = (x: Tensor, divisor: number): Tensor => dispatchOne('floorDivide', [x, divisor]);
const low = (x: Tensor): Tensor => op('bitwiseAnd', x, word);
const high = (x: Tensor): Tensor => op('bitwiseRightShift', x, 32);
const xor = (x: Operand, ...rest: readonly Operand[]): Operand => rest.reduce((all, y) => op('bitwiseXor', all, y), x);
const to = (x: Tensor, dtype: DType): Tensor => dispatchOne('to', [x, dtype]);

/** The words of every element, as vectors of lower halves; the state counts one call more. */
function words(state: Tensor, count: number, each: WordsEach): readonly Tensor[] {
  const { multiply0, multiply1, grow0, grow1, rounds } = philoxConstants;
  const [seed, calls] = [0, 1].map((position) => dispatchOne('select', [state, 0, position])) as [Tensor, Tensor];
  const shares = 4 / each;
  const position = dispatchOne('arange', [count]);
  const together = op('mul', quotient(position, blocksTogether * shares), blocksTogether);
  const block = op('add', together, op('remainder', position, blocksTogether));
  let [x0, x1, x2, x3]: Operand[] = [block, high(block), calls, high(calls)];
  let [k0, k1] = [seed, high(seed)];
  for (let round = 0; round < rounds; round += 1) {
    const first = op('mulWords', x0 ?? 0, multiply0);
    const second = op('mulWords', x2 ?? 0, multiply1);
    [x0, x1, x2, x3] = [xor(high(second), x1 ?? 0, k0), second, xor(high(first), x3 ?? 0, k1), first];
    [k0, k1] = [op('add', k0, grow0), op('add', k1, grow1)];
  }
  dispatchInPlace('add', [dispatchOne('select', [state, 0, 1]), 1]);
  const all = [x0, x1, x2, x3] as Tensor[];
  const share = op('remainder', quotient(position, blocksTogether), shares);
  return all.slice(0, each).map((_, place) =>
    chosen(
      share,
      all.filter((__, word) => word % each === place),
    ),
  );
}

/** The tensor whose place in the list `number` says, element by element. */
const chosen = (number: Tensor, tensors: readonly Tensor[]): Tensor =>
  tensors.reduceRight((rest, tensor, place) => op('where', op('eq', number, place), tensor, rest));

const countOf = (shape: readonly number[]): number => shape.reduce((count, size) => count * size, 1);
const shaped = (x: Tensor, { shape, dtype }: Draw): Tensor => dispatchOne('reshape', [to(x, dtype), shape]);

/** The leading bits of a word as a fraction. */
function fraction(x: Tensor, bits: number, compute: DType): Tensor {
  const leading = op('bitwiseAnd', x, 2 ** 32 - 2 ** (32 - bits));
  return op('mul', to(leading, compute), float(2 ** -32));
}

/** 53 bits of two words, in [0, 1). */
function double(x: Tensor, y: Tensor): Tensor {
  const [upper, lower] = [op('bitwiseRightShift', low(x), 5), op('bitwiseRightShift', low(y), 6)];
  return op('mul', to(op('add', op('mul', upper, 2 ** 26), lower), 'f64'), float(2 ** -53));
}

export function tracedUniform(state: Tensor, draw: Draw): Tensor {
  const count = countOf(draw.shape);
  if (draw.dtype === 'f64') return shaped(double(...(words(state, count, 2) as [Tensor, Tensor])), draw);
  const [w0] = words(state, count, 1) as [Tensor];
  return shaped(fraction(w0, leadingBits(draw.dtype), 'f32'), draw);
}

export function tracedNormal(state: Tensor, draw: Draw): Tensor {
  return shaped(boxMuller(...uniformPair(state, draw)), draw);
}

/** What Box-Muller takes: u in (0, 1] and v in [0, 1). */
function uniformPair(state: Tensor, draw: Draw): [Tensor, Tensor] {
  const count = countOf(draw.shape);
  if (draw.dtype === 'f64') {
    const [w0, w1, w2, w3] = words(state, count, 4) as [Tensor, Tensor, Tensor, Tensor];
    return [op('add', double(w0, w1), float(2 ** -53)), double(w2, w3)];
  }
  const [w0, w1] = words(state, count, 2) as [Tensor, Tensor];
  return [op('add', fraction(w0, 24, 'f32'), float(2 ** -24)), fraction(w1, 24, 'f32')];
}

/** A normal number of two uniform ones, u in (0, 1] and v in [0, 1). */
export function boxMuller(u: Tensor, v: Tensor): Tensor {
  const radius = op('sqrt', op('mul', float(-2), op('log', u)));
  return op('mul', radius, op('cos', op('mul', float(2 * Math.PI), v)));
}

export function tracedInteger(
  state: Tensor,
  draw: Draw,
  bounds: { readonly low: number; readonly high: number },
): Tensor {
  const [w0, w1] = words(state, countOf(draw.shape), 2) as [Tensor, Tensor];
  const positive = op('add', op('mul', op('bitwiseAnd', w0, 0x7fffffff), 2 ** 32), low(w1));
  return shaped(op('add', op('remainder', positive, bounds.high - bounds.low), bounds.low), draw);
}
