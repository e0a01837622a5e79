// Primitives as JavaScript expressions, for every dtype but i64. In: how the op is spelled in C-like dialects (a prelude function
// has one meaning, see `preludeFunctions`), and texts of its operands, each a name or a literal. Out: an expression of the
// same bits as the op's evaluator; undefined where only the evaluator knows.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { fma32, fma64, pointwise, primitive } from '@tsinductor/ops';
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
  const once = rounded[name];
  if (once === undefined) return exact[name]?.(x, y);
  return dtype === 'f64' ? once(x, y) : `Math.fround(${once(x, y)})`;
}

/**
 * The product of two f32 is exact in double precision, so x * y + z is rounded twice. That differs from one rounding only
 * where the double lies half way between two f32, r and 2 s - r: there, the exact function decides.
 */
function fusedOf(dtype: DType, [x, y, z]: readonly [string, string, string], { kernel, define }: Writing): string {
  if (dtype === 'f64') return `${kernel.helper('fma64', () => fma64)}(${x}, ${y}, ${z})`;
  const sum = define(`${x} * ${y} + ${z}`);
  const near = define(`Math.fround(${sum})`);
  const other = define(`2 * ${sum} - ${near}`);
  const fused = kernel.helper('fma32', () => fma32);
  return `${near} !== ${sum} && Math.fround(${other}) === ${other} ? ${fused}(${x}, ${y}, ${z}) : ${near}`;
}

/** A table of the powers of two: at f32 the product is exact in double precision, at f64 there are two products as in the evaluator. */
function scaledOf(dtype: DType, [x, y]: readonly [string, string], { kernel, define }: Writing): string | undefined {
  const powers = kernel.helper('powersOfTwo', makePowers);
  const evaluator = kernel.helper(`scalb_${dtype}`, () => evaluatorOf('scalb', dtype));
  if (dtype === 'f32')
    return `${y} >= -252 && ${y} <= 252 ? Math.fround(${x} * ${powers}[${y} + 1022]) : ${evaluator}(${x}, ${y})`;
  const half = define(`Math.floor(${y} / 2)`);
  return `${y} >= -2040 && ${y} <= 2040 ? ${x} * ${powers}[${half} + 1022] * ${powers}[${y} - ${half} + 1022] : ${evaluator}(${x}, ${y})`;
}

const makePowers = (): Float64Array => {
  const scale = evaluatorOf('scalb', 'f64');
  return Float64Array.from({ length: 2046 }, (_, place) => Number(scale(1, place - 1022)));
};

/** What defines the op: called where no expression does. */
export const evaluatorOf = (op: PointwiseName, dtype: DType): ScalarFunction => primitive(pointwise[op], dtype);
