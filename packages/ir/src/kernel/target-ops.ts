// Ops of machines: what an op of the table gives, to the bit, by other instructions. A pass for a machine puts them where they take
// less time than the op. A row is all there is to one but its spelling, which is the dialect's.
import { fma32 } from '@tsinductor/ops';
import type { ValueType } from './kernel.ts';

interface TargetOp {
  readonly doc: string;
  readonly arity: number;
  /** What its numbers are called, in their order. */
  readonly numbers: readonly string[];
  /** Whether its operands and its result may be of a type. */
  readonly accepts: (type: ValueType) => boolean;
  /** Of one lane, before it is rounded to the dtype. */
  readonly evaluate: (args: readonly number[], numbers: readonly number[]) => number;
}

const isFloatVector = ({ dtype, lanes }: ValueType): boolean => lanes > 1 && (dtype === 'f32' || dtype === 'f64');
const isSingleVector = ({ dtype, lanes }: ValueType): boolean => lanes > 1 && dtype === 'f32';

export type TargetOpName = 'twice' | 'quotientByProducts' | 'rootByProducts';

export const targetOps: Readonly<Record<TargetOpName, TargetOp>> = {
  twice: {
    doc: 'x * 2 as a product, where a compiler would make a sum of it',
    arity: 1,
    numbers: [],
    accepts: isFloatVector,
    evaluate: ([x = 0]) => 2 * x,
  },
  quotientByProducts: {
    doc: 'x / y as fma(x, high, x * low) for a y that is the same in all lanes; a division where 0 < |x| < 2^least',
    arity: 2,
    numbers: ['high', 'low', 'least'],
    accepts: isSingleVector,
    evaluate: ([x = 0, y = 0], [high = 0, low = 0, least = 0]) => {
      const isSmall = x !== 0 && Math.abs(x) < 2 ** least;
      return isSmall ? x / y : fma32(x, high, Math.fround(x * low));
    },
  },
  rootByProducts: {
    doc: 'the square root of x as an approximation, a step towards the root, and what is left of x in one rounding',
    arity: 1,
    numbers: [],
    accepts: isSingleVector,
    evaluate: ([x = 0]) => Math.sqrt(x),
  },
};
