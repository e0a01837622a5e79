// Primitives as JavaScript expressions, for every dtype but i64. In: how the op is spelled in C-like dialects (a prelude function
// has one meaning, see `preludeFunctions`), and texts of its operands, each a name or a literal. Out: an expression of the
// same bits as the op's evaluator; undefined where only the evaluator knows.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { fma64, leastScale, pointwise, primitive } from '@tsinductor/ops';
import type { PointwiseName, ScalarFunction } from '@tsinductor/ops';
import type { KernelText } from './kernel-text.ts';

type Spell = (x: string, y: string) => string;

/** The same at every dtype. */
const plain: Readonly<Record<string, Spell>> = {
  '<': (x, y) => `${x} < ${y} ? 1 : 0`,
  '<=': (x, y) => `${x} <= ${y} ? 1 : 0`,
  '>': (x, y) => `${x} > ${y} ? 1 : 0`,
  '>=': (x, y) => `${x} >= ${y} ? 1 : 0`,
  '==': (x, y) => `${x} === ${y} ? 1 : 0`,
  '!=': (x, y) => `${x} !== ${y} ? 1 : 0`,
  '&': (x, y) => `${x} & ${y}`,
  '|': (x, y) => `${x} | ${y}`,
  '^': (x, y) => `${x} ^ ${y}`,
  'prefix !': (x) => `1 - ${x}`,
};

/** Rounded once to the dtype. */
const rounded: Readonly<Record<string, Spell>> = {
  '+': (x, y) => `${x} + ${y}`,
  '-': (x, y) => `${x} - ${y}`,
  '*': (x, y) => `${x} * ${y}`,
  '/': (x, y) => `${x} / ${y}`,
  sqrt_: (x) => `Math.sqrt(${x})`,
  rem_: (x, y) => `${x} % ${y}`,
};

/** Exact at every float dtype. */
const exact: Readonly<Record<string, Spell>> = {
  'prefix -': (x) => `-${x}`,
  abs_: (x) => `Math.abs(${x})`,
  floor_: (x) => `Math.floor(${x})`,
  ceil_: (x) => `Math.ceil(${x})`,
  trunc_: (x) => `Math.trunc(${x})`,
  max_: (x, y) => `${y} !== ${y} || ${y} > ${x} ? ${y} : ${x}`,
  min_: (x, y) => `${y} !== ${y} || ${y} < ${x} ? ${y} : ${x}`,
  atleast_: (x, y) => `${y} > ${x} ? ${y} : ${x}`,
  atmost_: (x, y) => `${y} < ${x} ? ${y} : ${x}`,
  copysign_: (x, y) => `${y} < 0 || 1 / ${y} < 0 ? -Math.abs(${x}) : Math.abs(${x})`,
};

/** Cut to the width of the dtype afterwards. */
const integers: Readonly<Record<string, Spell>> = {
  '+': (x, y) => `${x} + ${y}`,
  '-': (x, y) => `${x} - ${y}`,
  '*': (x, y) => `Math.imul(${x}, ${y})`,
  'prefix -': (x) => `-${x}`,
  'prefix ~': (x) => `~${x}`,
  abs_: (x) => `Math.abs(${x})`,
  max_: (x, y) => `${y} > ${x} ? ${y} : ${x}`,
  min_: (x, y) => `${y} < ${x} ? ${y} : ${x}`,
  div_: (x, y) => `${x} / ${y}`,
  rem_: (x, y) => `${x} % ${y}`,
  shl_: (x, y) => `${y} >= 0 && ${y} < 32 ? ${x} << ${y} : 0`,
  shr_: (x, y) => `${x} >> (${y} >= 0 && ${y} < 32 ? ${y} : 31)`,
};

/** A number cut to the width of an integer dtype. */
export function wrapped(text: string, dtype: DType): string {
  switch (dtype) {
    case 'i32':
      return `(${text}) | 0`;
    case 'i16':
      return `(${text}) << 16 >> 16`;
    case 'i8':
      return `(${text}) << 24 >> 24`;
    case 'u8':
      return `(${text}) & 255`;
    case 'f64':
    case 'f32':
    case 'f16':
    case 'bf16':
    case 'i64':
    case 'bool':
      return text;
  }
}

/** How the table spells an op. */
export function spellingOf(op: PointwiseName): string {
  const { c } = pointwise[op];
  if (c === undefined) return '';
  if (c.kind === 'call') return c.name;
  return c.kind === 'prefix' ? `prefix ${c.operator}` : c.operator;
}

/** Where an expression is written: it may need names before it. */
export interface Writing {
  readonly kernel: KernelText;
  readonly define: (text: string) => string;
  /** The variable of `Nest.usual`. */
  readonly usual: () => string;
}

/** The expression of an op that computes in `dtype`; undefined where its evaluator is called instead. */
export function expressionOf(
  op: PointwiseName,
  { dtype, args }: { readonly dtype: DType; readonly args: readonly string[] },
  writing: Writing,
): string | undefined {
  const name = spellingOf(op);
  const [x = '', y = '', z = ''] = args;
  if (name === 'where_') return `${x} !== 0 ? ${y} : ${z}`;
  const every = plain[name];
  if (every !== undefined) return every(x, y);
  if (dtype === 'bool') return undefined;
  return isFloat(dtype) ? floatText(name, { dtype, args: [x, y, z] }, writing) : integerText(name, dtype, [x, y]);
}

function integerText(name: string, dtype: DType, [x, y]: readonly [string, string]): string | undefined {
  const spell = integers[name];
  return spell && wrapped(spell(x, y), dtype);
}

function floatText(
  name: string,
  { dtype, args: [x, y, z] }: { readonly dtype: DType; readonly args: readonly [string, string, string] },
  writing: Writing,
): string | undefined {
  if (name === 'fma_') return fusedOf(dtype, [x, y, z], writing);
  if (name === 'scalb_') return scaledOf(dtype, [x, y], writing);
  if (name === 'scalborzero_')
    return `${y} < ${String(leastScale[dtype === 'f64' ? 'f64' : 'f32'])} ? 0 : ${scaledOf(dtype, [x, y], writing)}`;
  if (name === 'exponent_' || name === 'significand_') return partOf(name, dtype, { x, ...writing });
  const once = rounded[name];
  if (once === undefined) return exact[name]?.(x, y);
  return dtype === 'f64' ? once(x, y) : `Math.fround(${once(x, y)})`;
}

/**
 * The product of two f32 is exact in double precision, so x * y + z is rounded twice. That differs from one rounding only
 * where the double lies half way between two f32: its lower 29 bits are 1 and zeros, or it is below the normal f32. There, what
 * the sum has lost decides: the double is moved a little to its side.
 *
 * Note [no calls]: a call in a loop, be it rare, makes V8 keep all values in memory around it. What is rare is arithmetic, too.
 */
function fusedOf(dtype: DType, [x, y, z]: readonly [string, string, string], writing: Writing): string {
  const { kernel, define, usual } = writing;
  if (dtype === 'f64') return `${kernel.helper('fma64', () => fma64)}(${x}, ${y}, ${z})`;
  const { words, halves } = bitsOf(kernel);
  const sum = define(`${words}[0] = ${x} * ${y} + ${z}`);
  const isHalfWay = `(${halves}[0] & 536870911) === 268435456`;
  const isBelowNormal = `(${halves}[1] & 2146435072) < ${usual()}`;
  const product = `${x} * ${y}`;
  const rest = `${sum} - ${product}`;
  const lost = `${product} - (${sum} - (${rest})) + (${z} - (${rest}))`;
  const little = `Math.abs(${sum}) * 2.220446049250313e-16`;
  const moved = `(${lost} > 0 ? ${sum} + ${little} : ${lost} < 0 ? ${sum} - ${little} : ${sum})`;
  return `Math.fround(${isHalfWay} || ${isBelowNormal} ? ${moved} : ${sum})`;
}

/** A double, and its two halves, by which its bits are read. */
function bitsOf(kernel: KernelText): { readonly words: string; readonly halves: string } {
  const words = kernel.helper('words', () => new Float64Array(1));
  const halves = kernel.helper('halves', () => new Int32Array((kernel.value(words) as Float64Array).buffer));
  return { words, halves };
}

/** A table of the powers of two: at f32 the product is exact in double precision, at f64 there are two products as in the evaluator. */
function scaledOf(dtype: DType, [x, y]: readonly [string, string], writing: Writing): string {
  const { kernel, define } = writing;
  const powers = kernel.helper('powersOfTwo', makePowers);
  const evaluator = kernel.helper(`scalb_${dtype}`, () => evaluatorOf('scalb', dtype));
  if (dtype === 'f32')
    return `${y} >= -252 && ${y} <= 252 ? Math.fround(${x} * ${powers}[${y} + 1022]) : ${evaluator}(${x}, ${y})`;
  const half = define(`Math.floor(${y} / 2)`);
  return `${y} >= -2040 && ${y} <= 2040 ? ${x} * ${powers}[${half} + 1022] * ${powers}[${y} - ${half} + 1022] : ${evaluator}(${x}, ${y})`;
}

/** Parts of a normal number by its bits, as the evaluators find them; others are left to these. */
function partOf(
  name: 'exponent_' | 'significand_',
  dtype: DType,
  { x, kernel }: { readonly x: string } & Writing,
): string {
  const { words, halves } = bitsOf(kernel);
  const op = name === 'exponent_' ? 'exponent' : 'significand';
  const evaluator = kernel.helper(`${op}_${dtype}`, () => evaluatorOf(op, dtype));
  const isNormal = `Math.abs(${x}) >= 2.2250738585072014e-308 && Math.abs(${x}) < Infinity`;
  // From 1.5 on a significand is halved.
  const exponent = `(${halves}[1] >>> 20 & 2047) - 1023 + (${halves}[1] >>> 19 & 1)`;
  const upper = `${halves}[1] & 1048575 | 1072693248 - ((${halves}[1] & 524288) << 1)`;
  const part =
    op === 'exponent'
      ? exponent
      : dtype === 'f32'
        ? `Math.abs(${x}) * ${kernel.helper('powersOfTwo', makePowers)}[1022 - (${exponent})]`
        : `${halves}[1] = ${upper}, ${words}[0]`;
  return `${isNormal} ? (${words}[0] = ${x}, ${part}) : ${evaluator}(${x})`;
}

const makePowers = (): Float64Array => {
  const scale = evaluatorOf('scalb', 'f64');
  return Float64Array.from({ length: 2046 }, (_, place) => Number(scale(1, place - 1022)));
};

/** What defines the op: called where no expression does. */
export const evaluatorOf = (op: PointwiseName, dtype: DType): ScalarFunction => primitive(pointwise[op], dtype);
