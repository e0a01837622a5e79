// Terms as nodes of a body. Dtypes follow the typing laws of terms: a literal takes the dtype of its siblings, or else
// that of its context; the dtype of a call follows from its operands. Terms share parts by reference: each part is
// built once.
import { get } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { pointwise } from '@tsinductor/ops';
import type { Term } from '@tsinductor/ops';
import type { ScalarId } from '../scalar.ts';
import { constantOfBits } from './constant.ts';
import { resultDType } from './op-dtypes.ts';
import type { BodyBuilder } from './body-builder.ts';

export interface TermPlace {
  readonly term: Term;
  readonly bindings: ReadonlyMap<string, ScalarId>;
  /** For literals without siblings. */
  readonly dtype: DType;
}

export function inlineTerm(builder: BodyBuilder, { term, bindings, dtype }: TermPlace): ScalarId {
  return new Inlining(builder, bindings).emit(term, dtype);
}

class Inlining {
  readonly #builder: BodyBuilder;
  readonly #bindings: ReadonlyMap<string, ScalarId>;
  readonly #dtypes = new Map<Term, DType | undefined>();
  readonly #emitted = new Map<Term, ScalarId>();

  constructor(builder: BodyBuilder, bindings: ReadonlyMap<string, ScalarId>) {
    this.#builder = builder;
    this.#bindings = bindings;
  }

  emit(term: Term, context: DType): ScalarId {
    if (this.#dtypeOf(term) === undefined) return this.#build(term, context);
    const known = this.#emitted.get(term);
    if (known !== undefined) return known;
    const id = this.#build(term, context);
    this.#emitted.set(term, id);
    return id;
  }

  #build(term: Term, context: DType): ScalarId {
    switch (term.kind) {
      case 'wild':
        return get(this.#bindings, term.name);
      case 'literal':
        return this.#builder.constant(term.value, context);
      case 'bits':
        return this.#builder.constant(constantOfBits(term.hex, term.dtype), term.dtype);
      case 'cast':
        return this.#builder.cast(this.emit(term.value, term.to), term.to);
      case 'bitcast':
        return this.#builder.bitcast(this.emit(term.value, term.to), term.to);
      case 'call': {
        const select = pointwise[term.op].rule === 'select';
        const operands = this.#operandDType(term) ?? context;
        const args = term.args.map((arg, position) => this.emit(arg, select && position === 0 ? 'bool' : operands));
        return this.#builder.apply(term.op, args);
      }
    }
  }

  /** The dtype that a term has by itself; undefined where only its context says. */
  #dtypeOf(term: Term): DType | undefined {
    if (this.#dtypes.has(term)) return this.#dtypes.get(term);
    const dtype = this.#findDType(term);
    this.#dtypes.set(term, dtype);
    return dtype;
  }

  #findDType(term: Term): DType | undefined {
    switch (term.kind) {
      case 'wild':
        return this.#builder.dtypeOf(get(this.#bindings, term.name));
      case 'literal':
        return undefined;
      case 'bits':
        return term.dtype;
      case 'cast':
      case 'bitcast':
        return term.to;
      case 'call': {
        const operands = this.#operandDType(term);
        return operands && resultDType(pointwise[term.op], operands);
      }
    }
  }

  #operandDType(term: Extract<Term, { readonly kind: 'call' }>): DType | undefined {
    const values = pointwise[term.op].rule === 'select' ? term.args.slice(1) : term.args;
    for (const arg of values) {
      const dtype = this.#dtypeOf(arg);
      if (dtype !== undefined) return dtype;
    }
    return undefined;
  }
}
