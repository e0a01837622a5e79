// An op that the table defines by other ops becomes an inlined function of the prelude, so that kernels read
// `exp_f32x16(x)`: its term as a body, printed by the same printer.
import { at, get, invariant, Lines } from '@tsinductor/base';
import type { ScalarConstant, Value, ValueType } from '@tsinductor/ir';
import { compileTerm, pointwise } from '@tsinductor/ops';
import type { PointwiseName, TermProgram } from '@tsinductor/ops';
import type { Definition, Dialect } from './dialect.ts';
import { Definitions } from './dialect.ts';
import { commentText, safeName, snakeCase } from './names.ts';
import { printValue } from './print-value.ts';

export interface FunctionRequest {
  readonly op: PointwiseName;
  readonly operands: readonly ValueType[];
  readonly type: ValueType;
}

const parameters: readonly string[] = ['x', 'y', 'z'];

export function decomposedFunction({ op, operands, type }: FunctionRequest, dialect: Dialect): Definition {
  const entry = pointwise[op];
  const first = at(operands, entry.rule === 'select' ? 1 : 0);
  const term = entry.decompose?.(first.dtype);
  invariant(term !== undefined, `${op} has no decomposition at ${first.dtype}`);
  const dtypes = Object.fromEntries(operands.map((operand, slot) => [at(parameters, slot), operand.dtype]));
  const program = compileTerm(term, first.dtype, { parameters: dtypes, expand: false });
  return printFunction(program, { op, operands, type }, dialect);
}

function printFunction(program: TermProgram, request: FunctionRequest, dialect: Dialect): Definition {
  const { op, operands, type } = request;
  const entry = pointwise[op];
  const definitions = new Definitions();
  const context = {
    dialect,
    use: (needs: readonly Definition[]) => {
      definitions.add(needs);
    },
    isVector: () => false,
  };
  const typeText = (valueType: ValueType): string => {
    const expression = dialect.type(valueType);
    definitions.add(expression.needs);
    return expression.text;
  };
  const signature = operands.map((operand, slot) => `${typeText(operand)} ${at(parameters, slot)}`).join(', ');
  const name = functionName(request, typeText(at(operands, entry.rule === 'select' ? 1 : 0)));
  const lines = new Lines();
  lines.block(`${dialect.inlineFunction(`${typeText(type)} ${name}(${signature})`)} {`, () => {
    const { lets, result } = threeAddress(program, at(operands, 0).lanes);
    for (const { name: local, value } of lets) {
      lines.line(
        `const ${typeText(value.type)} ${safeName(local, dialect.reserved)} = ${printValue(value, context).text};`,
      );
    }
    lines.line(`return ${printValue(result, context).text};`);
  });
  const formula = entry.formula === undefined ? '' : `// ${commentText(`${op}: ${entry.formula}`)}\n`;
  return { name, text: formula + lines.toString(), needs: definitions.list };
}

const functionName = ({ op }: FunctionRequest, typeName: string): string => `${snakeCase(op)}_${typeName}`;

interface Named {
  readonly name: string;
  readonly value: Value;
}

/** A program as named steps; its parameters are the function's. What the result does not need is left out. */
function threeAddress(
  { instructions, results }: TermProgram,
  lanes: number,
): { lets: readonly Named[]; result: Value } {
  const needed = new Set<number>(results);
  for (let id = instructions.length - 1; id >= 0; id--) {
    const instruction = at(instructions, id);
    if (!needed.has(id) || instruction.kind === 'parameter' || instruction.kind === 'constant') continue;
    for (const arg of instruction.kind === 'apply' ? instruction.args : [instruction.value]) needed.add(arg);
  }
  const values = new Map<number, Value>();
  const lets: Named[] = [];
  const used = new Map<string, number>(parameters.map((name) => [name, 1]));
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
