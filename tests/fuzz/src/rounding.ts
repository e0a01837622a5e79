// Where compiled code may differ from the interpreter, and by how much. Only the order of reductions, scans and contractions is
// free (and, unless each is rounded, half-precision intermediates). In: a node with its interpreted arguments. Out: the
// bound of each element, n·ε·Σ|x|, or nothing where the result is exact.
//
// Which reductions depend on their order is read off the reductions table: those whose merge does arithmetic on floats.
// A selection (maximum, argmax, any) does not, whatever it is called.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { isReduction, reductions } from '@tsinductor/ops';
import type { Term } from '@tsinductor/ops';
import type { Tensor } from '@tsinductor/tensor';
import { dispatch } from '@tsinductor/tensor/internal';
import { epsilonOf, isHalf, numbersOf, spacing } from './compare.ts';
import type { CallNode } from './evaluate-graph.ts';

/** How rounding errors of a reduction grow. */
type Growth = 'additive' | 'multiplicative' | 'logarithmic';

const selecting = new Set(['maximum', 'minimum', 'where', 'bitwiseOr', 'bitwiseAnd', 'logicalOr', 'logicalAnd', 'logicalNot', 'eq', 'gt', 'lt', 'isnan']); // prettier-ignore

const operationsOf = (term: Term): readonly string[] => {
  switch (term.kind) {
    case 'call':
      return [term.op, ...term.args.flatMap(operationsOf)];
    case 'cast':
    case 'bitcast':
      return operationsOf(term.value);
    case 'wild':
    case 'literal':
    case 'bits':
      return [];
  }
};

/** The reductions that scans run. */
const running: Readonly<Record<string, string>> = { cumsum: 'sum', cumprod: 'prod', cumlogsumexp: 'logsumexp' };
/** The scans that take the place of reductions in bounds of scans. */
const runningTotals: Readonly<Record<string, string>> = { sum: 'cumsum', amax: 'cummax' };

const isScan = (target: string): boolean => Object.hasOwn(running, target);

/** Undefined: the order of a reduction's elements makes no difference. */
export function growthOf(target: string, dtype: DType): Growth | undefined {
  if (target === 'bmm') return isFloat(dtype) ? 'additive' : undefined;
  const reduction = running[target] ?? target;
  if (!isReduction(reduction)) return undefined;
  const op = reductions[reduction];
  if (!op.state(dtype).some((state) => isFloat(state))) return undefined;
  const arithmetic = op
    .merge(dtype)
    .flatMap(operationsOf)
    .filter((name) => !selecting.has(name));
  if (arithmetic.length === 0) return undefined;
  if (arithmetic.every((name) => name === 'add')) return 'additive';
  return arithmetic.every((name) => name === 'mul') ? 'multiplicative' : 'logarithmic';
}

/** Whether a call's result depends on an order that the compiler chooses. */
export const isInexact = (node: CallNode, argument: DType | undefined): boolean =>
  argument !== undefined && growthOf(node.target, argument) !== undefined;

/** The dtype of a call's first operand, and how large the elements of all of them may be, in double precision. */
export interface Operands {
  readonly dtype: DType;
  readonly magnitudes: readonly Tensor[];
}

export const operandsOf = (args: readonly Tensor[]): Operands => ({
  dtype: at(args, 0).dtype,
  magnitudes: args.map(magnitude),
});

/** Bounds for each element of a call's result. */
export function boundsOf(node: CallNode, result: Tensor, { dtype, magnitudes }: Operands): Float64Array {
  const growth = growthOf(node.target, dtype);
  // Nothing that is reduced, and nothing that is made, is rounded.
  if (growth === undefined || magnitudes.some(({ numel }) => numel === 0)) return new Float64Array(result.numel);
  const epsilon = epsilonOf(dtypeInfo[dtype].compute);
  const values = numbersOf(result);
  const rounding = (k: number): number => (isHalf(result.dtype) ? spacing(at(values, k), result.dtype) : 0);
  const largest = dtypeInfo[dtype].compute === 'f64' ? Number.MAX_VALUE : 3.4e38;
  if (node.target === 'bmm') {
    const [a, b] = magnitudes as readonly [Tensor, Tensor];
    const count = a.shape[2] ?? 0;
    const sums = numbersOf(dispatch('bmm', [a, b]) as Tensor);
    return values.map((_, k) =>
      overflowing(sums[k], largest)
        ? Infinity
        : (count + 1) * epsilon * at(sums, k) + rounding(k) + count * tiny(dtype),
    );
  }
  const [x] = magnitudes as readonly [Tensor];
  const dims = isScan(node.target) ? [node.attrs['dim'] as number] : (node.attrs['dims'] as readonly number[]);
  const count = dims.reduce((product, dim) => product * (x.shape[dim] ?? 1), 1);
  const total = (target: string, of: Tensor): Float64Array => numbersOf(totalOf(node, { target, of, dims }));
  if (growth === 'additive') {
    const sums = total('sum', x);
    return values.map((_, k) =>
      overflowing(sums[k], largest) ? Infinity : count * epsilon * at(sums, k) + rounding(k),
    );
  }
  const logarithms = x.log2();
  if (growth === 'multiplicative')
    return multiplicativeBounds({ values, count, epsilon, rounding, logarithms, total, dtype });
  const most = total('amax', x);
  return values.map((value, k) => {
    const reach = Math.abs(value) + (Number.isFinite(most[k]) ? at(most, k) : 0);
    return Number.isFinite(value) ? (4 * count + 16) * epsilon * (1 + reach) + rounding(k) : 0;
  });
}

interface Totalling {
  readonly target: string;
  readonly of: Tensor;
  readonly dims: readonly number[];
}

/** What a reduction gives, or where a call scans, what a scan does. */
function totalOf(node: CallNode, { target, of, dims }: Totalling): Tensor {
  if (isScan(node.target)) {
    const results = dispatch(runningTotals[target] ?? target, [of], { dim: dims[0] });
    return Array.isArray(results) ? at(results, 0) : results;
  }
  return dims.length === 0 ? of : (dispatch(target, [of], { dim: dims, keepdim: false }) as Tensor);
}

/** |x| in double precision, with what is not finite left out: it decides the class of a result, not its error. */
export const magnitude = (x: Tensor): Tensor => (dispatch('nanToNum', [x.to('f64'), 0, 0, 0]) as Tensor).abs();

const overflowing = (sum: number | undefined, largest: number): boolean => sum === undefined || !(sum < largest / 4);

/** Products below the least normal number are rounded absolutely. */
const tiny = (dtype: DType): number => (dtypeInfo[dtype].compute === 'f64' ? 5e-324 : 1.5e-45);

interface Product {
  readonly values: Float64Array;
  readonly count: number;
  readonly epsilon: number;
  readonly rounding: (k: number) => number;
  readonly logarithms: Tensor;
  readonly total: (target: string, of: Tensor) => Float64Array;
  readonly dtype: DType;
}

/** Relative errors; where a product of some of the factors may overflow or underflow, its order decides the result. */
function multiplicativeBounds({ values, count, epsilon, rounding, logarithms, total, dtype }: Product): Float64Array {
  const finite = dispatch('nanToNum', [logarithms, 0, 0, -2000]) as Tensor;
  const [high, low] = [total('sum', finite.clampMin(0)), total('sum', finite.clampMax(0))];
  const limit = dtypeInfo[dtype].compute === 'f64' ? 1000 : 120;
  return values.map((value, k) => {
    if (value === 0 && at(low, k) < -1500 && at(high, k) < limit) return 0;
    if (at(high, k) > limit || at(low, k) < -limit) return Infinity;
    return Number.isFinite(value) ? count * epsilon * Math.abs(value) + rounding(k) : 0;
  });
}
