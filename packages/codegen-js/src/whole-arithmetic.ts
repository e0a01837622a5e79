// Primitives on i64. In: values, of which some are exact numbers with bounds. Out: an exact number where the bounds of the result
// say that it is one, else a bigint cut to 64 bits.
//
// A number is never -0: it would be a different float than 0 after a cast.
import { at } from '@tsinductor/base';
import type { PointwiseName } from '@tsinductor/ops';
import { evaluatorOf, spellingOf } from './arithmetic.ts';
import type { Writing } from './arithmetic.ts';
import { isExactWhole } from './casts.ts';
import type { Bounds, Value, WholeValue } from './values.ts';
import { bigintText, isExact, isWord } from './values.ts';

interface Numbers extends Bounds {
  readonly text: string;
}

const spanOf = (values: readonly number[]): Bounds => ({ low: Math.min(...values), high: Math.max(...values) });
type Binary = (x: WholeValue, y: WholeValue) => Numbers | undefined;

const larger = (x: WholeValue, y: WholeValue): Bounds => ({
  low: Math.max(x.low, y.low),
  high: Math.max(x.high, y.high),
});
const smaller = (x: WholeValue, y: WholeValue): Bounds => ({
  low: Math.min(x.low, y.low),
  high: Math.min(x.high, y.high),
});
const isSingle = ({ low, high }: Bounds): boolean => low === high;

/** A quotient of larger numbers could be rounded up to the next integer. */
const mostDivided = 2 ** 51;

const byNumbers: Readonly<Record<string, Binary>> = {
  '+': (x, y) => ({ text: `${x.text} + ${y.text}`, low: x.low + y.low, high: x.high + y.high }),
  '-': (x, y) => ({ text: `${x.text} - ${y.text}`, low: x.low - y.high, high: x.high - y.low }),
  '*': (x, y) => ({
    text: `${x.text} * ${y.text} + 0`,
    ...spanOf([x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high]),
  }),
  'prefix -': (x) => ({ text: `0 - ${x.text}`, low: -x.high, high: -x.low }),
  abs_: (x) => ({ text: `Math.abs(${x.text})`, low: 0, high: Math.max(-x.low, x.high) }),
  max_: (x, y) => ({ text: `${y.text} > ${x.text} ? ${y.text} : ${x.text}`, ...larger(x, y) }),
  min_: (x, y) => ({ text: `${y.text} < ${x.text} ? ${y.text} : ${x.text}`, ...smaller(x, y) }),
  div_: (x, y) => {
    const most = Math.max(-x.low, x.high);
    if (most >= mostDivided) return undefined;
    const [text, quotient] = [`${x.text} / ${y.text}`, { low: x.low >= 0 && y.low >= 0 ? 0 : -most, high: most }];
    if (isWord(x) && isWord(y) && x.low > -(2 ** 31)) return { text: `${text} | 0`, ...quotient };
    return { text: `${y.text} === 0 ? 0 : Math.trunc(${text}) + 0`, ...quotient };
  },
  rem_: (x, y) => {
    const most = Math.max(-x.low, x.high);
    const bounds = { low: x.low >= 0 ? 0 : -most, high: x.high <= 0 ? 0 : most };
    if (isWord(x) && isWord(y)) return { text: `${x.text} % ${y.text} | 0`, ...bounds };
    return { text: `${y.text} === 0 ? 0 : ${x.text} % ${y.text} + 0`, ...bounds };
  },
  '&': (x, y) => {
    if (!isWord(x) || !isWord(y)) return undefined;
    const low = x.low >= 0 || y.low >= 0 ? 0 : -(2 ** 31);
    return { text: `${x.text} & ${y.text}`, low, high: 2 ** 31 - 1 };
  },
  '|': (x, y) => inWords(x, y, '|'),
  '^': (x, y) => inWords(x, y, '^'),
  'prefix ~': (x) => ({ text: `-1 - ${x.text}`, low: -1 - x.high, high: -1 - x.low }),
  shl_: (x, y) => {
    if (!isSingle(y) || y.low < 0 || y.low > 52) return undefined;
    const factor = 2 ** y.low;
    return { text: `${x.text} * ${String(factor)}`, low: x.low * factor, high: x.high * factor };
  },
  shr_: (x, y) => {
    if (!isSingle(y) || y.low < 0 || y.low > 52) return undefined;
    const factor = 2 ** y.low;
    const bounds = { low: Math.floor(x.low / factor), high: Math.floor(x.high / factor) };
    return { text: `Math.floor(${x.text} / ${String(factor)})`, ...bounds };
  },
};

const inWords = (x: WholeValue, y: WholeValue, operator: string): Numbers | undefined =>
  isWord(x) && isWord(y)
    ? { text: `${x.text} ${operator} ${y.text}`, low: x.low >= 0 && y.low >= 0 ? 0 : -(2 ** 31), high: 2 ** 31 - 1 }
    : undefined;

const comparisons: Readonly<Record<string, string>> = {
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
  '==': '===',
  '!=': '!==',
};

const byBigints: Readonly<Record<string, (x: string, y: string) => string>> = {
  '+': (x, y) => `${x} + ${y}`,
  '-': (x, y) => `${x} - ${y}`,
  '*': (x, y) => `${x} * ${y}`,
};

/** An op whose operands are i64, the condition of a select apart. */
export function wholeOf(op: PointwiseName, args: readonly Value[], writing: Writing): Value {
  const level = Math.max(0, ...args.map((arg) => arg.level));
  const spelling = spellingOf(op);
  const compare = comparisons[spelling];
  if (compare !== undefined) return { kind: 'number', text: `${compared(args, compare)} ? 1 : 0`, level };
  if (spelling === 'where_') return selected(args, level);
  const known = numbersOf(spelling, args);
  if (known !== undefined && isExact(known)) return { kind: 'whole', level, ...known };
  const texts = args.map(bigintText);
  const spelled = byBigints[spelling]?.(texts[0] ?? '', texts[1] ?? '');
  if (spelled !== undefined) return { kind: 'bigint', text: `BigInt.asIntN(64, ${spelled})`, level };
  const evaluator = writing.kernel.helper(`${op}_i64`, () => evaluatorOf(op, 'i64'));
  return { kind: 'bigint', text: `${evaluator}(${texts.join(', ')})`, level };
}

function numbersOf(spelling: string, [x, y = x]: readonly Value[]): Numbers | undefined {
  if (x === undefined || y === undefined || !isExactWhole(x) || !isExactWhole(y)) return undefined;
  return byNumbers[spelling]?.(x, y);
}

function selected(args: readonly Value[], level: number): Value {
  const [condition, yes, no] = [at(args, 0), at(args, 1), at(args, 2)];
  if (yes.kind === 'whole' && no.kind === 'whole') {
    const bounds = { low: Math.min(yes.low, no.low), high: Math.max(yes.high, no.high) };
    return { kind: 'whole', text: `${condition.text} !== 0 ? ${yes.text} : ${no.text}`, level, ...bounds };
  }
  return { kind: 'bigint', text: `${condition.text} !== 0 ? ${bigintText(yes)} : ${bigintText(no)}`, level };
}

function compared(args: readonly Value[], operator: string): string {
  const [left, right] = [at(args, 0), at(args, 1)];
  if (left.kind === 'whole' && right.kind === 'whole') return `${left.text} ${operator} ${right.text}`;
  const words = [halvesOf(left), halvesOf(right)] as const;
  if (words[0] !== undefined && words[1] !== undefined) return comparedWords(words[0], words[1], operator);
  return `${bigintText(left)} ${operator} ${bigintText(right)}`;
}

/** An i64 as two signed words, where it is at hand as such. */
interface Halves {
  readonly lower: string;
  readonly upper: string;
}

function halvesOf(value: Value): Halves | undefined {
  if (value.kind === 'words') return value;
  if (value.kind !== 'whole' || !isWord(value)) return undefined;
  return { lower: value.text, upper: value.low >= 0 ? '0' : `(${value.text} >> 31)` };
}

/** The upper words decide, and where they are equal the lower ones, which have no sign. No bigint is made. */
function comparedWords(x: Halves, y: Halves, operator: string): string {
  if (operator === '===') return `${x.lower} === ${y.lower} && ${x.upper} === ${y.upper}`;
  if (operator === '!==') return `${x.lower} !== ${y.lower} || ${x.upper} !== ${y.upper}`;
  const strict = operator.slice(0, 1);
  return `${x.upper} ${strict} ${y.upper} || ${x.upper} === ${y.upper} && (${x.lower} >>> 0) ${operator} (${y.lower} >>> 0)`;
}
