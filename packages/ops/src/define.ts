// What an entry of the pointwise table says. Everything else about an op follows from it.
import type { DType } from '@tsinductor/base';
import type { PointwiseName } from './names.ts';
import { call, toTerm, wild } from './term.ts';
import type { Term, TermLike } from './term.ts';

/**
 * How operand and result dtypes follow from the arguments (PyTorch's rules):
 * promote          all operands are cast to the promoted dtype, which is the result's
 * promoteToFloat   as promote, then integers and bool become the default float (f32)
 * compare          operands as promote; the result is bool
 * logical          operands are cast to bool (x != 0); the result is bool
 * select           (condition, x, y): x and y as promote, the condition is cast to bool; the result is x's and y's
 * predicate        one operand in its own dtype; the result is bool
 */
type DTypeRule = 'promote' | 'promoteToFloat' | 'compare' | 'logical' | 'select' | 'predicate';

interface Traits {
  /** x op y = y op x, bit for bit. (So not maximum: it may differ in the sign of a zero.) */
  readonly commutative?: boolean;
  /** In exact arithmetic; on floats only up to rounding. */
  readonly associative?: boolean;
  /** x op identity = x, bit for bit. */
  readonly identity?: number;
  /** x op x = x, bit for bit. */
  readonly idempotent?: boolean;
  /** The last operand's sign bit decides the sign of the result (or, at bool, the result), that of a NaN as well. */
  readonly readsSign?: boolean;
  /** For each operand, what becomes of the result where it is a zero of the other sign; by default, anything (1/0 and 1/-0). */
  readonly otherZero?: readonly OtherZero[];
  /** Its first operand may stand for it in a reduction whose elements come in the order of their positions. */
  readonly isFirstInOrder?: boolean;
  /** For the scheduler's cost model: about how many machine operations at f32 (1 for add; about 12 for exp). */
  readonly cost?: number;
}

/**
 * same    the same bits
 * sign    the same bits, or a zero of the other sign
 * any     something else
 */
export type OtherZero = 'same' | 'sign' | 'any';

/** C-like spelling of a primitive op. What `call` names is specified by `preludeFunctions`. */
export type Spelling =
  | { readonly kind: 'infix'; readonly operator: string; readonly level: number }
  | { readonly kind: 'prefix'; readonly operator: string }
  /** A function of the dialect's prelude, which has one for each compute dtype: max_(x, y), fma_(x, y, z). */
  | { readonly kind: 'call'; readonly name: string };

export interface PointwiseOp {
  readonly name: PointwiseName;
  readonly arity: 1 | 2 | 3;
  readonly doc: string;
  /** Dotted names under `torch.` by which users call it; absent: its own name in snake_case. */
  readonly torch?: readonly string[];
  /** Its operands by their names in PyTorch; absent: `input`, or `input` and `other`. */
  readonly signature?: string;
  /** Operands that are tensors must have one dtype. */
  readonly promotesNothing?: boolean;
  /** PyTorch's function has an `inplace` option. */
  readonly hasInplaceOption?: boolean;
  /** The formula, for docs. */
  readonly formula?: string;
  readonly rule: DTypeRule;
  /** Dtypes that the op accepts as computed (after promotion); all if absent. */
  readonly accepts?: readonly DType[];
  /** What bool operands become before the rule applies (i64 for square, as a power). */
  readonly boolAs?: DType;
  readonly traits: Traits;
  /** Dtypes at which another op stands for this one (neighbours in bf16 are not those in f32). */
  readonly standIns?: Readonly<Partial<Record<DType, PointwiseName>>>;
  /** Ops of the first operand alone that stand for it where the second one is a scalar of this value. */
  readonly scalarStandIns?: ReadonlyMap<number, PointwiseName>;
  /** Integers do not take a negative integer in its second place, if that is a number and no tensor. */
  readonly refusesNegative?: boolean;
  /** A building block of decompositions, not offered to users. */
  readonly internal?: boolean;
  /** Primitive: has `c` and `evaluate`. Decomposed: has `decompose`. Never both at one dtype. */
  readonly c?: Spelling;
  /** Exact semantics of a primitive at a compute dtype (numbers; bigints at i64; bool as 0 and 1). */
  readonly evaluate?: Evaluators;
  /** The definition of a decomposed op at a compute dtype of its operands, or undefined where it is primitive. */
  readonly decompose?: (dtype: DType) => Term | undefined;
  /**
   * A bool term over the parameters; where it does not hold, the op is 0 (its definition says so itself). It seldom holds:
   * whoever evaluates many elements may test whether any needs the definition, and skip it if none does.
   */
  readonly guard?: (dtype: DType) => Term;
  /** The true value, in double precision and by other means than the definition: what accuracy is measured against. */
  readonly reference?: (...x: number[]) => number;
  /** Its relative error, where that is more than a rounding. */
  readonly referenceError?: number;
  /** The bound that the op promises, in units of the last place: 0.5 is correctly rounded, 0 exact. */
  readonly ulp?: number;
  /** The bound counts units of the last place of this magnitude, where it is larger than the result: for ops that cancel. */
  readonly scale?: (...x: number[]) => number;
  /** In place of a reference: why there is nothing to measure. */
  readonly exact?: string;
  /** The magnitudes of operands at which accuracy is measured, for functions whose reference is costly elsewhere. */
  readonly measured?: readonly [low: number, high: number];
  /** At f32, an error of this size is within the bound too: for functions that cancel, or are made of others that underflow. */
  readonly absoluteError?: number;
  /** Partial derivatives times g, in x, y, z order; undefined where not differentiable. */
  readonly gradient?: readonly (Term | undefined)[];
  /** Why an op on floats has no gradient, or not in every operand. */
  readonly noGradient?: string;
  /**
   * Of an op that is smooth in pieces only (it has kinks, jumps or poles): a number that is the same throughout each piece,
   * and another one between pieces, where a gradient is a convention. Absent: smooth wherever it is finite.
   */
  readonly piece?: (...x: number[]) => number;
}

type NumberFunction = (...args: number[]) => number;

/** `float` results are rounded to the dtype by the caller, `int` results are wrapped by the caller. */
export interface Evaluators {
  readonly float?: NumberFunction;
  readonly int?: NumberFunction;
  readonly bigint?: (...args: bigint[]) => bigint | boolean;
  readonly bool?: NumberFunction;
  /** Where f32 needs more than rounding the double result (fma). */
  readonly f32?: NumberFunction;
}

/** The parameters of an op, as terms. */
interface Parameters {
  readonly x: Term;
  readonly y: Term;
  readonly z: Term;
}

/** In a gradient: also what flows in, and the op's own result. */
interface GradientParameters extends Parameters {
  readonly g: Term;
  readonly out: Term;
}

/** An entry as it is written: definitions and gradients are functions, because they name ops that are declared later. */
export interface Spec extends Omit<PointwiseOp, 'name' | 'arity' | 'decompose' | 'gradient' | 'guard' | 'traits'> {
  readonly traits?: Traits;
  readonly decompose?: (parameters: Parameters, dtype: DType) => TermLike | undefined;
  readonly guard?: (parameters: Parameters, dtype: DType) => Term;
  readonly gradient?: (parameters: GradientParameters) => readonly (TermLike | undefined)[];
}

/** An op of the table: called, it builds a term; `entry` makes its row. */
interface OpOf<Args extends readonly TermLike[]> {
  (...args: Args): Term;
  readonly entry: () => PointwiseOp;
}
export type Unary = OpOf<[x: TermLike]>;
export type Binary = OpOf<[x: TermLike, y: TermLike]>;
export type Ternary = OpOf<[x: TermLike, y: TermLike, z: TermLike]>;

export const unary = (name: PointwiseName, spec: Spec): Unary => defineOp<[TermLike]>(name, 1, spec);
export const binary = (name: PointwiseName, spec: Spec): Binary => defineOp<[TermLike, TermLike]>(name, 2, spec);
export const ternary = (name: PointwiseName, spec: Spec): Ternary =>
  defineOp<[TermLike, TermLike, TermLike]>(name, 3, spec);

const parameters: GradientParameters = {
  x: wild('x'),
  y: wild('y'),
  z: wild('z'),
  g: wild('g'),
  out: wild('out'),
};

function defineOp<Args extends readonly TermLike[]>(name: PointwiseName, arity: 1 | 2 | 3, spec: Spec): OpOf<Args> {
  const build = (...args: Args): Term => call(name, args);
  return Object.assign(build, { entry: (): PointwiseOp => makeEntry(name, arity, spec) });
}

function makeEntry(name: PointwiseName, arity: 1 | 2 | 3, spec: Spec): PointwiseOp {
  const { decompose, gradient, guard, ...rest } = spec;
  return {
    ...rest,
    name,
    arity,
    traits: spec.traits ?? {},
    ...(decompose && {
      decompose: (dtype: DType) => {
        const term = decompose(parameters, dtype);
        return term === undefined ? undefined : toTerm(term);
      },
    }),
    ...(guard && { guard: (dtype: DType) => guard(parameters, dtype) }),
    ...(gradient && {
      gradient: gradient(parameters).map((term) => (term === undefined ? undefined : toTerm(term))),
    }),
  };
}
