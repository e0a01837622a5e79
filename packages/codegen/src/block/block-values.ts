// Values of the Kernel IR that every binding of Block IR makes: constants, operations on scalars or vectors, the arguments
// of the launch.
import { at, dtypeInfo, invariant } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { int, sizeSymbol } from '@tsinductor/ir';
import type { Index, ScalarConstant, TileOp, Value } from '@tsinductor/ir';
import { localName, paramName, scalarIndex } from './block-names.ts';
import type { BlockScope } from './block-scope.ts';

/** `value` in as many lanes as the point has. */
export function widened(value: Value, lanes: number): Value {
  if (value.type.lanes === lanes) return value;
  const type = { dtype: value.type.dtype, lanes };
  return value.kind === 'constant' ? { ...value, type } : { kind: 'broadcast', value, type };
}

export const constantOf = (value: ScalarConstant, dtype: DType): Value => ({
  kind: 'constant',
  value,
  type: { dtype, lanes: 1 },
});
export const zeroOf = (dtype: DType): Value => constantOf(dtype === 'i64' ? { bigint: '0' } : 0, dtype);

export function apply(op: Extract<Value, { kind: 'apply' }>['op'], args: readonly Value[], dtype: DType): Value {
  const lanes = Math.max(...args.map(({ type }) => type.lanes));
  return { kind: 'apply', op, args: args.map((arg) => widened(arg, lanes)), type: { dtype, lanes } };
}

/** Integers are sizes of the entry; floats come as the bits of an f64. */
export function argumentValue(node: TileOp & { readonly op: 'argument' }, scope: BlockScope): Value {
  const { name, dtype } = at(scope.program.params, node.attrs.param);
  const size: Value = {
    kind: 'index',
    value: sizeSymbol(paramName(scope.program, node.attrs.param), -(2 ** 53)),
    type: { dtype: 'i64', lanes: 1 },
  };
  const isFloat = dtypeInfo[dtype].category === 'float';
  const wide: Value = isFloat ? { kind: 'bitcast', value: size, type: { dtype: 'f64', lanes: 1 } } : size;
  if (wide.type.dtype === dtype) return scope.name(wide, localName(name));
  const compute = dtypeInfo[dtype].compute;
  const narrow: Value =
    wide.type.dtype === compute ? wide : { kind: 'cast', value: wide, type: { dtype: compute, lanes: 1 } };
  return scope.name(
    compute === dtype ? narrow : { kind: 'cast', value: narrow, type: { dtype, lanes: 1 } },
    localName(name),
  );
}

/** A scalar integer value as an index. */
export function valueIndex(value: Value): Index {
  if (value.kind === 'constant') return int(Number(typeof value.value === 'object' ? value.value.bigint : value.value));
  invariant(value.kind === 'name', 'a value is named before it is an index');
  return scalarIndex(value.name);
}

/** An index as a scalar value of `dtype`. */
export function scalarOfIndex(index: Index, dtype: DType): Value {
  if (index.kind === 'int') return constantOf(dtype === 'i64' ? { bigint: String(index.value) } : index.value, dtype);
  const narrow: DType = dtype === 'i32' ? 'i32' : 'i64';
  const value: Value = { kind: 'index', value: index, type: { dtype: narrow, lanes: 1 } };
  return narrow === dtype ? value : { kind: 'cast', value, type: { dtype, lanes: 1 } };
}
