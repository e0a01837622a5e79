// The gradient of a pointwise op: its terms, which are data in the table of ops, become nodes. They are evaluated in the dtype
// in which the op computes, summed over axes along which an operand was broadcast, and cast to the operand's dtype.
import { at, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { resolveDTypes } from '@tsinductor/ops';
import type { PointwiseOp, Term } from '@tsinductor/ops';
import { isScalar, isValue, scalar } from '../argument-reader.ts';
import type { Composer, OperandLike } from '../composer.ts';
import { brokenGraph, notDifferentiable } from '../errors.ts';
import type { Arg, ScalarRef, ValueRef } from '../graph.ts';
import { ofFirst, sumTo, withoutGradient } from './rule.ts';
import type { GradientRule } from './rule.ts';

const operandNames = ['x', 'y', 'z'];

export const categoryDTypes = { bool: 'bool', int: 'i64', float: 'f32' } as const;

function dtypesOf(c: Composer, op: PointwiseOp, args: readonly Arg[]): { compute: DType; result: DType } {
  return resolveDTypes(
    op,
    args.map((arg) => {
      if (isValue(arg)) return { dtype: c.dtype(arg), rank: c.rank(arg) === 0 ? 'zeroDim' : 'tensor' };
      return { dtype: isScalar(arg) ? categoryDTypes[arg.category] : 'f32', rank: 'scalar' };
    }),
  );
}

/** Whether a term says that nothing flows. */
const isZero = (term: Term): boolean => term.kind === 'literal' && term.value === 0;

export function pointwiseRule(op: PointwiseOp): GradientRule {
  if (op.rule === 'compare' || op.rule === 'logical' || op.rule === 'predicate') return withoutGradient;
  return ofFirst((c, { a, results, wants }, cotangent) => {
    const { compute, result } = dtypesOf(c, op, a.args);
    if (!isFloat(result)) return [];
    const terms = new Terms(c, compute, new Map([['g', c.cast(cotangent, compute)]]));
    terms.name('out', at(results, 0));
    a.args.forEach((arg, slot) => {
      const isCondition = op.rule === 'select' && slot === 0;
      if (isValue(arg) || isScalar(arg)) terms.name(at(operandNames, slot), arg, isCondition ? 'bool' : compute);
    });
    return a.args.map((arg, slot) => {
      if (!isValue(arg) || !isFloat(c.dtype(arg)) || !wants(arg) || (op.rule === 'select' && slot === 0))
        return undefined;
      const term = op.gradient?.[slot];
      if (term === undefined) throw notDifferentiable(op.name, op.noGradient ?? 'it has no gradient in this operand');
      if (isZero(term)) return undefined;
      return c.cast(sumTo(c, terms.value(term, c.shape(at(results, 0))), c.shape(arg)), c.dtype(arg));
    });
  });
}

/** Terms as nodes; what occurs twice in them is one node. */
class Terms {
  readonly #c: Composer;
  readonly #dtype: DType;
  readonly #named: Map<string, ValueRef>;
  readonly #known = new Map<Term, OperandLike>();

  constructor(c: Composer, dtype: DType, named: Map<string, ValueRef>) {
    this.#c = c;
    this.#dtype = dtype;
    this.#named = named;
  }

  /** What a wild stands for. */
  name(name: string, value: ValueRef | ScalarRef, dtype = this.#dtype): void {
    this.#named.set(name, isScalar(value) ? this.#c.full(value, [], dtype) : this.#c.cast(value, dtype));
  }

  /** The term's value, in all of `shape`. */
  value(term: Term, shape: ReturnType<Composer['shape']>): ValueRef {
    return this.#c.expand(this.#asValue(this.#operand(term)), shape);
  }

  #asValue(operand: OperandLike, dtype = this.#dtype): ValueRef {
    if (typeof operand === 'object' && operand.kind === 'value') return operand;
    return this.#c.full(operand, [], dtype);
  }

  #operand(term: Term): OperandLike {
    const known = this.#known.get(term);
    if (known !== undefined) return known;
    const made = this.#make(term);
    this.#known.set(term, made);
    return made;
  }

  #make(term: Term): OperandLike {
    switch (term.kind) {
      case 'wild':
        return this.#named.get(term.name) ?? missing(term.name);
      case 'literal':
        return scalar(term.value, 'float');
      case 'cast':
        return this.#c.cast(this.#asValue(this.#operand(term.value)), term.to);
      case 'call': {
        const operands = term.args.map((arg) => this.#operand(arg));
        const chosen = term.op === 'where' ? 1 : 0;
        // Numbers alone would decide a dtype of their own.
        const isOpen = operands
          .slice(chosen)
          .every((operand) => typeof operand === 'object' && operand.kind === 'scalar');
        return this.#c.op(
          term.op,
          ...operands.map((operand, slot) => (isOpen && slot >= chosen ? this.#asValue(operand) : operand)),
        );
      }
      case 'bits':
      case 'bitcast':
        throw brokenGraph(`a gradient has the term ${term.kind}`);
    }
  }
}

function missing(name: string): never {
  throw brokenGraph(`a gradient names ${name}, which its op has not`);
}
