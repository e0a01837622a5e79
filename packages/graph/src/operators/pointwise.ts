// Every entry of the pointwise table of @tsinductor/ops, as an operator: operands by broadcasting, dtypes by the
// entry's rule. PyTorch's public form of some has attributes (`add` has alpha): those are in `pointwise-forms.ts`.
import { pointwise as table, promoteTypes, resolveDTypes } from '@tsinductor/ops';
import type { PointwiseOp } from '@tsinductor/ops';
import type { ArgumentReader } from '../argument-reader.ts';
import { isScalar, isValue } from '../argument-reader.ts';
import { primitive } from '../define.ts';
import type { Description, Entry } from '../define.ts';
import { argumentType, dtypeUnsupported } from '../errors.ts';
import type { Arg, Meta } from '../graph.ts';
import type { Builder, CanonicalCall, InferContext } from '../operator.ts';
import { broadcastShapes, contiguousMeta } from '../shape.ts';
import { activationEntries } from './activations.ts';
import { pointwiseForms } from './pointwise-forms.ts';

/** Parameter names of PyTorch, by arity; `torch` where it is not the snake_case name. */
const SIGNATURES = [
  '',
  'input: tensor',
  'input: operand, other: operand',
  'x: operand, y: operand, z: operand',
] as const;

interface PublicName {
  readonly torch: string | readonly string[];
  readonly signature?: string;
}

const special = (name: string): PublicName => ({ torch: [`special.${name}`, name] });
const functional = (name: string): PublicName => ({ torch: `nn.functional.${name}` });

const PUBLIC: Readonly<Record<string, PublicName>> = {
  where: { torch: 'where', signature: 'condition: operand, input: operand, other: operand' },
  pow: { torch: ['pow', 'special.pow'], signature: 'input: operand, exponent: operand' },
  logSigmoid: functional('logsigmoid'),
  tanhshrink: functional('tanhshrink'),
  sinc: { torch: ['sinc', 'special.sinc'] },
  sigmoid: { torch: ['sigmoid', 'special.expit', 'nn.functional.sigmoid'] },
  tanh: { torch: ['tanh', 'nn.functional.tanh'] },
  erf: { torch: ['erf', 'special.erf'] },
  erfc: { torch: ['erfc', 'special.erfc'] },
  erfinv: { torch: ['erfinv', 'special.erfinv'] },
  exp2: { torch: ['exp2', 'special.exp2'] },
  expm1: { torch: ['expm1', 'special.expm1'] },
  log1p: { torch: ['log1p', 'special.log1p'] },
  lgamma: { torch: ['lgamma', 'special.gammaln'] },
  digamma: { torch: ['digamma', 'special.digamma', 'special.psi'] },
  i0: { torch: ['i0', 'special.i0'] },
  i0e: special('i0e'),
  i1: special('i1'),
  i1e: special('i1e'),
  entr: special('entr'),
  ndtr: special('ndtr'),
  ndtri: special('ndtri'),
  logNdtr: special('log_ndtr'),
  erfcx: special('erfcx'),
  zeta: special('zeta'),
  xlogy: { torch: ['xlogy', 'special.xlogy'] },
  xlog1py: special('xlog1py'),
};

/**
 * Scalars alone become 0-d tensors, as nothing else would decide the dtype. PyTorch: two floats that meet in an
 * operation are f64, those that `where` chooses between are f32, as are floats beside integers.
 */
function canonical(op: PointwiseOp, builder: Builder, a: ArgumentReader): CanonicalCall {
  const target = standInFor(op, builder, a.args);
  if (target !== undefined) return { target, args: a.args, attrs: {} };
  const first = op.rule === 'select' ? 1 : 0;
  const scalars = a.args.slice(first).filter(isScalar);
  if (scalars.length + first !== a.args.length) return { args: a.args, attrs: {} };
  const isPlain = first === 0 && scalars.every(({ category }) => category === 'float');
  const dtypes = { bool: 'bool', int: 'i64', float: isPlain ? 'f64' : 'f32' } as const;
  const values = scalars.map((each) =>
    builder.call('full', [each], { shape: [], dtype: { dtype: dtypes[each.category] } }),
  );
  return { args: [...a.args.slice(0, first), ...values], attrs: {} };
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
  const shape = broadcastShapes(
    context.sizes,
    args.filter(isValue).map((value) => context.metaOf(value).shape),
  );
  const { compute, result } = resolveDTypes(op, operands);
  if (op.accepts !== undefined && !op.accepts.includes(compute)) throw dtypeUnsupported(op.name, compute);
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

function operator(op: PointwiseOp): Entry {
  const known = PUBLIC[op.name];
  const description: Description = {
    signature: known?.signature ?? SIGNATURES[op.arity],
    doc: op.doc,
    kind: 'pointwise',
    inPlace: true,
    ...(known === undefined ? {} : { torch: known.torch }),
    ...(op.internal === true ? { torch: [], forms: [] } : {}),
  };
  // Where PyTorch's form has attributes, that one is the public operator of the name.
  const levels = [...pointwiseForms, ...activationEntries].some(({ name }) => name === op.name)
    ? (['primitive'] as const)
    : (['primitive', 'public'] as const);
  return primitive(op.name, description, {
    levels,
    canonical: (builder, a) => canonical(op, builder, a),
    infer: (context, a) => pointwiseMeta(op, context, a.args),
  });
}

export const pointwiseEntries: readonly Entry[] = Object.values(table).map(operator);
