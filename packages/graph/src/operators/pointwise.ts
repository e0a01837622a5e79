// Every entry of the pointwise table of @tsinductor/ops, as an operator: operands by broadcasting, dtypes by the
// entry's rule. PyTorch's public form of some has attributes (`add` has alpha): those are in `pointwise-forms.ts`.
import { isFloat } from '@tsinductor/base';
import { pointwise as table, promoteTypes, resolveDTypes } from '@tsinductor/ops';
import type { PointwiseOp } from '@tsinductor/ops';
import type { ArgumentReader } from '../argument-reader.ts';
import { isAttribute, isScalar, isValue, scalarNumber } from '../argument-reader.ts';
import { composite, primitive } from '../define.ts';
import type { Description, Entry } from '../define.ts';
import { argumentType, argumentValue, dtypeMismatch, dtypeUnsupported } from '../errors.ts';
import { boundOf } from '../forward-bound.ts';
import type { Arg, Meta } from '../graph.ts';
import type { Builder, CanonicalCall, InferContext } from '../operator.ts';
import { broadcastShapes, contiguousMeta } from '../shape.ts';
import { activationEntries } from './activations.ts';
import { pointwiseForms } from './pointwise-forms.ts';

/** Parameter names of PyTorch, by arity. */
const SIGNATURES = [
  '',
  'input: tensor',
  'input: operand, other: operand',
  'x: operand, y: operand, z: operand',
] as const;

/**
 * Scalars alone become 0-d tensors, as nothing else would decide the dtype. PyTorch: two floats that meet in an
 * operation are f64, those that `where` chooses between are f32, as are floats beside integers.
 */
function canonical(op: PointwiseOp, builder: Builder, a: ArgumentReader): CanonicalCall {
  const [first, second] = a.args;
  requireNotNegative(op, builder, a.args);
  const alone = isValue(first) && isScalar(second) ? op.scalarStandIns?.get(scalarNumber(second)) : undefined;
  if (alone !== undefined) return { target: alone, args: a.args.slice(0, 1), attrs: {} };
  const target = standInFor(op, builder, a.args);
  if (target !== undefined) return { target, args: a.args, attrs: {} };
  const conditions = op.rule === 'select' ? 1 : 0;
  const scalars = a.args.slice(conditions).filter(isScalar);
  if (scalars.length + conditions !== a.args.length) return { args: a.args, attrs: {} };
  const isPlain = conditions === 0 && scalars.every(({ category }) => category === 'float');
  const dtypes = { bool: 'bool', int: 'i64', float: isPlain ? 'f64' : 'f32' } as const;
  const values = scalars.map((each) =>
    builder.call('full', [each], { shape: [], dtype: { dtype: dtypes[each.category] } }),
  );
  return { args: [...a.args.slice(0, conditions), ...values], attrs: {} };
}

function requireNotNegative(op: PointwiseOp, builder: Builder, [x, y]: readonly Arg[]): void {
  if (op.refusesNegative !== true || !isValue(x) || !isScalar(y) || y.category === 'float') return;
  if (scalarNumber(y) < 0 && !isFloat(builder.meta(x).dtype))
    throw argumentValue(
      op.name,
      `integers to the power ${String(scalarNumber(y))}`,
      'cast them to a float dtype first',
    );
}

/** The op that stands for this one at the operands' dtype, if there is one. */
function standInFor({ standIns }: PointwiseOp, builder: Builder, args: readonly Arg[]): string | undefined {
  if (standIns === undefined) return undefined;
  const dtypes = args.filter(isValue).map((value) => builder.meta(value).dtype);
  return dtypes.length === 0 ? undefined : standIns[dtypes.reduce(promoteTypes)];
}

/** A pointwise op over values and scalars. */
function pointwiseMeta(op: PointwiseOp, context: InferContext, args: readonly Arg[]): Meta {
  const operands = args.map((arg) => operandOf(op, context, arg));
  const dtypes = args.filter(isValue).map((value) => context.metaOf(value).dtype);
  const other = dtypes.find((dtype) => dtype !== dtypes[0]);
  const [condition] = dtypes;
  if (op.rule === 'select' && condition !== undefined && condition !== 'bool' && condition !== 'u8')
    throw dtypeMismatch(op.name, `the condition is ${condition}, it must be bool`);
  if (op.promotesNothing === true && other !== undefined)
    throw dtypeMismatch(op.name, `the tensors are ${String(dtypes[0])} and ${other}`);
  const shape = broadcastShapes(
    context.sizes,
    args.filter(isValue).map((value) => context.metaOf(value).shape),
  );
  const { compute, result } = resolveDTypes(op, operands);
  if (op.accepts !== undefined && !op.accepts.includes(compute)) throw dtypeUnsupported(op.name, compute, op.accepts);
  return contiguousMeta(shape, result);
}

function operandOf(op: PointwiseOp, context: InferContext, arg: Arg): Parameters<typeof resolveDTypes>[1][number] {
  if (isValue(arg)) {
    const { dtype, shape } = context.metaOf(arg);
    return { dtype, rank: shape.length === 0 ? 'zeroDim' : 'tensor' };
  }
  if (!isScalar(arg)) throw argumentType(op.name, 'every operand', 'a tensor or a number');
  return { dtype: ({ bool: 'bool', int: 'i64', float: 'f32' } as const)[arg.category], rank: 'scalar' };
}

/** How users call it, if they do: by the names that the entry gives, or its own. */
function publicName({
  torch,
  internal,
  rule,
}: PointwiseOp): Pick<Description, 'torch' | 'forms' | 'inPlace' | 'overloads'> {
  if (internal === true) return { torch: [], forms: [] };
  const named = torch === undefined ? {} : { torch };
  // A condition is no tensor to write the result into, and the method of its name is of what it chooses.
  return rule === 'select'
    ? { forms: ['function'], overloads: ['wherePlaces'], ...named }
    : { inPlace: true, ...named };
}

function operator(op: PointwiseOp): Entry {
  const description: Description = {
    signature: op.signature ?? SIGNATURES[op.arity],
    doc: op.doc,
    kind: 'pointwise',
    ...publicName(op),
    ...(op.scalarStandIns !== undefined && { scalarStandIns: op.scalarStandIns }),
    ...(op.refusesNegative === true && { refusesNegative: true }),
  };
  // Where PyTorch's form has attributes, that one is the public operator of the name.
  const forms = [...pointwiseForms, ...activationEntries];
  const isPublic = op.hasInplaceOption !== true && !forms.some(({ name }) => name === op.name);
  return primitive(op.name, description, {
    levels: isPublic ? ['primitive', 'public'] : ['primitive'],
    canonical: (builder, a) => canonical(op, builder, a),
    infer: (context, a) => pointwiseMeta(op, context, a.args),
  });
}

/** The public form of an op that may also be asked to write into its input: who calls it does that. */
function formWithInplace(op: PointwiseOp): Entry {
  const signature = 'input: tensor, inplace: bool = false';
  const description: Description = {
    signature,
    doc: op.doc,
    kind: 'pointwise',
    accuracy: [boundOf(op.name)],
    ...publicName(op),
  };
  return composite(op.name, description, (c, a) => c.op(op.name, a.tensor('input')));
}

const ops = Object.values(table);

/** A form of the same arguments is the operator: no call could tell which of them is meant. */
const isReplaced = ({ name }: PointwiseOp): boolean =>
  pointwiseForms.some((form) => form.name === name && !form.parameters.some(isAttribute));

export const pointwiseEntries: readonly Entry[] = [
  ...ops.filter((op) => !isReplaced(op)).map(operator),
  ...ops.filter(({ hasInplaceOption }) => hasInplaceOption === true).map(formWithInplace),
];
