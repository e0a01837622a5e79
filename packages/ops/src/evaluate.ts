// Scalar evaluation: what an op, or a term, computes for one element, bit for bit as compiled code does.
//
// Float semantics are IEEE: every primitive is rounded once to its dtype, nothing is contracted or reassociated, subnormals
// are kept, NaN compares false. The sign and payload of a NaN are not specified. Integers wrap.
import { at, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { bitcastValue, castValue } from './convert.ts';
import type { Value } from './convert.ts';
import type { PointwiseOp } from './define.ts';
import { noEvaluator } from './errors.ts';
import { compileOp, compileTerm } from './program.ts';
import type { Instruction, TermProgram } from './program.ts';
import { resultOfRule } from './promote.ts';
import { pointwise } from './table.ts';

/**
 * One value per operand: a number, or a bigint at i64; bool is 0 and 1, also as the condition of a select and as the result
 * of a comparison at i64.
 */
export type ScalarFunction = (...operands: Value[]) => Value;

/** What the op computes at a compute dtype of its operands, through its decomposition where it has one. */
export function evaluator(op: PointwiseOp, dtype: DType): ScalarFunction {
  const names = ['x', 'y', 'z'].slice(0, op.arity);
  if (op.guard === undefined) return programFunction(compileOp(op, dtype, { keepGuarded: true }), names);
  const holds = programFunction(compileTerm(op.guard(dtype), dtype), names);
  const compute = programFunction(compileOp(op, dtype), names);
  const zero = dtype === 'i64' ? 0n : 0;
  return (...operands) => (holds(...operands) === 1 ? compute(...operands) : zero);
}

type Wrap = (value: number) => number;

const wraps: Readonly<Record<DType, Wrap>> = {
  f64: (value) => value,
  f32: Math.fround,
  f16: Math.fround,
  bf16: Math.fround,
  i64: (value) => value,
  i32: (value) => value | 0,
  i16: (value) => (value << 16) >> 16,
  i8: (value) => (value << 24) >> 24,
  u8: (value) => value & 255,
  bool: (value) => (value === 0 ? 0 : 1),
};

/** What an op that a program holds (a primitive, or one with a guard) computes at a compute dtype of its operands. */
export function primitive(op: PointwiseOp, dtype: DType): ScalarFunction {
  if (op.guard !== undefined) return evaluator(op, dtype);
  const { float, f32, int, bigint, bool } = op.evaluate ?? {};
  if (dtype === 'i64') return bigint === undefined ? missing(op, dtype) : wrapBigint(bigint);
  // Exact at f32 already.
  if (dtype === 'f32' && f32 !== undefined) return f32 as ScalarFunction;
  const compute = isFloat(dtype) ? float : dtype === 'bool' ? bool : int;
  if (compute === undefined) return missing(op, dtype);
  const wrap = wraps[resultOfRule(op, dtype)];
  return dtype === 'f64' ? (compute as ScalarFunction) : wrapNumber(compute, { wrap, arity: op.arity });
}

function missing(op: PointwiseOp, dtype: DType): never {
  throw noEvaluator(op.name, dtype);
}

function wrapBigint(compute: (...operands: bigint[]) => bigint | boolean): ScalarFunction {
  return (...operands) => {
    const value = compute(...(operands as bigint[]));
    return typeof value === 'bigint' ? BigInt.asIntN(64, value) : Number(value);
  };
}

function wrapNumber(
  compute: (...operands: number[]) => number,
  { wrap, arity }: { wrap: Wrap; arity: 1 | 2 | 3 },
): ScalarFunction {
  const [unary, binary, ternary] = [
    (x: number) => wrap(compute(x)),
    (x: number, y: number) => wrap(compute(x, y)),
    (x: number, y: number, z: number) => wrap(compute(x, y, z)),
  ];
  const byArity = { 1: unary, 2: binary, 3: ternary };
  return byArity[arity] as ScalarFunction;
}

/** What one instruction computes from the values of its arguments. */
function instructionFunction(instruction: Instruction, instructions: readonly Instruction[]): ScalarFunction {
  switch (instruction.kind) {
    case 'parameter':
    case 'constant':
      return () => (instruction.kind === 'constant' ? instruction.value : NaN);
    case 'cast': {
      const { dtype: from } = at(instructions, instruction.value);
      return castFunction(from, instruction.dtype);
    }
    case 'bitcast': {
      const { dtype: from } = at(instructions, instruction.value);
      return (value = 0) => bitcastValue(value, from, instruction.dtype);
    }
    case 'apply': {
      const op = pointwise[instruction.op];
      return op.decompose?.(instruction.operand) === undefined
        ? primitive(op, instruction.operand)
        : evaluator(op, instruction.operand);
    }
  }
}

function castFunction(from: DType, to: DType): ScalarFunction {
  if (isFloat(from) && to === 'f64') return (value = 0) => value;
  if (isFloat(from) && to === 'f32') return Math.fround as ScalarFunction;
  return (value = 0) => castValue(value, from, to);
}

/** A one-result program as a function of its parameters, in the order of `names`. */
export function programFunction(program: TermProgram, names: readonly string[]): ScalarFunction {
  const { instructions } = program;
  const result = at(program.results, 0);
  const constants: Value[] = instructions.map((instruction) =>
    instruction.kind === 'constant' ? instruction.value : 0,
  );
  const inputs = names.map((name) =>
    instructions.findIndex((instruction) => instruction.kind === 'parameter' && instruction.name === name),
  );
  const only = directCall(program, inputs);
  if (only !== undefined) return only;
  const steps = neededSteps(program);
  return (...operands) => {
    const values = constants.slice();
    for (let i = 0; i < inputs.length; i++) {
      const slot = inputs[i] ?? -1;
      if (slot >= 0) values[slot] = operands[i] ?? 0;
    }
    for (const step of steps) step(values);
    return values[result] ?? 0;
  };
}

/** The function itself, where the program is one primitive of all parameters in their order. */
function directCall(program: TermProgram, inputs: readonly number[]): ScalarFunction | undefined {
  const result = program.instructions[at(program.results, 0)];
  if (result?.kind !== 'apply' || result.args.length !== inputs.length) return undefined;
  return result.args.every((arg, position) => arg === inputs[position])
    ? instructionFunction(result, program.instructions)
    : undefined;
}

type Step = (values: Value[]) => void;

/** The steps that the result depends on, in order. */
function neededSteps({ instructions, results }: TermProgram): readonly Step[] {
  const needed = new Set<number>(results);
  const steps: Step[] = [];
  for (let target = instructions.length - 1; target >= 0; target--) {
    const instruction = at(instructions, target);
    if (!needed.has(target) || instruction.kind === 'parameter' || instruction.kind === 'constant') continue;
    const args = instruction.kind === 'apply' ? instruction.args : [instruction.value];
    for (const arg of args) needed.add(arg);
    steps.push(makeStep(instructionFunction(instruction, instructions), args, target));
  }
  return steps.reverse();
}

function makeStep(compute: ScalarFunction, args: readonly number[], target: number): Step {
  const [a = 0, b = 0, c = 0] = args;
  if (args.length === 1) return (values) => void (values[target] = compute(values[a] ?? 0));
  if (args.length === 2) return (values) => void (values[target] = compute(values[a] ?? 0, values[b] ?? 0));
  return (values) => void (values[target] = compute(values[a] ?? 0, values[b] ?? 0, values[c] ?? 0));
}
