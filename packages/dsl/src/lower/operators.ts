// JavaScript's operators on blocks, scalars, pointers and known numbers: which op of the pointwise table each one is.
import type { BinaryExpression, UnaryExpression } from 'acorn';
import { isFloat, isInteger } from '@tsinductor/base';
import type { PointwiseName } from '@tsinductor/ops';
import { promoteTypes } from '@tsinductor/ops';
import { asTile, broadcastAll } from './coerce.ts';
import type { Site } from './coerce.ts';
import { faultAt } from './context.ts';
import { applyPointwise } from './pointwise.ts';
import { describeValue, numberValue } from './value.ts';
import type { KernelValue, PointerValue } from './value.ts';

type BinaryOperator = BinaryExpression['operator'];

/** `%` has the sign of the dividend and `/` divides truly, as in JavaScript. */
const binaryOps: Readonly<Partial<Record<BinaryOperator, PointwiseName>>> = {
  '+': 'add',
  '-': 'sub',
  '*': 'mul',
  '/': 'div',
  '%': 'fmod',
  '**': 'pow',
  '&': 'bitwiseAnd',
  '|': 'bitwiseOr',
  '^': 'bitwiseXor',
  '<<': 'bitwiseLeftShift',
  '>>': 'bitwiseRightShift',
  '<': 'lt',
  '<=': 'le',
  '>': 'gt',
  '>=': 'ge',
  '==': 'eq',
  '===': 'eq',
  '!=': 'ne',
  '!==': 'ne',
};

export function binaryOperator(
  operator: BinaryOperator,
  [left, right]: readonly [KernelValue, KernelValue],
  site: Site,
): KernelValue {
  if (left.kind === 'pointer' || right.kind === 'pointer') return pointerArithmetic(operator, [left, right], site);
  const known = compareKnown(operator, left, right);
  if (known !== undefined) return known;
  const op = binaryOps[operator];
  if (op === undefined)
    throw faultAt(site.node, site.context, [
      'KERNEL_SYNTAX',
      `the operator ${operator} is not one of kernels`,
      operator === '>>>' ? 'use >> on signed integers, and mask with &' : 'use arithmetic and comparisons',
    ]);
  return applyPointwise(op, [left, right], site);
}

/** Strings, dtypes and what is undefined are compared when the kernel is compiled. */
function compareKnown(operator: BinaryOperator, left: KernelValue, right: KernelValue): KernelValue | undefined {
  const isEqual = operator === '===' || operator === '==';
  if (!isEqual && operator !== '!==' && operator !== '!=') return undefined;
  const identity = (value: KernelValue): string | undefined => {
    if (value.kind === 'string') return `string ${value.value}`;
    if (value.kind === 'dtype') return `dtype ${value.dtype}`;
    return value.kind === 'undefined' ? 'undefined' : undefined;
  };
  const [a, b] = [identity(left), identity(right)];
  if (a === undefined && b === undefined) return undefined;
  return { kind: 'boolean', value: (a === b) === isEqual };
}

function pointerArithmetic(
  operator: BinaryOperator,
  [left, right]: readonly [KernelValue, KernelValue],
  site: Site,
): KernelValue {
  if (left.kind === 'pointer' && right.kind !== 'pointer' && (operator === '+' || operator === '-'))
    return movePointer(left, right, { site, operator });
  if (right.kind === 'pointer' && left.kind !== 'pointer' && operator === '+')
    return movePointer(right, left, { site, operator });
  throw faultAt(site.node, site.context, [
    'KERNEL_POINTER',
    `${describeValue(left)} ${operator} ${describeValue(right)}: pointers are only moved by whole numbers`,
    'add or subtract an integer offset, and do other arithmetic on offsets',
  ]);
}

function movePointer(
  pointer: PointerValue,
  by: KernelValue,
  { site, operator }: { readonly site: Site; readonly operator: '+' | '-' },
): KernelValue {
  const { builder } = site.context;
  const amount = asTile(by, site);
  if (!isInteger(amount.dtype))
    throw faultAt(site.node, site.context, [
      'KERNEL_POINTER',
      `${describeValue(pointer)} ${operator} ${describeValue(by)}: an offset is a whole number`,
      isFloat(amount.dtype) ? 'cast it with tl.cast(offset, tl.i32)' : 'use tl.where to choose an offset',
    ]);
  const dtype = promoteTypes(promoteTypes(pointer.offsets.dtype, amount.dtype), 'i32');
  const [from, distance] = broadcastAll([pointer.offsets, amount], site).map((tile) => builder.cast(tile, dtype));
  const offsets = builder.apply(operator === '+' ? 'add' : 'sub', [from ?? pointer.offsets, distance ?? amount]);
  return { ...pointer, offsets };
}

const unaryOps: Readonly<Partial<Record<UnaryExpression['operator'], PointwiseName>>> = {
  '-': 'neg',
  '+': 'positive',
  '~': 'bitwiseNot',
  '!': 'logicalNot',
};

export function unaryOperator(operator: UnaryExpression['operator'], value: KernelValue, site: Site): KernelValue {
  if (operator === 'void') return { kind: 'undefined' };
  if (value.kind === 'number') {
    if (operator === '-') return numberValue(-value.value);
    if (operator === '+') return value;
    if (operator === '~') return numberValue(~value.value);
  }
  const op = unaryOps[operator];
  if (op === undefined)
    throw faultAt(site.node, site.context, [
      'KERNEL_SYNTAX',
      `the operator ${operator} is not one of kernels`,
      'use arithmetic, comparisons and the operations of tl',
    ]);
  return applyPointwise(op, [value], site);
}

/** `&&` and `||` of blocks are element by element; `left` is not known (where it is, only one side is lowered). */
export function logicalOperator(
  operator: '&&' | '||',
  [left, right]: readonly [KernelValue, KernelValue],
  site: Site,
): KernelValue {
  return applyPointwise(operator === '&&' ? 'logicalAnd' : 'logicalOr', [left, right], site);
}
