// A term compiled to a flat, value-numbered program: typed, with decompositions expanded (or kept, where asked). It is what
// the scalar evaluator runs, and what an interpreter can run instruction by instruction over whole arrays.
//
// Laws: an instruction uses earlier ones only; equal instructions occur once; the args of `apply` have the dtype `operand`,
// but for the condition of a select, which is bool; constants are values of their dtype.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { castValue, valueOfBits } from './convert.ts';
import type { Value } from './convert.ts';
import type { PointwiseOp } from './define.ts';
import { illTyped } from './errors.ts';
import { resultOfRule } from './promote.ts';
import { printTerm } from './term.ts';
import type { Term } from './term.ts';
import type { PointwiseName } from './names.ts';
import { pointwise } from './table.ts';

export type Instruction = { readonly dtype: DType } & (
  | { readonly kind: 'parameter'; readonly name: string }
  | { readonly kind: 'constant'; readonly value: Value }
  | { readonly kind: 'cast' | 'bitcast'; readonly value: number }
  | {
      readonly kind: 'apply';
      readonly op: PointwiseName;
      /** The dtype of the operands: which of the op's meanings this is. */
      readonly operand: DType;
      readonly args: readonly number[];
    }
);

export interface TermProgram {
  readonly instructions: readonly Instruction[];
  readonly results: readonly number[];
}

interface CompileOptions {
  /** Dtypes of wilds; those that are not named have the dtype of the context. */
  readonly parameters?: Readonly<Record<string, DType>>;
  /** Whether decomposed ops are expanded down to primitives (default: yes). */
  readonly expand?: boolean;
  /** Whether ops with a guard stay as they are, to be skipped where it does not hold (default: no). */
  readonly keepGuarded?: boolean;
}

/** Compiles terms in the context of a compute dtype: that of wilds and of literals which no sibling types. */
export function compileTerms(terms: readonly Term[], dtype: DType, options: CompileOptions = {}): TermProgram {
  const builder = new ProgramBuilder(
    (op) => (options.expand ?? true) && !(options.keepGuarded === true && op.guard !== undefined),
  );
  const scope: Scope = {
    dtype,
    wild: (name) => builder.parameter(name, options.parameters?.[name] ?? dtype),
    wildDType: (name) => options.parameters?.[name] ?? dtype,
    types: new Map(),
    done: new Map(),
  };
  const results = terms.map((term) => builder.visit(term, scope, dtype));
  return { instructions: builder.instructions, results };
}

export const compileTerm = (term: Term, dtype: DType, options: CompileOptions = {}): TermProgram =>
  compileTerms([term], dtype, options);

/** The program of an op itself, over parameters x, y, z of the compute dtype (the condition of a select: bool). */
export function compileOp(op: PointwiseOp, dtype: DType, options: CompileOptions = {}): TermProgram {
  const term: Term = {
    kind: 'call',
    op: op.name,
    args: ['x', 'y', 'z'].slice(0, op.arity).map((name) => ({ kind: 'wild', name })),
  };
  const operand = op.rule === 'logical' ? 'bool' : dtype;
  return compileTerm(term, operand, op.rule === 'select' ? { ...options, parameters: { x: 'bool' } } : options);
}

/** What names mean while one definition is compiled; memos are by identity, because definitions share subterms. */
interface Scope {
  readonly dtype: DType;
  wild(name: string): number;
  wildDType(name: string): DType;
  readonly types: Map<Term, DType | undefined>;
  readonly done: Map<Term, number>;
}

class ProgramBuilder {
  readonly instructions: Instruction[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #expands: (op: PointwiseOp) => boolean;

  constructor(expands: (op: PointwiseOp) => boolean) {
    this.#expands = expands;
  }

  parameter(name: string, dtype: DType): number {
    return this.#emit(`p ${name}`, { kind: 'parameter', name, dtype });
  }

  /** The number of the value of `term`; `expected` types it where nothing inside does. */
  visit(term: Term, scope: Scope, expected: DType): number {
    const known = scope.done.get(term);
    if (known !== undefined) return known;
    const number = this.#build(term, scope, expected);
    // A term of literals alone has the dtype of each place where it stands.
    if (this.#typeOf(term, scope) !== undefined) scope.done.set(term, number);
    return number;
  }

  #build(term: Term, scope: Scope, expected: DType): number {
    switch (term.kind) {
      case 'wild':
        return scope.wild(term.name);
      case 'literal':
        return this.#constant(literalValue(term.value, expected), expected);
      case 'bits':
        return this.#constant(valueOfBits(term.hex, term.dtype), term.dtype);
      case 'cast':
        // A literal is one of the dtype at once, whatever the context: nothing is rounded on the way.
        if (term.value.kind === 'literal') return this.#constant(literalValue(term.value.value, term.to), term.to);
        return this.#cast(this.visit(term.value, scope, scope.dtype), term.to);
      case 'bitcast':
        return this.#bitcast(this.visit(term.value, scope, scope.dtype), term.to);
      case 'call':
        return this.#call(term, scope, expected);
    }
  }

  #call(term: Term & { kind: 'call' }, scope: Scope, expected: DType): number {
    const op = pointwise[term.op];
    if (term.args.length !== op.arity) {
      throw illTyped(printTerm(term), `${op.name} takes ${String(op.arity)} operands`);
    }
    const operand =
      this.#operandDType(op, term, scope) ?? (resultOfRule(op, expected) === expected ? expected : scope.dtype);
    const args = term.args.map((arg, position) => {
      const wanted = op.rule === 'select' && position === 0 ? 'bool' : operand;
      const number = this.visit(arg, scope, wanted);
      const { dtype } = at(this.instructions, number);
      if (dtype === wanted) return number;
      if (op.rule === 'logical') return this.#cast(number, 'bool');
      throw illTyped(printTerm(term), `operand ${String(position)} is ${dtype}, not ${wanted}`);
    });
    return this.#apply(op, operand, args);
  }

  #apply(op: PointwiseOp, operand: DType, args: readonly number[]): number {
    const definition = this.#expands(op) ? op.decompose?.(operand) : undefined;
    if (definition !== undefined) return this.#inline(op, definition, { operand, args });
    const dtype = resultOfRule(op, operand);
    return this.#emit(`a ${op.name} ${operand} ${args.join(' ')}`, {
      kind: 'apply',
      op: op.name,
      operand,
      args,
      dtype,
    });
  }

  #inline(op: PointwiseOp, definition: Term, { operand, args }: { operand: DType; args: readonly number[] }): number {
    const number = (name: string): number => at(args, ['x', 'y', 'z'].indexOf(name));
    const scope: Scope = {
      dtype: operand,
      wild: number,
      wildDType: (name) => at(this.instructions, number(name)).dtype,
      types: new Map(),
      done: new Map(),
    };
    const wanted = resultOfRule(op, operand);
    const result = this.visit(definition, scope, wanted);
    const { dtype } = at(this.instructions, result);
    if (dtype !== wanted) throw illTyped(`definition of ${op.name} at ${operand}`, `it is ${dtype}, not ${wanted}`);
    return result;
  }

  /** The dtype of the operands of a call, or undefined where all are literals. */
  #operandDType(op: PointwiseOp, term: Term & { kind: 'call' }, scope: Scope): DType | undefined {
    if (op.rule === 'logical') return 'bool';
    for (const arg of op.rule === 'select' ? term.args.slice(1) : term.args) {
      const dtype = this.#typeOf(arg, scope);
      if (dtype !== undefined) return dtype;
    }
    return undefined;
  }

  #typeOf(term: Term, scope: Scope): DType | undefined {
    if (scope.types.has(term)) return scope.types.get(term);
    const dtype = this.#inferType(term, scope);
    scope.types.set(term, dtype);
    return dtype;
  }

  #inferType(term: Term, scope: Scope): DType | undefined {
    switch (term.kind) {
      case 'wild':
        return scope.wildDType(term.name);
      case 'literal':
        return undefined;
      case 'bits':
        return term.dtype;
      case 'cast':
      case 'bitcast':
        return term.to;
      case 'call': {
        const op = pointwise[term.op];
        const operand = this.#operandDType(op, term, scope);
        if (operand !== undefined) return resultOfRule(op, operand);
        // Whatever the literals are: a comparison is bool.
        return resultOfRule(op, 'f32') === 'bool' ? 'bool' : undefined;
      }
    }
  }

  #cast(value: number, to: DType): number {
    const from = at(this.instructions, value);
    if (from.dtype === to) return value;
    if (from.kind === 'constant') return this.#constant(castValue(from.value, from.dtype, to), to);
    return this.#emit(`c ${to} ${String(value)}`, { kind: 'cast', value, dtype: to });
  }

  #bitcast(value: number, to: DType): number {
    const from = at(this.instructions, value).dtype;
    if (from === to) return value;
    if (dtypeInfo[from].bytes !== dtypeInfo[to].bytes) throw illTyped(`bitcast of ${from} to ${to}`, 'widths differ');
    return this.#emit(`b ${to} ${String(value)}`, { kind: 'bitcast', value, dtype: to });
  }

  #constant(value: Value, dtype: DType): number {
    return this.#emit(`k ${dtype} ${Object.is(value, -0) ? '-0' : String(value)}`, { kind: 'constant', value, dtype });
  }

  #emit(key: string, instruction: Instruction): number {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.instructions.push(instruction) - 1;
    this.#numbers.set(key, number);
    return number;
  }
}

/** A literal as a value of `dtype`: rounded at floats, truncated at integers. */
const literalValue = (value: number, dtype: DType): Value => castValue(value, 'f64', dtype);
