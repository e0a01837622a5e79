// Arithmetic on values that are one number everywhere. In and out: a graph of primitives. `full` of a number, and what
// casts, views and pointwise ops make of such values, become `full` again; an operand that is `full` without axes
// becomes a scalar where its category and the other operands' ranks keep the result's dtype.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { castValue, evaluator, isPointwise, pointwise, resolveDTypes } from '@tsinductor/ops';
import type { Operand } from '@tsinductor/ops';
import { isScalar, isValue, scalarNumber } from '../argument-reader.ts';
import type { Arg, Graph, Meta, ScalarRef, ValueRef } from '../graph.ts';
import { sizesAttr } from '../shape.ts';
import { rebuild } from './rebuild.ts';
import type { CallNode, NodeList } from './rebuild.ts';

/** A value of a dtype: a bigint at i64, else a number. */
type Value = number | bigint;

const VIEWS = ['reshape', 'permute', 'expand', 'slice', 'flip', 'diagonal', 'unfold'];

export function foldConstants(graph: Graph): Graph {
  return rebuild(graph, (node, list) => {
    const value = foldedValue(node, list);
    if (value === undefined) return list.add(node);
    const result = at(node.results, 0);
    const attrs = { shape: sizesAttr(result.shape), dtype: { dtype: result.dtype } };
    return list.add({ ...node, target: 'full', args: [scalarOf(value, result.dtype)], attrs });
  });
}

/** The one value that a call gives everywhere, if it does and is not a `full` already. */
function foldedValue(node: CallNode, list: NodeList): Value | undefined {
  const [first] = node.args;
  if (VIEWS.includes(node.target)) return first === undefined ? undefined : constantOf(first, list);
  if (node.target === 'cast') {
    const value = first === undefined ? undefined : constantOf(first, list);
    return value === undefined || !isValue(first)
      ? undefined
      : castValue(value, metaOf(list, first).dtype, at(node.results, 0).dtype);
  }
  return isPointwise(node.target) ? foldedPointwise(node, node.target, list) : undefined;
}

function foldedPointwise(node: CallNode, name: keyof typeof pointwise, list: NodeList): Value | undefined {
  const op = pointwise[name];
  const operands = node.args.map((arg) => operandOf(arg, list));
  const values = node.args.map((arg) => constantOf(arg, list));
  if (!values.every((value) => value !== undefined)) return undefined;
  const { operands: dtypes, compute, result } = resolveDTypes(op, operands);
  const wide = dtypes.map((dtype) => (dtype === 'bool' && op.rule === 'select' ? 'bool' : dtypeInfo[dtype].compute));
  // As lowering reads operands: those with axes are rounded to the op's dtype first, numbers and 0-d tensors are not, but
  // for those that are compared.
  const cast = values.map((value, i) => {
    const [arg, operand, rounded] = [at(node.args, i), at(operands, i), at(dtypes, i)];
    const dtype = isScalar(arg) ? SCALAR_DTYPE[arg.category] : operand.dtype;
    const isRounded = operand.rank === 'tensor' || (op.rule === 'compare' && isFloat(rounded));
    return isRounded
      ? castValue(castValue(value, dtype, rounded), rounded, at(wide, i))
      : castValue(value, dtype, at(wide, i));
  });
  const answer = (evaluator(op, compute) as (...args: Value[]) => Value | boolean)(...cast);
  const plain = typeof answer === 'boolean' ? Number(answer) : answer;
  return castValue(
    plain,
    isFloat(result) || dtypeInfo[result].category === 'integer' ? dtypeInfo[result].compute : result,
    result,
  );
}

const SCALAR_DTYPE = { bool: 'bool', int: 'i64', float: 'f64' } as const;

function operandOf(arg: Arg, list: NodeList): Operand {
  if (isScalar(arg)) return { dtype: arg.category === 'float' ? 'f32' : SCALAR_DTYPE[arg.category], rank: 'scalar' };
  if (!isValue(arg)) return { dtype: 'f32', rank: 'scalar' };
  const { dtype, shape } = metaOf(list, arg);
  return { dtype, rank: shape.length === 0 ? 'zeroDim' : 'tensor' };
}

const metaOf = (list: NodeList, { node, result }: ValueRef): Meta => at(at(list.nodes, node).results, result);

/** The value of a scalar, or of a `full`, in its dtype. */
function constantOf(arg: Arg, list: NodeList): Value | undefined {
  if (isScalar(arg)) return valueOf(arg, SCALAR_DTYPE[arg.category]);
  if (!isValue(arg)) return undefined;
  const node = at(list.nodes, arg.node);
  if (node.kind !== 'call' || node.target !== 'full' || !isScalar(node.args[0])) return undefined;
  return valueOf(node.args[0], at(node.results, 0).dtype);
}

/** A scalar as a value of a dtype. */
function valueOf(scalar: ScalarRef, dtype: DType): Value {
  const exact: Value = typeof scalar.value === 'object' ? BigInt(scalar.value.bigint) : scalarNumber(scalar);
  if (dtype === 'i64' && scalar.category !== 'float') return BigInt(exact);
  return typeof exact === 'bigint' ? castValue(exact, 'i64', dtype) : castValue(exact, 'f64', dtype);
}

/** A value of a dtype as a scalar that gives it back. */
function scalarOf(value: Value, dtype: DType): ScalarRef {
  if (dtype === 'bool') return { kind: 'scalar', category: 'bool', value: Boolean(value) };
  if (typeof value === 'bigint') {
    const isSafe = Number.isSafeInteger(Number(value));
    return { kind: 'scalar', category: 'int', value: isSafe ? Number(value) : { bigint: String(value) } };
  }
  const named = Object.is(value, -0)
    ? '-0'
    : Number.isNaN(value)
      ? 'NaN'
      : value === Infinity
        ? 'Infinity'
        : value === -Infinity
          ? '-Infinity'
          : value;
  return { kind: 'scalar', category: isFloat(dtype) ? 'float' : 'int', value: named };
}
