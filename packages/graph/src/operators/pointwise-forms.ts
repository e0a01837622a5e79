// Pointwise functions whose public form has attributes or defaults (add's alpha, div's rounding mode, clamp's bounds),
// and those of several ops. Where a name is also in the table of @tsinductor/ops, this is what users call.
import { dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { resultType } from '@tsinductor/ops';
import type { Operand } from '@tsinductor/ops';
import type { ArgumentReader } from '../argument-reader.ts';
import { isScalar, scalarNumber } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float } from '../composer.ts';
import { composite, floats, numbers, oneOf } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, dtypeMismatch, dtypeUnsupported } from '../errors.ts';
import { requireFits } from '../scalar-range.ts';
import type { ForwardBound } from '../forward-bound.ts';
import type { ScalarRef, ValueRef } from '../graph.ts';
import { sameShape } from '../shape.ts';
import * as bounds from './pointwise-bounds.ts';

type OperandRef = ValueRef | ScalarRef;

const SCALAR_DTYPE = { bool: 'bool', int: 'i64', float: 'f32' } as const;

function asOperand(c: Composer, x: OperandRef): Operand {
  if (isScalar(x)) return { dtype: SCALAR_DTYPE[x.category], rank: 'scalar' };
  return { dtype: c.dtype(x), rank: c.rank(x) === 0 ? 'zeroDim' : 'tensor' };
}

/** The dtype that operands have together. */
const promoted = (c: Composer, ...operands: readonly OperandRef[]): DType =>
  resultType(operands.map((x) => asOperand(c, x)));

/** An operand as a tensor of this dtype. */
const asTensor = (c: Composer, x: OperandRef, dtype: DType): ValueRef =>
  isScalar(x) ? c.full(x, [], dtype) : c.cast(x, dtype);

/** Operands in the dtype in which the arithmetic of `dtype` is done. */
const wideOperand = (c: Composer, x: OperandRef, dtype: DType): ValueRef => asTensor(c, x, dtypeInfo[dtype].compute);

/** add and sub: input plus or minus alpha times other. */
function scaledBinary(name: 'add' | 'sub', doc: string, accuracy: readonly ForwardBound[]): Entry {
  return composite(
    name,
    {
      signature: 'input: operand, other: operand, *, alpha: scalar = 1',
      doc,
      torch: name,
      kind: 'pointwise',
      inPlace: true,
      accuracy,
    },
    (c, a) => combine(c, name, { input: a.operand('input'), other: a.operand('other'), alpha: a.scalar('alpha') }),
  );
}

function combine(
  c: Composer,
  target: 'add' | 'sub',
  { input, other, alpha }: { input: OperandRef; other: OperandRef; alpha: ScalarRef },
): ValueRef {
  if (isScalar(input) && isScalar(other)) return c.op(target, input, other);
  const dtype = promoted(c, input, other);
  if (target === 'sub' && [input, other].some((x) => (isScalar(x) ? x.category : c.dtype(x)) === 'bool'))
    throw dtypeUnsupported('sub', 'bool', 'cast it first, or use logicalXor or logicalNot');
  if (scalarNumber(alpha) === 1) return c.op(target, input, other);
  if (!isFloat(dtype) && alpha.category === 'float')
    throw dtypeMismatch(target, `alpha is a float, the result is ${dtype}`);
  const [x, y] = [wideOperand(c, input, dtype), wideOperand(c, other, dtype)];
  return c.cast(c.op(target, x, c.op('mul', y, c.full(alpha, [], c.dtype(y)))), dtype);
}

const DIVISIONS: Readonly<Record<string, string>> = { trunc: 'divTrunc', floor: 'divFloor' };

const div = composite(
  'div',
  {
    signature: `input: operand, other: operand, *, roundingMode: ${oneOf(Object.keys(DIVISIONS))} = null`,
    doc: 'Quotient; of integers in floats unless it is rounded.',
    torch: ['div'],
    kind: 'pointwise',
    accuracy: bounds.divBounds,
    inPlace: true,
  },
  (c, a) => {
    const mode = a.optionalString('roundingMode');
    const target = mode === undefined ? 'div' : DIVISIONS[mode];
    if (target === undefined) throw argumentValue('div', `roundingMode ${String(mode)}`, 'use trunc, floor or null');
    return c.op(target, a.operand('input'), a.operand('other'));
  },
);

/** A whole number that is a bound of integers is one of them. */
function requireHeld(c: Composer, input: ValueRef, bound: OperandRef): void {
  const dtype = c.dtype(input);
  if (isScalar(bound) && bound.category === 'int' && !isFloat(dtype)) requireFits('clamp', bound, dtype);
}

function clamp(c: Composer, a: ArgumentReader): ValueRef {
  const [input, min, max] = [a.tensor('input'), a.optionalOperand('min'), a.optionalOperand('max')];
  if (min === undefined && max === undefined) throw argumentValue('clamp', 'neither min nor max', 'give at least one');
  for (const bound of [min, max]) if (bound !== undefined) requireHeld(c, input, bound);
  const low = min === undefined ? input : c.op('maximum', input, min);
  return max === undefined ? low : c.op('minimum', low, max);
}

function round(c: Composer, a: ArgumentReader): ValueRef {
  const [input, decimals] = [a.tensor('input'), a.int('decimals')];
  if (decimals === 0) return c.op('round', input);
  if (!isFloat(c.dtype(input))) throw dtypeUnsupported('round with decimals', c.dtype(input), floats);
  const [x, scale] = [c.widen(input), float(10 ** Math.abs(decimals))];
  const rounded =
    decimals > 0
      ? c.op('div', c.op('round', c.op('mul', x, scale)), scale)
      : c.op('mul', c.op('round', c.op('div', x, scale)), scale);
  return c.cast(rounded, c.dtype(input));
}

const LARGEST: Readonly<Partial<Record<DType, number>>> = {
  f64: Number.MAX_VALUE,
  f32: 3.4028234663852886e38,
  f16: 65504,
  bf16: 3.3895313892515355e38,
};

function nanToNum(c: Composer, a: ArgumentReader): ValueRef {
  const x = a.tensor('input');
  const largest = LARGEST[c.dtype(x)];
  if (largest === undefined) return c.call('clone', [x]);
  const [nan, up, down] = [
    a.optionalFloat('nan') ?? 0,
    a.optionalFloat('posinf') ?? largest,
    a.optionalFloat('neginf') ?? -largest,
  ];
  const finite = c.where(c.op('isposinf', x), float(up), c.where(c.op('isneginf', x), float(down), x));
  return c.where(c.op('isnan', x), float(nan), finite);
}

function logit(c: Composer, a: ArgumentReader): ValueRef {
  const [input, eps] = [c.toFloat(a.tensor('input')), a.optionalFloat('eps')];
  if (eps === undefined) return c.op('logit', input);
  const held = c.op('minimum', c.op('maximum', c.widen(input), float(eps)), float(1 - eps));
  return c.cast(c.op('logit', held), c.dtype(input));
}

function isclose(c: Composer, a: ArgumentReader): ValueRef {
  const [input, other, rtol, atol] = [a.tensor('input'), a.tensor('other'), a.float('rtol'), a.float('atol')];
  if (c.dtype(input) !== c.dtype(other))
    throw dtypeMismatch('isclose', `the tensors are ${c.dtype(input)} and ${c.dtype(other)}`);
  if (!(rtol >= 0 && atol >= 0)) throw argumentValue('isclose', 'a tolerance is negative', 'tolerances are 0 or more');
  const equal = c.op('eq', input, other);
  const same =
    a.bool('equalNan') && isFloat(c.dtype(input))
      ? c.op('logicalOr', equal, c.op('logicalAnd', c.op('isnan', input), c.op('isnan', other)))
      : equal;
  if (rtol === 0 && atol === 0) return same;
  const wide: DType = isFloat(c.dtype(input)) ? dtypeInfo[c.dtype(input)].compute : 'f64';
  const [x, y] = [c.cast(input, wide), c.cast(other, wide)];
  const difference = c.op('abs', c.op('sub', x, y));
  const allowed = c.op('add', c.op('abs', c.op('mul', y, float(rtol))), float(atol));
  return c.op('logicalOr', same, c.op('logicalAnd', c.op('isfinite', difference), c.op('le', difference, allowed)));
}

/** input + value * (tensor1 op tensor2). */
const ternaryForm = (name: 'addcmul' | 'addcdiv', target: 'mul' | 'div', doc: string): Entry =>
  composite(
    name,
    {
      signature: 'input: tensor, tensor1: tensor, tensor2: tensor, *, value: scalar = 1',
      doc,
      kind: 'pointwise',
      accuracy: target === 'mul' ? bounds.addcmulBounds : bounds.addcdivBounds,
      inPlace: true,
    },
    (c, a) => {
      const [x, first, second] = [a.tensor('input'), a.tensor('tensor1'), a.tensor('tensor2')];
      const dtype = promoted(c, x, first, second);
      const isWhole = [first, second].every((each) => !isFloat(c.dtype(each)));
      if (target === 'div' && isWhole) throw dtypeUnsupported('addcdiv', c.dtype(second), 'cast one tensor to a float');
      const [wideX, left, right] = [
        wideOperand(c, x, dtype),
        wideOperand(c, first, dtype),
        wideOperand(c, second, dtype),
      ];
      const value = c.full(a.scalar('value'), [], c.dtype(left));
      const product = c.op(target, c.op('mul', value, left), right);
      return c.cast(c.op('add', wideX, product), dtype);
    },
  );

/** sum of lgamma(x - i / 2), and a constant. */
function mvlgamma(c: Composer, a: ArgumentReader): ValueRef {
  const [input, p] = [c.toFloat(a.tensor('input')), a.int('p')];
  if (p < 1) throw argumentValue('mvlgamma', `p is ${String(p)}`, 'it is positive');
  const x = c.widen(input);
  const terms = Array.from({ length: p }, (_, i) => c.op('lgamma', c.op('sub', x, float(i / 2))));
  return c.cast(c.op('add', c.fold('add', terms), float((p * (p - 1) * Math.log(Math.PI)) / 4)), c.dtype(input));
}

function polygamma(c: Composer, a: ArgumentReader): ValueRef {
  const [n, input] = [a.int('n'), c.toFloat(a.tensor('input'))];
  if (n < 0) throw argumentValue('polygamma', `n is ${String(n)}`, 'it is not negative');
  if (n === 0) return c.op('digamma', input);
  const factorial = Array.from({ length: n }, (_, i) => i + 1).reduce((all, i) => all * i, 1);
  const x = c.widen(input);
  const value = c.op('mul', c.op('zeta', float(n + 1), x), float(n % 2 === 1 ? factorial : -factorial));
  // PyTorch has the limit at infinity for n = 1 only, and no value at minus infinity there.
  const upper = c.where(c.op('isposinf', x), c.full(float(n === 1 ? 0 : NaN), [], c.dtype(x)), value);
  const result = n === 1 ? c.where(c.op('isneginf', x), c.full(float(NaN), [], c.dtype(x)), upper) : upper;
  return c.cast(result, c.dtype(input));
}

/** 2 to the power of other, times input. */
const ldexp = (c: Composer, a: ArgumentReader): ValueRef =>
  c.op('mul', a.tensor('input'), c.op('pow', float(2), a.operand('other')));

function allEqual(c: Composer, a: ArgumentReader): ValueRef {
  const [x, y] = [a.tensor('input'), a.tensor('other')];
  if (!sameShape(c.sizes, c.shape(x), c.shape(y))) return c.full(false, [], 'bool');
  return c.reduce('all', c.op('eq', x, y));
}

const CLOSE = 'input: tensor, other: tensor, rtol: float = 1e-5, atol: float = 1e-8, equalNan: bool = false';

export const pointwiseForms: readonly Entry[] = [
  scaledBinary('add', 'Sum; other is scaled by alpha.', bounds.scaledSumBounds('add', 1)),
  scaledBinary('sub', 'Difference; other is scaled by alpha.', bounds.scaledSumBounds('sub', -1)),
  composite(
    'rsub',
    {
      signature: 'input: operand, other: operand, *, alpha: scalar = 1',
      doc: 'other minus alpha times input.',
      kind: 'pointwise',
      accuracy: bounds.reversedDifferenceBounds,
    },
    (c, a) => combine(c, 'sub', { input: a.operand('other'), other: a.operand('input'), alpha: a.scalar('alpha') }),
  ),
  div,
  composite(
    'positive',
    { signature: 'input: tensor', doc: 'The tensor itself.', accepts: numbers, inPlace: true, mayAlias: true },
    (_, a) => a.tensor('input'),
  ),
  composite(
    'floorDivide',
    {
      signature: 'input: operand, other: operand',
      doc: 'The quotient, rounded down.',
      kind: 'pointwise',
      accuracy: bounds.floorDivideBounds,
      inPlace: true,
    },
    (c, a) => c.op('divFloor', a.operand('input'), a.operand('other')),
  ),
  composite(
    'clamp',
    {
      signature: 'input: tensor, min: operand? = null, max: operand? = null',
      doc: 'Held between min and max.',
      torch: ['clamp'],
      kind: 'pointwise',
      accuracy: bounds.clampBounds,
      inPlace: true,
    },
    clamp,
  ),
  composite(
    'round',
    {
      signature: 'input: tensor, *, decimals: int = 0',
      doc: 'The nearest integer, ties to even; or to decimals.',
      torch: ['round', 'special.round'],
      kind: 'pointwise',
      accuracy: bounds.roundBounds,
      inPlace: true,
    },
    round,
  ),
  composite(
    'nanToNum',
    {
      signature: 'input: tensor, nan: float? = null, posinf: float? = null, neginf: float? = null',
      doc: 'Numbers in place of NaN and infinities.',
      kind: 'pointwise',
      accuracy: bounds.nanToNumBounds,
      inPlace: true,
    },
    nanToNum,
  ),
  composite(
    'logit',
    {
      signature: 'input: tensor, eps: float? = null',
      doc: 'log(x / (1 - x)).',
      torch: ['logit', 'special.logit'],
      kind: 'pointwise',
      accuracy: bounds.logitBounds,
      inPlace: true,
    },
    logit,
  ),
  composite('isclose', { signature: CLOSE, doc: 'Whether elements are within a tolerance.' }, isclose),
  composite(
    'allclose',
    { signature: CLOSE, doc: 'Whether all elements are within a tolerance.', isAnswer: true },
    (c, a) => c.reduce('all', isclose(c, a)),
  ),
  composite(
    'equal',
    { signature: 'input: tensor, other: tensor', doc: 'Whether shapes and all elements are equal.', isAnswer: true },
    allEqual,
  ),
  ternaryForm('addcmul', 'mul', 'input + value * tensor1 * tensor2.'),
  ternaryForm('addcdiv', 'div', 'input + value * tensor1 / tensor2.'),
  composite(
    'floatPower',
    {
      signature: 'input: operand, exponent: operand',
      doc: 'The power, in f64.',
      kind: 'pointwise',
      inPlace: true,
      accuracy: bounds.floatPowerBounds,
    },
    (c, a) => {
      const exponent = a.operand('exponent');
      return c.op(
        'pow',
        asTensor(c, a.operand('input'), 'f64'),
        isScalar(exponent) ? float(scalarNumber(exponent)) : c.cast(exponent, 'f64'),
      );
    },
  ),
  composite(
    'ldexp',
    {
      signature: 'input: tensor, other: operand',
      doc: 'input times 2 to the power of other.',
      kind: 'pointwise',
      accuracy: bounds.ldexpBounds,
      inPlace: true,
    },
    ldexp,
  ),
  composite(
    'frexp',
    { signature: 'input: tensor', doc: 'Mantissa and exponent.', results: 2, accepts: floats },
    (c, a) => [c.op('frexpMantissa', a.tensor('input')), c.cast(c.op('frexpExponent', a.tensor('input')), 'i32')],
  ),
  composite(
    'mvlgamma',
    {
      signature: 'input: tensor, p: int',
      doc: 'Multivariate log gamma.',
      torch: ['mvlgamma', 'special.multigammaln'],
      kind: 'pointwise',
      accuracy: bounds.mvlgammaBounds,
      inPlace: true,
      accepts: numbers,
    },
    mvlgamma,
  ),
  composite(
    'polygamma',
    {
      signature: 'n: int, input: tensor',
      doc: 'The n-th derivative of digamma.',
      torch: ['polygamma', 'special.polygamma'],
      kind: 'pointwise',
      accuracy: bounds.polygammaBounds,
      forms: ['function'],
    },
    polygamma,
  ),
];
