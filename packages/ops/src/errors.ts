// Every error of the package, as named constructors.
import type { DType } from '@tsinductor/base';
import { InternalError, UserError } from '@tsinductor/base';

/** The op does not take the dtype that its operands promote to. */
export const unsupportedDType = (op: string, dtype: DType, accepts: readonly DType[]): UserError =>
  new UserError('DTYPE_UNSUPPORTED', `${op} does not take ${dtype}`, {
    hint: `cast the operands to one of ${accepts.join(', ')}`,
  });

export const wrongOperandCount = (op: string, arity: number, given: number): InternalError =>
  new InternalError('OPS_ARITY', `${op} takes ${String(arity)} operands, not ${String(given)}`);

/** A decomposition or gradient that does not follow the typing laws of terms. */
export const illTyped = (what: string, why: string): InternalError =>
  new InternalError('OPS_ILL_TYPED_TERM', `${what}: ${why}`, {
    hint: 'this is a bug in the op table: please report it',
  });

export const noEvaluator = (op: string, dtype: DType): InternalError =>
  new InternalError('OPS_NO_EVALUATOR', `${op} has neither a decomposition nor an evaluator at ${dtype}`, {
    hint: 'this is a bug in the op table: please report it',
  });
