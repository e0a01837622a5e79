// The primitives that move or make data: their shape rules, and the canonical form that lowering relies on.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { add, printIndex } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { promoteTypes, scans } from '@tsinductor/ops';
import type { ArgumentReader } from '../argument-reader.ts';
import { primitive } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentType, argumentValue, dtypeMismatch, dtypeUnsupported, printShape, shapeMismatch } from '../errors.ts';
import type { Attr, Meta, ValueRef } from '../graph.ts';
import type { Builder, InferContext } from '../operator.ts';
import {
  broadcastShapes,
  contiguousMeta,
  expandedShape,
  normalizeDim,
  normalizeDims,
  range,
  total,
  zero,
} from '../shape.ts';
import type { Shape } from '../shape.ts';
import { emptySlices, slicesAreEmpty } from './empty-slices.ts';

const inputMeta = (context: InferContext, a: ArgumentReader): Meta => context.metaOf(a.tensor('input'));

const cast = primitive(
  'cast',
  { signature: 'input: tensor, dtype: dtype', doc: 'The elements in another dtype.', torch: [], forms: [] },
  {
    levels: ['primitive'],
    infer: (context, a) => {
      const dtype = a.dtype();
      if (dtype === undefined) throw argumentType('cast', 'dtype', 'a dtype');
      return contiguousMeta(inputMeta(context, a).shape, dtype);
    },
  },
);

const flip = primitive(
  'flip',
  { signature: 'input: tensor, ...dims: ints', doc: 'Reverses axes.' },
  {
    canonical: (builder, a) => ({
      args: a.args,
      attrs: { dims: normalizeDims(a.ints('dims'), builder.meta(a.tensor('input')).shape.length) },
    }),
    infer: (context, a) => contiguousMeta(inputMeta(context, a).shape, inputMeta(context, a).dtype),
  },
);

/** The pairs of a canonical padding: sizes before and after, for each axis. */
function paddingPairs(padding: Attr): readonly (readonly [Index, Index])[] {
  return (padding as readonly Attr[]).map((pair) => {
    const [before, after] = pair as readonly [Attr, Attr];
    return [asIndex(before), asIndex(after)];
  });
}

function asIndex(attr: Attr): Index {
  if (typeof attr === 'number') return { kind: 'int', value: attr };
  if (typeof attr === 'object' && attr !== null && 'size' in attr) return attr.size;
  throw argumentType('pad', 'padding', 'sizes');
}

const pad = primitive(
  'pad',
  {
    signature: 'input: tensor, padding: any, value: scalar',
    doc: 'Adds a constant border, or cuts where padding is negative.',
    torch: [],
    forms: [],
  },
  {
    levels: ['primitive'],
    infer: (context, a) => {
      const { shape, dtype } = inputMeta(context, a);
      const pairs = paddingPairs(a.attr('padding'));
      const padded = shape.map((size, axis) => add(size, total(at(pairs, axis))));
      padded.forEach((size, axis) => {
        if (!context.sizes.atMost(zero, size)) {
          throw shapeMismatch(
            `pad: axis ${String(axis)} of ${printShape(shape)} would have size ${printIndex(size)}`,
            'cut off less',
          );
        }
      });
      return contiguousMeta(padded, dtype);
    },
  },
);

function catCanonical(builder: Builder, a: ArgumentReader): { args: [readonly ValueRef[]]; attrs: { dim: number } } {
  const all = a.tensors('tensors');
  const first = all[0];
  if (first === undefined) throw argumentValue('cat', 'the list of tensors is empty', 'give at least one tensor');
  const metas = all.map((value) => builder.meta(value));
  const dtype = metas.map((meta) => meta.dtype).reduce(promoteTypes);
  // PyTorch skips tensors of shape [0], whatever the rank of the others.
  const kept = all.filter((value) => !isSkipped(builder, value));
  const items = kept.length === 0 ? [first] : kept;
  const rank = builder.meta(at(items, 0)).shape.length;
  if (metas.some((meta) => meta.shape.length === 0))
    throw shapeMismatch('cat of a 0-d tensor', 'use stack, or unsqueeze(0)');
  const dim = normalizeDim(a.int('dim'), rank);
  return { args: [items.map((value) => castTo(builder, value, dtype))], attrs: { dim } };
}

const isSkipped = (builder: Builder, value: ValueRef): boolean => {
  const { shape } = builder.meta(value);
  return shape.length === 1 && builder.sizes.isZero(at(shape, 0));
};

const castTo = (builder: Builder, value: ValueRef, dtype: DType): ValueRef =>
  builder.meta(value).dtype === dtype ? value : builder.call('cast', [value], { dtype: { dtype } });

const cat = primitive(
  'cat',
  { signature: 'tensors: tensors, dim: int = 0', doc: 'Joins tensors along an axis.', forms: ['function'] },
  {
    canonical: catCanonical,
    infer: (context, a) => {
      const metas = a.tensors('tensors').map((value) => context.metaOf(value));
      const first = at(metas, 0);
      const dim = a.int('dim');
      for (const { shape } of metas) {
        const fits =
          shape.length === first.shape.length &&
          shape.every((size, axis) => axis === dim || context.sizes.same(size, at(first.shape, axis)));
        if (!fits)
          throw shapeMismatch(
            `cat along dim ${String(dim)}: ${printShape(first.shape)} and ${printShape(shape)} differ elsewhere`,
            'sizes must agree except along dim',
          );
      }
      return contiguousMeta(first.shape.with(dim, total(metas.map(({ shape }) => at(shape, dim)))), first.dtype);
    },
  },
);

function requireIndex(operator: string, { dtype }: Meta): void {
  if (dtype !== 'i64' && dtype !== 'i32') throw dtypeMismatch(operator, `the index is ${dtype}, it must be i64`);
}

/** An index in i64, as primitives want it. */
function indexValue(builder: Builder, operator: string, index: ValueRef): ValueRef {
  requireIndex(operator, builder.meta(index));
  return castTo(builder, index, 'i64');
}

function indexFits(context: InferContext, shapes: { shape: Shape; index: Shape; dim: number }, operator: string): void {
  const { shape, index, dim } = shapes;
  if (shape.length !== index.length) {
    throw shapeMismatch(
      `${operator}: the index has rank ${String(index.length)}, the tensor ${String(shape.length)}`,
      'give them the same rank',
    );
  }
  index.forEach((size, axis) => {
    if (axis !== dim && !context.sizes.atMost(size, at(shape, axis))) {
      throw shapeMismatch(
        `${operator}: the index ${printShape(index)} is larger than ${printShape(shape)} along dim ${String(axis)}`,
        'narrow the index',
      );
    }
  });
}

const gather = primitive(
  'gather',
  {
    signature: 'input: tensor, index: tensor, dim: int',
    doc: 'out[i][j] = input[index[i][j]][j], for dim 0.',
    torch: [],
    forms: [],
    checks: true,
  },
  {
    levels: ['primitive'],
    canonical: (builder, a) => ({
      args: [a.tensor('input'), indexValue(builder, 'gather', a.tensor('index'))],
      attrs: a.attrs,
    }),
    infer: (context, a) => {
      const { shape, dtype } = inputMeta(context, a);
      const index = context.metaOf(a.tensor('index')).shape;
      const isEmpty = index.some((size) => context.sizes.isZero(size));
      if (!isEmpty) indexFits(context, { shape, index, dim: a.int('dim') }, 'gather');
      return contiguousMeta(index, dtype);
    },
  },
);

const indexSelect = primitive(
  'indexSelect',
  {
    signature: 'input: tensor, dim: int, index: tensor',
    doc: 'The slices along dim that a vector of indices names.',
    checks: true,
  },
  {
    canonical: (builder, a) => {
      const [input, index] = [a.tensor('input'), a.tensor('index')];
      const rank = builder.meta(input).shape.length;
      const dim = normalizeDim(a.int('dim'), rank);
      if (rank === 0) return { target: 'indexSelectScalar', args: a.args, attrs: {} };
      const vector = builder.meta(index).shape.length === 0 ? builder.call('reshape', [index], { shape: [1] }) : index;
      const places = indexValue(builder, 'indexSelect', vector);
      return slicesAreEmpty(builder, input, dim)
        ? emptySlices(builder, input, { places, dim })
        : { args: [input, places], attrs: { dim } };
    },
    infer: (context, a) => {
      const { shape, dtype } = inputMeta(context, a);
      const index = context.metaOf(a.tensor('index')).shape;
      if (index.length !== 1)
        throw shapeMismatch(`indexSelect: the index has shape ${printShape(index)}`, 'give a vector');
      return contiguousMeta(shape.with(a.int('dim'), at(index, 0)), dtype);
    },
  },
);

/** The shape that indexing the leading `count` axes by broadcast indices gives. */
function indexedShape(context: InferContext, a: ArgumentReader): Shape {
  const { shape } = inputMeta(context, a);
  const indices = a.tensors('indices').map((value) => context.metaOf(value).shape);
  const dims = normalizeDims(a.ints('dims'), shape.length);
  return [
    ...broadcastShapes(context.sizes, indices),
    ...range(shape.length)
      .filter((axis) => !dims.includes(axis))
      .map((axis) => at(shape, axis)),
  ];
}

const index = primitive(
  'index',
  {
    signature: 'input: tensor, indices: tensors, dims: ints, wraps: bool',
    doc: 'The elements that i64 tensors, broadcast together, name along the leading dims; from the end, where negative ones wrap.',
    torch: [],
    forms: [],
    checks: true,
  },
  {
    levels: ['primitive'],
    infer: (context, a) => contiguousMeta(indexedShape(context, a), inputMeta(context, a).dtype),
  },
);

const indexPut = primitive(
  'indexPut',
  {
    signature: 'input: tensor, indices: tensors, values: tensor, dims: ints, accumulate: bool, wraps: bool',
    doc: 'The input with `values` written (or added) where `index` reads.',
    torch: [],
    forms: [],
    checks: true,
  },
  {
    levels: ['primitive'],
    infer: (context, a) => {
      const { shape, dtype } = inputMeta(context, a);
      const values = context.metaOf(a.tensor('values'));
      expandedShape(context.sizes, values.shape, indexedShape(context, a));
      if (values.dtype !== dtype)
        throw dtypeMismatch('indexPut', `the tensor is ${dtype}, the values are ${values.dtype}`);
      return contiguousMeta(shape, dtype);
    },
  },
);

const scatter = primitive(
  'scatter',
  {
    signature: "input: tensor, index: tensor, src: tensor, dim: int, mode: 'set' | 'add' | 'multiply' | 'min' | 'max'",
    doc: 'The input with src[i][j] put at [index[i][j]][j], for dim 0.',
    torch: [],
    forms: [],
    checks: true,
  },
  {
    levels: ['primitive'],
    canonical: (builder, a) => ({
      args: [a.tensor('input'), indexValue(builder, 'scatter', a.tensor('index')), a.tensor('src')],
      attrs: a.attrs,
    }),
    infer: (context, a) => {
      const { shape, dtype } = inputMeta(context, a);
      const [indexMeta, source] = [context.metaOf(a.tensor('index')), context.metaOf(a.tensor('src'))];
      if (source.dtype !== dtype) throw dtypeMismatch('scatter', `the tensor is ${dtype}, src is ${source.dtype}`);
      if (!indexMeta.shape.some((size) => context.sizes.isZero(size))) {
        indexFits(context, { shape, index: indexMeta.shape, dim: a.int('dim') }, 'scatter');
        indexFits(context, { shape: source.shape, index: indexMeta.shape, dim: -1 }, 'scatter of src');
      }
      return contiguousMeta(shape, dtype);
    },
  },
);

const full = primitive(
  'full',
  { signature: 'value: operand, shape: sizes, dtype: dtype', doc: 'A tensor of one value.', torch: [], forms: [] },
  { levels: ['primitive'], infer: (_, a) => contiguousMeta(a.sizes('shape'), a.dtype() ?? 'f32') },
);

const iota = primitive(
  'iota',
  {
    signature: 'length: any, start: any, step: any, dtype: dtype',
    doc: 'start, start + step, start + 2 step ...',
    torch: [],
    forms: [],
    kind: 'creation',
  },
  { levels: ['primitive'], infer: (_, a) => contiguousMeta([a.size('length')], a.dtype() ?? 'i64') },
);

const bmm = primitive(
  'bmm',
  { signature: 'input: tensor, mat2: tensor', doc: 'Matrix products of a batch: [B, M, K] by [B, K, N].' },
  {
    infer: (context, a) => {
      const [left, right] = [inputMeta(context, a), context.metaOf(a.tensor('mat2'))];
      if (left.dtype !== right.dtype) throw dtypeMismatch('bmm', `the operands are ${left.dtype} and ${right.dtype}`);
      const fits =
        left.shape.length === 3 &&
        right.shape.length === 3 &&
        context.sizes.same(at(left.shape, 0), at(right.shape, 0)) &&
        context.sizes.same(at(left.shape, 2), at(right.shape, 1));
      if (!fits)
        throw shapeMismatch(
          `bmm of ${printShape(left.shape)} and ${printShape(right.shape)}`,
          'the shapes must be [B, M, K] and [B, K, N]',
        );
      return contiguousMeta([at(left.shape, 0), at(left.shape, 1), at(right.shape, 2)], left.dtype);
    },
  },
);

/** Running reductions: each is a reduction of the table, read after every step. */
const scanPrimitives: readonly Entry[] = Object.entries(scans).map(([name, reduction]) =>
  primitive(
    name,
    {
      signature: 'input: tensor, dim: int',
      doc: `${reduction.name} of the elements so far, along an axis.`,
      torch: [],
      forms: [],
    },
    {
      levels: ['primitive'],
      infer: (context, a) => {
        const { shape, dtype } = inputMeta(context, a);
        const { accepts, result } = reduction;
        normalizeDim(a.int('dim'), shape.length);
        if (accepts !== undefined && !accepts.includes(dtype)) throw dtypeUnsupported(name, dtype, accepts);
        return contiguousMeta(shape, result(dtype));
      },
    },
  ),
);

/** Values that only a running program knows: eager, interpreted and compiled code refuse the same ones. */
const require = primitive(
  'require',
  {
    signature: 'input: tensor, holds: tensor, what: string, remedy: string, by: string? = null',
    doc: 'The input; where `holds`, which broadcasts to it, is false, an error of `by` that says `what` is wrong and its `remedy`.',
    torch: [],
    forms: [],
    checks: true,
  },
  {
    infer: (context, a) => {
      const [{ shape, dtype }, condition] = [inputMeta(context, a), context.metaOf(a.tensor('holds'))];
      if (condition.dtype !== 'bool') throw dtypeMismatch('require', `the condition is ${condition.dtype}, not bool`);
      expandedShape(context.sizes, condition.shape, shape);
      return contiguousMeta(shape, dtype);
    },
  },
);

export const dataPrimitives: readonly Entry[] = [
  cast,
  flip,
  pad,
  cat,
  gather,
  indexSelect,
  index,
  indexPut,
  scatter,
  full,
  iota,
  bmm,
  require,
  ...scanPrimitives,
];
