// Type promotion, as PyTorch's result_type: within the highest category present (float over integer over bool), tensors
// decide over zero-dimensional tensors, and those over plain scalars.
import { dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType, DTypeCategory } from '@tsinductor/base';
import type { PointwiseOp } from './define.ts';
import { unsupportedDType, wrongOperandCount } from './errors.ts';

export interface Operand {
  readonly dtype: DType;
  /** A tensor with axes, one without, or a plain number (whose dtype is f32, i64 or bool by its kind). */
  readonly rank: 'tensor' | 'zeroDim' | 'scalar';
}

interface ResolvedDTypes {
  /** What each operand is cast to. */
  readonly operands: readonly DType[];
  /** Where the arithmetic happens: the dtype of the operands, f16 and bf16 widened to f32. (Of a select, the choices'.) */
  readonly compute: DType;
  readonly result: DType;
}

/** What a bool or integer becomes where a float is asked for. */
const defaultFloat: DType = 'f32';

const categories: readonly DTypeCategory[] = ['bool', 'integer', 'float'];
const categoryRank = (dtype: DType): number => categories.indexOf(dtypeInfo[dtype].category);

/** The smallest dtype that both promote to. */
export function promoteTypes(a: DType, b: DType): DType {
  if (a === b) return a;
  if (categoryRank(a) !== categoryRank(b)) return categoryRank(a) > categoryRank(b) ? a : b;
  const [wide, narrow] = dtypeInfo[a].bytes >= dtypeInfo[b].bytes ? [a, b] : [b, a];
  // Neither f16 nor bf16 holds the other; nor does i8 or u8.
  if (dtypeInfo[wide].bytes === dtypeInfo[narrow].bytes) return isFloat(a) ? 'f32' : 'i16';
  return wide;
}

/** The common dtype of operands of all three ranks. */
export function resultType(operands: readonly Operand[]): DType {
  const ofRank = (rank: Operand['rank']): DType | undefined => {
    const dtypes = operands.filter((operand) => operand.rank === rank).map(({ dtype }) => dtype);
    return dtypes.length === 0 ? undefined : dtypes.reduce(promoteTypes);
  };
  const [tensor, zeroDim, scalar] = [ofRank('tensor'), ofRank('zeroDim'), ofRank('scalar')];
  const scalarDType = scalar !== undefined && isFloat(scalar) ? defaultFloat : scalar;
  return [zeroDim, scalarDType].reduce<DType | undefined>(combine, tensor) ?? defaultFloat;
}

/** The higher rank's dtype, unless the lower rank's is of a higher category. */
function combine(higher: DType | undefined, lower: DType | undefined): DType | undefined {
  if (higher === undefined || lower === undefined) return higher ?? lower;
  return categoryRank(lower) > categoryRank(higher) ? lower : higher;
}

/** What the op's rule makes of its operands' dtypes. Throws a UserError where the op does not take them. */
export function resolveDTypes(op: PointwiseOp, operands: readonly Operand[]): ResolvedDTypes {
  if (operands.length !== op.arity) throw wrongOperandCount(op.name, op.arity, operands.length);
  const chosen = op.rule === 'select' ? operands.slice(1) : operands;
  const promoted = operandDType(op, isAllPlainFloats(operands) ? 'f64' : resultType(chosen));
  if (op.accepts !== undefined && !op.accepts.includes(promoted)) {
    throw unsupportedDType(op.name, promoted, op.accepts);
  }
  return {
    operands: operands.map((_, position) => (op.rule === 'select' && position === 0 ? 'bool' : promoted)),
    compute: dtypeInfo[promoted].compute,
    result: resultOfRule(op, promoted),
  };
}

/** Nothing but plain floats is computed as such, in f64: as PyTorch does, which promotes only where dtypes differ. */
const isAllPlainFloats = (operands: readonly Operand[]): boolean =>
  operands.every(({ dtype, rank }) => rank === 'scalar' && isFloat(dtype));

function operandDType(op: PointwiseOp, promoted: DType): DType {
  if (op.rule === 'logical') return 'bool';
  if (promoted === 'bool' && op.boolAs !== undefined) return op.boolAs;
  return op.rule === 'promoteToFloat' && !isFloat(promoted) ? defaultFloat : promoted;
}

/** The result's dtype where the operands have (or, of a select, the choices have) `operand`. */
export function resultOfRule(op: PointwiseOp, operand: DType): DType {
  switch (op.rule) {
    case 'promote':
    case 'promoteToFloat':
    case 'select':
      return operand;
    case 'compare':
    case 'logical':
    case 'predicate':
      return 'bool';
  }
}
