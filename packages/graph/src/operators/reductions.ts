// Reductions as PyTorch offers them. The table of @tsinductor/ops gives the primitive ones; means, variances and norms
// are built on those. f16 and bf16 are summed in f32 and rounded once, as PyTorch's kernels do.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Index } from '@tsinductor/ir';
import { reductions } from '@tsinductor/ops';
import type { ReductionOp } from '@tsinductor/ops';
import type { ArgumentReader } from '../argument-reader.ts';
import { float } from '../composer.ts';
import type { Composer, OperandLike, Over } from '../composer.ts';
import { composite, floats, numbers, primitive } from '../define.ts';
import type { Entry } from '../define.ts';
import { dtypeUnsupported, emptyReduction, shapeMismatch, printShape } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { contiguousMeta, one, range } from '../shape.ts';

const reduction = (op: ReductionOp): Entry =>
  primitive(
    op.name,
    { signature: 'input: tensor, dims: ints, keepdim: bool', doc: op.doc, kind: 'reduction', torch: [], forms: [] },
    {
      levels: ['primitive'],
      infer: (context, a) => {
        const { shape, dtype } = context.metaOf(a.tensor('input'));
        const dims = a.ints('dims');
        if (op.accepts !== undefined && !op.accepts.includes(dtype)) throw dtypeUnsupported(op.name, dtype, op.accepts);
        const kept = a.bool('keepdim')
          ? shape.map((size, axis) => (dims.includes(axis) ? one : size))
          : shape.filter((_, axis) => !dims.includes(axis));
        return contiguousMeta(kept, op.result(dtype));
      },
    },
  );

export const reductionPrimitives: readonly Entry[] = Object.values(reductions).map(reduction);

/** What most reductions are called with. */
const DIMS = 'input: tensor, dim: dims = null, keepdim: bool = false';
const DIMS_DTYPE = `${DIMS}, *, dtype: dtype = null`;
/** Those of one dim. */
const DIM = 'input: tensor, dim: int? = null, keepdim: bool = false';

const reduced = (c: Composer, a: ArgumentReader): Over => ({
  dims: c.dims(a.tensor('input'), a.dims('dim')),
  keepdim: a.bool('keepdim'),
});

/** The input, in the dtype that the caller asked for. */
export function requested(c: Composer, a: ArgumentReader): ValueRef {
  const dtype = a.dtype();
  return dtype === undefined ? a.tensor('input') : c.cast(a.tensor('input'), dtype);
}

export function requireFloat(c: Composer, operator: string, x: ValueRef): void {
  if (!isFloat(c.dtype(x))) throw dtypeUnsupported(operator, c.dtype(x), floats);
}

/** The number of elements that are reduced, as an operand in the dtype of `like`. */
const elementCount = (c: Composer, x: ValueRef, dims: readonly number[]): OperandLike =>
  c.sizeOperand(c.count(x, dims), c.dtype(x));

/** Mean over dims of a tensor that is already wide. */
export const wideMean = (c: Composer, x: ValueRef, { dims, keepdim }: Over): ValueRef =>
  c.op('div', c.reduce('sum', x, { dims, keepdim }), elementCount(c, x, dims));

/** Mean and variance over dims of a wide tensor, in two passes. */
export function wideVariance(
  c: Composer,
  x: ValueRef,
  { dims, keepdim, correction }: Over & { correction: number },
): { mean: ValueRef; variance: ValueRef } {
  const mean = wideMean(c, x, { dims, keepdim: true });
  const centred = c.op('sub', x, mean);
  const squares = c.reduce('sum', c.op('mul', centred, centred), { dims, keepdim });
  const divisor = degreesOfFreedom(c, c.count(x, dims), { correction, dtype: c.dtype(x) });
  return { mean: keepdim ? mean : c.squeeze(mean, ...dims), variance: c.op('div', squares, divisor) };
}

/** How many samples, less the correction (any number), but not below 0; rounded once, whether the size is known or not. */
function degreesOfFreedom(
  c: Composer,
  count: Index,
  { correction, dtype }: { correction: number; dtype: DType },
): OperandLike {
  if (count.kind === 'int') return float(Math.max(count.value - correction, 0));
  if (correction === 0) return c.sizeOperand(count, dtype);
  return c.cast(c.op('maximum', c.op('sub', c.sizeOperand(count, 'f64'), float(correction)), float(0)), dtype);
}

function correctionOf(a: ArgumentReader): number {
  const unbiased = a.optionalBool('unbiased');
  return a.optionalFloat('correction') ?? (unbiased === false ? 0 : 1);
}

/** var, std and the pairs with the mean: `pick` chooses the results from wide values. */
function spread(
  name: string,
  doc: string,
  pick: (c: Composer, of: { mean: ValueRef; variance: ValueRef }) => readonly ValueRef[],
): readonly Entry[] {
  const body = (c: Composer, x: ValueRef, how: Over & { correction: number }): readonly ValueRef[] => {
    requireFloat(c, name, x);
    return pick(c, wideVariance(c, c.widen(x), how)).map((value) => c.cast(value, c.dtype(x)));
  };
  const results = name.endsWith('Mean') ? { results: 2 } : {};
  return [
    composite(
      name,
      {
        signature:
          'input: tensor, dim: dims = null, unbiased: bool? = null, keepdim: bool = false, *, correction: float? = null',
        doc,
        overloads: [`${name}Unbiased`],
        ...results,
      },
      (c, a) => body(c, a.tensor('input'), { ...reduced(c, a), correction: correctionOf(a) }),
    ),
    composite(
      `${name}Unbiased`,
      { signature: 'input: tensor, unbiased: bool', doc, torch: [], forms: [], ...results },
      (c, a) =>
        body(c, a.tensor('input'), {
          dims: range(c.rank(a.tensor('input'))),
          keepdim: false,
          correction: a.bool('unbiased') ? 1 : 0,
        }),
    ),
  ];
}

/** Throws if an axis that is reduced has no elements. */
export function requireElements(
  c: Composer,
  operator: string,
  { x, dims }: { x: ValueRef; dims: readonly number[] },
): void {
  if (dims.some((dim) => c.sizes.isZero(c.size(x, dim)))) throw emptyReduction(operator);
}

function extreme(c: Composer, a: ArgumentReader, target: 'amax' | 'amin'): ValueRef {
  const { dims, keepdim } = reduced(c, a);
  requireElements(c, target, { x: a.tensor('input'), dims });
  return c.reduce(target, a.tensor('input'), { dims, keepdim });
}

/** max and min: of everything, along a dim with positions, or of two tensors. */
function extremes(name: 'max' | 'min'): readonly Entry[] {
  const [target, position] = [`a${name}`, `arg${name}`];
  return [
    composite(
      name,
      {
        signature: 'input: tensor',
        doc: `The ${name}imum of all elements; with dim, along it and with its indices; with another tensor, elementwise.`,
        overloads: [`${name}Dim`, `${name}imum`],
      },
      (c, a) => {
        requireElements(c, name, { x: a.tensor('input'), dims: range(c.rank(a.tensor('input'))) });
        return c.reduce(target, a.tensor('input'));
      },
    ),
    composite(
      `${name}Dim`,
      {
        signature: 'input: tensor, dim: int, keepdim: bool = false',
        doc: `The ${name}ima along a dim, and where they are.`,
        torch: [],
        forms: [],
        results: 2,
      },
      (c, a) => {
        const { dims, keepdim } = reduced(c, a);
        requireElements(c, name, { x: a.tensor('input'), dims });
        // Positions are found among numbers.
        const x = a.tensor('input');
        const ranked = c.dtype(x) === 'bool' ? c.cast(x, 'u8') : x;
        return [c.reduce(target, x, { dims, keepdim }), c.reduce(position, ranked, { dims, keepdim })];
      },
    ),
  ];
}

const arg = (name: 'argmax' | 'argmin'): Entry =>
  composite(
    name,
    { signature: DIM, doc: `The index of the ${name.slice(3)}imum, in the flattened tensor or along a dim.` },
    (c, a) => {
      const x = a.tensor('input');
      const { dims, keepdim } = reduced(c, a);
      if (c.dtype(x) === 'bool') throw dtypeUnsupported(name, 'bool', numbers);
      requireElements(c, name, { x, dims });
      return c.reduce(name, x, { dims, keepdim });
    },
  );

function logsumexp(c: Composer, a: ArgumentReader): ValueRef {
  const { dims, keepdim } = reduced(c, a);
  const input = c.toFloat(a.tensor('input'));
  const x = c.widen(input);
  const isEmpty = dims.some((dim) => c.sizes.isZero(c.size(x, dim)));
  if (isEmpty) return c.cast(c.op('log', c.reduce('sum', c.op('exp', x), { dims, keepdim })), c.dtype(input));
  const peak = c.detach(c.reduce('amax', x, { dims, keepdim: true }));
  const shift = c.where(c.op('eq', c.op('abs', peak), float(Infinity)), float(0), peak);
  const total = c.reduce('sum', c.op('exp', c.op('sub', x, shift)), { dims, keepdim: true });
  const result = c.op('add', c.op('log', total), shift);
  return c.cast(keepdim ? result : c.squeeze(result, ...dims), c.dtype(input));
}

/** sum and prod of half types; others as the table says. */
const simple = (name: 'sum' | 'prod', doc: string, signature: string): Entry =>
  composite(name, { signature, doc }, (c, a) => {
    const { dims, keepdim } = reduced(c, a);
    const result = c.reduce(name, requested(c, a), { dims, keepdim });
    return c.cast(result, a.dtype() ?? c.dtype(result));
  });

const quantifier = (name: 'any' | 'all', doc: string): Entry =>
  composite(name, { signature: DIMS, doc }, (c, a) => {
    const { dims, keepdim } = reduced(c, a);
    return c.reduce(name, a.tensor('input'), { dims, keepdim });
  });

function sumToSize(c: Composer, a: ArgumentReader): ValueRef {
  const [x, target] = [a.tensor('input'), a.sizes('size')];
  const [shape, lead] = [c.shape(x), c.rank(x) - target.length];
  if (target.length === 0) return c.reduce('sum', x);
  const fits =
    lead >= 0 && target.every((size, axis) => c.sizes.isOne(size) || c.sizes.same(size, c.size(x, axis + lead)));
  if (!fits)
    throw shapeMismatch(
      `cannot sum ${printShape(shape)} to ${printShape(target)}`,
      'the target must broadcast to the tensor',
    );
  const dims = range(shape.length).filter(
    (axis) => axis < lead || (c.sizes.isOne(target[axis - lead] ?? one) && !c.sizes.isOne(c.size(x, axis))),
  );
  return dims.length === 0
    ? x
    : c.squeeze(c.cast(c.reduce('sum', x, { dims, keepdim: true }), sumDType(c.dtype(x))), ...range(lead));
}

const sumDType = (dtype: DType): DType => (isFloat(dtype) ? dtype : 'i64');

function trace(c: Composer, a: ArgumentReader): ValueRef {
  const x = a.tensor('input');
  if (c.rank(x) !== 2) throw shapeMismatch(`trace of ${printShape(c.shape(x))}`, 'give a matrix');
  return c.reduce('sum', c.call('diagonal', [x], { offset: 0, dim1: 0, dim2: 1 }));
}

export const reductionEntries: readonly Entry[] = [
  simple('sum', 'Sum of the elements; of integers in i64.', DIMS_DTYPE),
  simple('prod', 'Product of the elements; of integers in i64.', `${DIM}, *, dtype: dtype = null`),
  composite('mean', { signature: DIMS_DTYPE, doc: 'Mean of the elements.' }, (c, a) => {
    const x = requested(c, a);
    requireFloat(c, 'mean', x);
    return c.cast(wideMean(c, c.widen(x), reduced(c, a)), c.dtype(x));
  }),
  composite('amax', { signature: DIMS, doc: 'The largest element; NaN if there is one.' }, (c, a) =>
    extreme(c, a, 'amax'),
  ),
  composite('amin', { signature: DIMS, doc: 'The smallest element; NaN if there is one.' }, (c, a) =>
    extreme(c, a, 'amin'),
  ),
  ...extremes('max'),
  ...extremes('min'),
  arg('argmax'),
  arg('argmin'),
  quantifier('any', 'Whether an element is not 0.'),
  quantifier('all', 'Whether no element is 0.'),
  ...spread('var', 'Variance, with n - 1 in the denominator unless told otherwise.', (_, { variance }) => [variance]),
  ...spread('std', 'Standard deviation: the root of var.', (c, { variance }) => [c.op('sqrt', variance)]),
  ...spread('varMean', 'Variance and mean.', (_, { mean, variance }) => [variance, mean]),
  ...spread('stdMean', 'Standard deviation and mean.', (c, { mean, variance }) => [c.op('sqrt', variance), mean]),
  composite(
    'logsumexp',
    {
      signature: 'input: tensor, dim: dims, keepdim: bool = false',
      doc: 'log of the sum of exp, without overflow.',
      torch: ['logsumexp', 'special.logsumexp'],
    },
    logsumexp,
  ),
  composite(
    'countNonzero',
    { signature: 'input: tensor, dim: dims = null', doc: 'The number of elements that are not 0.' },
    (c, a) => c.reduce('countNonzero', a.tensor('input'), c.dims(a.tensor('input'), a.dims('dim'))),
  ),
  composite('nansum', { signature: DIMS_DTYPE, doc: 'Sum, NaN counting as 0.' }, (c, a) => {
    const { dims, keepdim } = reduced(c, a);
    const result = c.reduce('nansum', requested(c, a), { dims, keepdim });
    return c.cast(result, a.dtype() ?? c.dtype(result));
  }),
  composite(
    'nanmean',
    { signature: DIMS_DTYPE, doc: 'Mean of the elements that are not NaN.', accepts: floats },
    (c, a) => {
      const { dims, keepdim } = reduced(c, a);
      const x = requested(c, a);
      const wide = c.widen(x);
      const count = c.reduce('sum', c.op('logicalNot', c.op('isnan', wide)), { dims, keepdim });
      return c.cast(c.op('div', c.reduce('nansum', wide, { dims, keepdim }), count), c.dtype(x));
    },
  ),
  composite(
    'aminmax',
    {
      signature: 'input: tensor, *, dim: int? = null, keepdim: bool = false',
      doc: 'The smallest and the largest element.',
      results: 2,
    },
    (c, a) => {
      const { dims, keepdim } = reduced(c, a);
      requireElements(c, 'aminmax', { x: a.tensor('input'), dims });
      const ends = ['amin', 'amax'].map((target) => c.reduce(target, a.tensor('input'), { dims, keepdim }));
      // PyTorch counts the dim that it keeps of a 0-d tensor.
      const isKept = keepdim && c.rank(a.tensor('input')) === 0 && a.optionalInt('dim') !== undefined;
      return isKept ? ends.map((x) => c.reshape(x, [one])) : ends;
    },
  ),
  composite('trace', { signature: 'input: tensor', doc: 'Sum of the diagonal of a matrix.' }, trace),
  composite(
    'sumToSize',
    {
      signature: 'input: tensor, ...size: sizes',
      doc: 'Sums the axes that broadcasting from `size` would have made.',
      torch: 'Tensor.sum_to_size',
      forms: ['method'],
      mayAlias: true,
    },
    sumToSize,
  ),
];
