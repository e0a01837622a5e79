// An op that the table defines by other ops, as a function of values of the Kernel IR: its term as steps, each with a name. In: an op
// and the types of its operands. Out: data, which the passes for a machine may rewrite before it is printed.
import { at, get, invariant } from '@tsinductor/base';
import type { ScalarConstant, Value, ValueType } from '@tsinductor/ir';
import { compileTerm, pointwise } from '@tsinductor/ops';
import type { PointwiseName, Term, TermProgram } from '@tsinductor/ops';
import { snakeCase } from './names.ts';

/** An op at the types of its operands and of its result. */
export interface OpRequest {
  readonly op: PointwiseName;
  readonly operands: readonly ValueType[];
  readonly type: ValueType;
}

interface NamedValue {
  readonly name: string;
  readonly value: Value;
}

/** Values in the order in which they are computed, and the one that they lead to. */
export interface Steps {
  readonly lets: readonly NamedValue[];
  readonly result: Value;
}

export interface OpFunction extends OpRequest {
  readonly steps: Steps;
  /** Of an op that is 0 wherever this does not hold, which is nearly everywhere. */
  readonly guard?: Steps;
  /** Whether a call costs nothing beside it, and each copy of it in a kernel much of the compile time. */
  readonly isLong: boolean;
}

/** What the operands are called. */
export const parameterNames: readonly string[] = ['x', 'y', 'z'];

/** Instructions above which a function is long. */
const LONG = 250;

/** The type that tells functions of an op apart. */
export const namedBy = ({ op, operands }: OpRequest): ValueType =>
  at(operands, pointwise[op].rule === 'select' ? 1 : 0);

/** The function of an op that has a decomposition at the types of `request`. */
export function opFunction(request: OpRequest): OpFunction {
  const { op, operands } = request;
  const entry = pointwise[op];
  const { dtype } = namedBy(request);
  const term = entry.decompose?.(dtype);
  invariant(term !== undefined, `${op} has no decomposition at ${dtype}`);
  const dtypes = Object.fromEntries(operands.map((operand, slot) => [at(parameterNames, slot), operand.dtype]));
  const compiled = (part: Term): TermProgram => compileTerm(part, dtype, { parameters: dtypes, expand: false });
  const { lanes } = at(operands, 0);
  const program = compiled(term);
  const guard = entry.guard?.(dtype);
  return {
    ...request,
    steps: stepsOf(program, lanes),
    ...(guard === undefined ? {} : { guard: stepsOf(compiled(guard), lanes) }),
    isLong: program.instructions.length > LONG,
  };
}

/** A program as named steps. What the result does not need is left out. */
function stepsOf({ instructions, results }: TermProgram, lanes: number): Steps {
  const needed = new Set<number>(results);
  for (let id = instructions.length - 1; id >= 0; id--) {
    const instruction = at(instructions, id);
    if (!needed.has(id) || instruction.kind === 'parameter' || instruction.kind === 'constant') continue;
    for (const arg of instruction.kind === 'apply' ? instruction.args : [instruction.value]) needed.add(arg);
  }
  const values = new Map<number, Value>();
  const lets: NamedValue[] = [];
  const used = new Map<string, number>(parameterNames.map((name) => [name, 1]));
  const define = (base: string, value: Value): Value => {
    const count = used.get(base) ?? 0;
    used.set(base, count + 1);
    const name = count === 0 ? base : `${base}_${String(count)}`;
    lets.push({ name, value });
    return { kind: 'name', name, type: value.type };
  };
  const of = (id: number): Value => get(values, id);
  instructions.forEach((instruction, id) => {
    if (!needed.has(id)) return;
    const type = { dtype: instruction.dtype, lanes };
    switch (instruction.kind) {
      case 'constant':
        values.set(id, { kind: 'constant', value: constantOf(instruction.value), type });
        break;
      case 'parameter':
        values.set(id, { kind: 'name', name: instruction.name, type });
        break;
      case 'cast':
      case 'bitcast': {
        const base = instruction.kind === 'cast' ? `to_${instruction.dtype}` : 'bits';
        values.set(id, define(base, { kind: instruction.kind, value: of(instruction.value), type }));
        break;
      }
      case 'apply': {
        const args = instruction.args.map(of);
        values.set(id, define(snakeCase(instruction.op), { kind: 'apply', op: instruction.op, args, type }));
        break;
      }
    }
  });
  return { lets, result: of(at(results, 0)) };
}

function constantOf(value: number | bigint): ScalarConstant {
  if (typeof value === 'bigint') return { bigint: String(value) };
  if (Object.is(value, -0)) return '-0';
  return Number.isFinite(value) ? value : (String(value) as 'NaN' | 'Infinity' | '-Infinity');
}
