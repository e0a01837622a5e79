// Tensors from nothing, and casts. Sizes, values and counts are attributes, so that every result is `full`, `iota` or
// arithmetic on them.
import { dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { int, printIndex } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { ArgumentReader } from '../argument-reader.ts';
import { isScalar, isSizeAttr, scalarNumber } from '../argument-reader.ts';
import { float } from '../composer.ts';
import type { Composer } from '../composer.ts';
import { MEMORY_FORMAT, composite } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue } from '../errors.ts';
import type { ScalarRef, ValueRef } from '../graph.ts';
import { requireFits } from '../scalar-range.ts';
import { range, stepCount, zero } from '../shape.ts';
import type { Shape } from '../shape.ts';

const CATEGORY_DTYPE: Readonly<Record<ScalarRef['category'], DType>> = { bool: 'bool', int: 'i64', float: 'f32' };

const OPTIONS = '*, dtype: dtype = null';
const LIKE = `${OPTIONS}, ${MEMORY_FORMAT}`;

/** zeros, ones, empty: by size, like a tensor, or from a tensor (`new`). */
function filled(name: string, value: number): readonly Entry[] {
  const doc =
    value === 1 ? 'Ones.' : name === 'empty' ? 'Zeros: memory is never handed out with old contents.' : 'Zeros.';
  const upper = name.slice(0, 1).toUpperCase() + name.slice(1);
  return [
    composite(name, { signature: `...size: sizes, ${OPTIONS}`, doc, kind: 'creation', forms: ['function'] }, (c, a) =>
      c.full(value, nonNegative(a), a.dtype() ?? 'f32'),
    ),
    composite(
      `${name}Like`,
      { signature: `input: tensor, ${LIKE}`, doc: `${doc} In the shape and dtype of a tensor.`, kind: 'creation' },
      (c, a) => c.full(value, c.shape(a.tensor('input')), a.dtype() ?? c.dtype(a.tensor('input'))),
    ),
    composite(
      `new${upper}`,
      {
        signature: `input: tensor, ...size: sizes, ${OPTIONS}`,
        doc: `${doc} In the dtype of a tensor.`,
        kind: 'creation',
        torch: `Tensor.new_${name}`,
        forms: ['method'],
      },
      (c, a) => c.full(value, nonNegative(a), a.dtype() ?? c.dtype(a.tensor('input'))),
    ),
  ];
}

function nonNegative(a: ArgumentReader): Shape {
  const shape = a.sizes('size');
  const negative = shape.find((size) => size.kind === 'int' && size.value < 0);
  if (negative !== undefined)
    throw argumentValue(a.operator.name, `a size is ${printIndex(negative)}`, 'sizes are 0 or more');
  return shape;
}

interface Progression {
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/** The number of steps, in the arithmetic that PyTorch uses for the dtype. */
function arangeLength({ start, end, step }: Progression): number {
  if (step === 0) throw argumentValue('arange', 'step is 0', 'use another step');
  if (![start, end, step].every(Number.isFinite))
    throw argumentValue('arange', 'a bound is not finite', 'use finite bounds');
  if ((step > 0 && end < start) || (step < 0 && end > start))
    throw argumentValue(
      'arange',
      `from ${String(start)} to ${String(end)} by ${String(step)}`,
      'the step has the wrong sign',
    );
  return Math.ceil((end - start) / step);
}

/** The same where a bound is a symbolic size: the numbers are whole then. */
function arangeOfSizes(c: Composer, a: ArgumentReader, dtype: DType): ValueRef {
  const bound = (name: string): Index | undefined => {
    const attr = a.attr(name);
    return attr === null ? undefined : isScalar(attr) ? int(scalarNumber(attr)) : a.size(name);
  };
  const [first, second, step] = [bound('start'), bound('end'), scalarNumber(a.scalar('step'))];
  const [start, end] = second === undefined ? [zero, first ?? zero] : [first ?? zero, second];
  if (!Number.isInteger(step) || step < 1 || !c.sizes.atMost(start, end))
    throw argumentValue('arange', `a step of ${String(step)} over symbolic sizes`, 'use a positive step, upwards');
  return c.iota(stepCount(start, end, step), dtype, { start, step });
}

function arange(c: Composer, a: ArgumentReader): ValueRef {
  const given = ['start', 'end', 'step'].map((name) => a.attr(name)).filter(isScalar);
  const dtype = a.dtype() ?? (given.some(({ category }) => category === 'float') ? 'f32' : 'i64');
  if (isSizeAttr(a.attr('start')) || isSizeAttr(a.attr('end'))) return arangeOfSizes(c, a, dtype);
  const asked = progressionOf(a);
  const truncated = { start: Math.trunc(asked.start), end: Math.trunc(asked.end), step: Math.trunc(asked.step) };
  const length = arangeLength(dtype === 'i64' ? truncated : asked);
  return c.iota(int(length), dtype, isFloat(dtype) ? asked : truncated);
}

/** One bound alone is the end. */
function progressionOf(a: ArgumentReader): Progression {
  const number = (name: string): number | undefined =>
    a.attr(name) === null ? undefined : scalarNumber(a.scalar(name));
  const [first, second, step = 1] = [number('start'), number('end'), number('step')];
  if (first === undefined && second === undefined) throw argumentValue('arange', 'no end', 'give an end');
  return second === undefined ? { start: 0, end: first ?? 0, step } : { start: first ?? 0, end: second, step };
}

/** Evenly spaced values in a dtype wide enough; the second half counts back from the end, so that both ends are exact. */
function spaced(c: Composer, a: ArgumentReader, dtype: DType): ValueRef {
  const steps = a.int('steps');
  if (steps < 0) throw argumentValue(a.operator.name, `${String(steps)} steps`, 'steps is 0 or more');
  // PyTorch takes the ends in the dtype of the result.
  const ends = [a.float('start'), a.float('end')];
  const [start = 0, end = 0] = isFloat(a.dtype() ?? 'f32') ? ends : ends.map(Math.trunc);
  if (steps === 1) return c.full(float(start), [int(1)], dtype);
  const step = (end - start) / (steps - 1);
  const index = c.iota(int(steps), dtype);
  const [up, down] = [
    c.op('add', c.op('mul', index, float(step)), float(start)),
    c.op('sub', float(end), c.op('mul', c.op('sub', float(steps - 1), index), float(step))),
  ];
  return c.where(c.op('lt', index, float(Math.floor(steps / 2))), up, down);
}

/** Bytes that PyTorch computes at once, and how many times it does before it asks how many are left. */
const RUN = { bytes: 32, unrolled: 2 };

/**
 * Evenly spaced integers. The numbers are those of PyTorch's kernel, which works on runs of as many elements as 32 bytes
 * hold: the first of a run is truncated to an integer, the others are counted on from it, so with c the first index of
 * the run of i:  trunc(trunc(start + c step) + (i - c) step), from the end for the second half. Where fewer elements
 * are left than two runs have, each is a run of its own. The first of a run has one rounding (fma).
 */
function spacedIntegers(c: Composer, a: ArgumentReader, dtype: DType): ValueRef {
  const steps = a.int('steps');
  const [start, end] = [Math.trunc(a.float('start')), Math.trunc(a.float('end'))];
  if (steps < 2) return c.cast(spaced(c, a, 'f64'), dtype);
  const step = (end - start) / (steps - 1);
  const lanes = RUN.bytes / dtypeInfo[dtype].bytes;
  const inRuns = steps - (steps % (lanes * RUN.unrolled));
  const index = c.iota(int(steps), 'f64');
  const first = c.op('mul', c.op('floor', c.op('mul', index, float(1 / lanes))), float(lanes));
  const run = c.where(c.op('lt', index, float(inRuns)), first, index);
  const up = c.op('fma', run, c.full(float(step), [], 'f64'), c.full(float(start), [], 'f64'));
  const left = c.op('sub', float(steps - 1), run);
  const down = c.op('fma', left, c.full(float(-step), [], 'f64'), c.full(float(end), [], 'f64'));
  const base = c.op('trunc', c.where(c.op('lt', run, float(Math.floor(steps / 2))), up, down));
  return c.cast(c.op('add', base, c.op('mul', c.op('sub', index, run), float(step))), dtype);
}

/** f32 for the floats that it holds, f64 for f64 and for integers. */
const spacing = (dtype: DType): DType => (isFloat(dtype) && dtype !== 'f64' ? 'f32' : 'f64');

function eye(c: Composer, a: ArgumentReader): ValueRef {
  const [n, m] = [a.int('n'), a.optionalInt('m') ?? a.int('n')];
  if (n < 0 || m < 0) throw argumentValue('eye', `a size is ${String(Math.min(n, m))}`, 'sizes are 0 or more');
  return c.cast(c.op('eq', c.unsqueeze(c.iota(int(n)), 1), c.iota(int(m))), a.dtype() ?? 'f32');
}

/** Row and column numbers of a triangle, row by row. */
function triangle(name: 'trilIndices' | 'triuIndices'): Entry {
  return composite(
    name,
    {
      signature: `row: int, col: int, offset: int = 0, ${OPTIONS}`,
      doc: `Row and column numbers of the ${name === 'trilIndices' ? 'lower' : 'upper'} triangle.`,
      kind: 'creation',
      forms: ['function'],
    },
    (c, a) => {
      const [rows, columns, offset] = [a.int('row'), a.int('col'), a.int('offset')];
      if (rows < 0 || columns < 0)
        throw argumentValue(name, `a size is ${String(Math.min(rows, columns))}`, 'sizes are 0 or more');
      const dtype = a.dtype() ?? 'i64';
      const spans = range(rows).map((row) => {
        const diagonal = Math.min(Math.max(row + offset, -1), columns);
        return name === 'trilIndices'
          ? { row, start: 0, end: Math.min(diagonal + 1, columns) }
          : { row, start: Math.max(diagonal, 0), end: columns };
      });
      const kept = spans.filter(({ start, end }) => end > start);
      if (kept.length === 0) return c.full(0, [int(2), int(0)], dtype);
      const rowNumbers = c.cat(
        kept.map(({ row, start, end }) => c.full(row, [int(end - start)], dtype)),
        0,
      );
      const columnNumbers = c.cat(
        kept.map(({ start, end }) => c.iota(int(end - start), dtype, { start })),
        0,
      );
      return c.call('stack', [[rowNumbers, columnNumbers]], { dim: 0 });
    },
  );
}

const CASTS: Readonly<Record<string, DType>> = {
  float: 'f32',
  double: 'f64',
  half: 'f16',
  bfloat16: 'bf16',
  long: 'i64',
  int: 'i32',
  short: 'i16',
  char: 'i8',
  byte: 'u8',
  bool: 'bool',
};

const casts: readonly Entry[] = Object.entries(CASTS).map(([name, dtype]) =>
  composite(
    name,
    {
      signature: `input: tensor, *, ${MEMORY_FORMAT}`,
      doc: `The elements as ${dtype}.`,
      torch: `Tensor.${name}`,
      forms: ['method'],
      mayAlias: true,
    },
    (c, a) => c.cast(a.tensor('input'), dtype),
  ),
);

const convert = (c: Composer, a: ArgumentReader, dtype: DType): ValueRef =>
  a.bool('copy') ? c.call('cast', [a.tensor('input')], { dtype: { dtype } }) : c.cast(a.tensor('input'), dtype);

const COPYING = `nonBlocking: bool = false, copy: bool = false, *, ${MEMORY_FORMAT}`;

/** The scalar, which must be one that the dtype can hold. */
function fitting(operator: string, value: ScalarRef, dtype: DType): ScalarRef {
  requireFits(operator, value, dtype);
  return value;
}

const filledWith = (c: Composer, a: ArgumentReader, { shape, dtype }: { shape: Shape; dtype: DType }): ValueRef =>
  c.full(fitting(a.operator.name, a.scalar('fillValue'), dtype), shape, dtype);

/** A value in x's dtype: a number, or a tensor without dims. */
export function valueLike(
  c: Composer,
  x: ValueRef,
  { operator, value }: { operator: string; value: ValueRef | ScalarRef },
): ValueRef {
  if (isScalar(value)) return c.full(fitting(operator, value, c.dtype(x)), [], c.dtype(x));
  if (c.rank(value) > 0)
    throw argumentValue(operator, 'the value is a tensor with dims', 'give a number or a 0-d tensor');
  return c.cast(value, c.dtype(x));
}

export const creationEntries: readonly Entry[] = [
  ...filled('zeros', 0),
  ...filled('ones', 1),
  ...filled('empty', 0),
  composite(
    'full',
    {
      signature: `size: sizes, fillValue: scalar, ${OPTIONS}`,
      doc: 'One value.',
      kind: 'creation',
      forms: ['function'],
    },
    (c, a) =>
      filledWith(c, a, { shape: nonNegative(a), dtype: a.dtype() ?? CATEGORY_DTYPE[a.scalar('fillValue').category] }),
  ),
  composite(
    'fullLike',
    {
      signature: `input: tensor, fillValue: scalar, ${LIKE}`,
      doc: 'One value, in the shape and dtype of a tensor.',
      kind: 'creation',
    },
    (c, a) => filledWith(c, a, { shape: c.shape(a.tensor('input')), dtype: a.dtype() ?? c.dtype(a.tensor('input')) }),
  ),
  composite(
    'newFull',
    {
      signature: `input: tensor, size: sizes, fillValue: scalar, ${OPTIONS}`,
      doc: 'One value, in the dtype of a tensor.',
      kind: 'creation',
      torch: 'Tensor.new_full',
      forms: ['method'],
    },
    (c, a) => filledWith(c, a, { shape: nonNegative(a), dtype: a.dtype() ?? c.dtype(a.tensor('input')) }),
  ),
  composite(
    'arange',
    {
      signature: `start: scalar? = null, end: scalar? = null, step: scalar = 1, ${OPTIONS}`,
      doc: 'start, start + step ... before end. One bound alone is the end.',
      kind: 'creation',
      forms: ['function'],
    },
    arange,
  ),
  composite(
    'linspace',
    {
      signature: `start: scalar, end: scalar, steps: int, ${OPTIONS}`,
      doc: 'Evenly spaced values, both ends included.',
      kind: 'creation',
      forms: ['function'],
    },
    (c, a) => {
      const dtype = a.dtype() ?? 'f32';
      return isFloat(dtype) ? c.cast(spaced(c, a, spacing(dtype)), dtype) : spacedIntegers(c, a, dtype);
    },
  ),
  composite(
    'logspace',
    {
      signature: `start: scalar, end: scalar, steps: int, base: float = 10.0, ${OPTIONS}`,
      doc: 'base to the power of evenly spaced values.',
      kind: 'creation',
      forms: ['function'],
    },
    (c, a) => {
      const dtype = a.dtype() ?? 'f32';
      return c.cast(c.op('pow', float(a.float('base')), spaced(c, a, spacing(dtype))), dtype);
    },
  ),
  composite(
    'eye',
    {
      signature: `n: int, m: int? = null, ${OPTIONS}`,
      doc: 'Ones on the diagonal.',
      kind: 'creation',
      forms: ['function'],
    },
    eye,
  ),
  triangle('trilIndices'),
  triangle('triuIndices'),
  ...casts,
  composite(
    'to',
    {
      signature: `input: tensor, dtype: dtype, ${COPYING}`,
      doc: 'The elements in another dtype.',
      torch: 'Tensor.to',
      forms: ['method'],
      mayAlias: true,
      overloads: ['toOther'],
    },
    (c, a) => convert(c, a, a.dtype() ?? c.dtype(a.tensor('input'))),
  ),
  composite(
    'toOther',
    {
      signature: `input: tensor, other: tensor, ${COPYING}`,
      doc: 'The elements in the dtype of another tensor.',
      torch: [],
      forms: [],
      mayAlias: true,
    },
    (c, a) => convert(c, a, c.dtype(a.tensor('other'))),
  ),
  composite('clone', { signature: `input: tensor, *, ${MEMORY_FORMAT}`, doc: 'A copy.' }, (c, a) =>
    c.call('cast', [a.tensor('input')], { dtype: { dtype: c.dtype(a.tensor('input')) } }),
  ),
  composite(
    'fill',
    {
      signature: 'input: tensor, value: operand',
      doc: 'One value everywhere; fill_ writes it.',
      torch: ['Tensor.fill_', 'fill'],
      inPlace: true,
      isUniform: true,
    },
    (c, a) => {
      const [x, value] = [a.tensor('input'), a.operand('value')];
      return isScalar(value)
        ? c.full(fitting('fill', value, c.dtype(x)), c.shape(x), c.dtype(x))
        : c.expand(valueLike(c, x, { operator: 'fill', value }), c.shape(x));
    },
  ),
  composite(
    'zero',
    {
      signature: 'input: tensor',
      doc: 'Zeros everywhere; zero_ writes them.',
      torch: ['Tensor.zero_'],
      forms: [],
      inPlace: true,
      isUniform: true,
    },
    (c, a) => c.full(0, c.shape(a.tensor('input')), c.dtype(a.tensor('input'))),
  ),
];
