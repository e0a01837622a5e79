// An op that the table defines by other ops becomes a function of the prelude, so that kernels read `exp_f32x16(x)`: its
// term as a body, printed by the same printer, inlined unless it is long. An op with a guard becomes two: a rare one, kept
// out of line, that computes it, and the inlined one that tests the guard and is 0 where it holds in no lane.
import { at, get, invariant, Lines } from '@tsinductor/base';
import type { ScalarConstant, Value, ValueType } from '@tsinductor/ir';
import { compileTerm, pointwise } from '@tsinductor/ops';
import type { PointwiseName, Term, TermProgram } from '@tsinductor/ops';
import type { Definition, Dialect } from './dialect.ts';
import { Definitions, primary } from './dialect.ts';
import { commentText, safeName, snakeCase } from './names.ts';
import { printValue } from './print-value.ts';
import type { ValueContext } from './print-value.ts';

export interface FunctionRequest {
  readonly op: PointwiseName;
  readonly operands: readonly ValueType[];
  readonly type: ValueType;
}

/** The functions of a dialect that are written already, by name: most values of a graph use a few. */
export type WrittenFunctions = Map<string, Definition>;

const parameters: readonly string[] = ['x', 'y', 'z'];

/** Instructions above which a call costs nothing beside the function, and each copy of it in a kernel much of the compile time. */
const LONG = 250;

const firstOperand = ({ op, operands }: FunctionRequest): ValueType =>
  at(operands, pointwise[op].rule === 'select' ? 1 : 0);

/** The function of `request`, written now if it is not yet. */
export function writtenFunction(
  request: FunctionRequest,
  { dialect, written }: Pick<ValueContext, 'dialect' | 'written'>,
): Definition {
  const name = functionName(request, dialect.type(firstOperand(request)).text);
  const definition = written.get(name) ?? decomposedFunction(request, { dialect, written });
  written.set(name, definition);
  return definition;
}

function decomposedFunction(request: FunctionRequest, within: Pick<ValueContext, 'dialect' | 'written'>): Definition {
  const { dialect } = within;
  const { op, operands } = request;
  const entry = pointwise[op];
  const first = firstOperand(request);
  const term = entry.decompose?.(first.dtype);
  invariant(term !== undefined, `${op} has no decomposition at ${first.dtype}`);
  const dtypes = Object.fromEntries(operands.map((operand, slot) => [at(parameters, slot), operand.dtype]));
  const compiled = (part: Term): TermProgram => compileTerm(part, first.dtype, { parameters: dtypes, expand: false });
  const guard = entry.guard?.(first.dtype);
  const formula = entry.formula === undefined ? '' : `// ${commentText(`${op}: ${entry.formula}`)}\n`;
  const writer = new FunctionWriter(request, within);
  const name = functionName(request, writer.type(first));
  if (guard === undefined) {
    const program = compiled(term);
    const head = program.instructions.length > LONG ? dialect.longFunction : dialect.inlineFunction;
    const text = writer.write(head(writer.signature(name)), (lines) => {
      lines.line(`return ${writer.steps(lines, program)};`);
    });
    return { name, text: formula + text, needs: writer.needs };
  }
  const rare = new FunctionWriter(request, within);
  const rareName = `${name}_rare`;
  const rareText = rare.write(dialect.rareFunction(rare.signature(rareName)), (lines) => {
    lines.line(`return ${rare.steps(lines, compiled(term))};`);
  });
  const definition: Definition = { name: rareName, text: formula + rareText, needs: rare.needs };
  const text = writer.write(dialect.inlineFunction(writer.signature(name)), (lines) => {
    const holds = writer.steps(lines, compiled(guard));
    const nowhere = dialect.nowhere(primary(holds), { ...request.type, dtype: 'bool' });
    const zero = dialect.constant(request.type, 0);
    writer.use([...nowhere.needs, ...zero.needs]);
    const args = operands.map((_, slot) => at(parameters, slot)).join(', ');
    lines.line(`return ${nowhere.text} ? ${zero.text} : ${rareName}(${args});`);
  });
  return { name, text, needs: [...writer.needs, definition] };
}

/** The text of one function of `request`'s parameters and result, with what it needs. */
class FunctionWriter {
  readonly #request: FunctionRequest;
  readonly #dialect: Dialect;
  readonly #written: WrittenFunctions;
  readonly #definitions = new Definitions();

  constructor(request: FunctionRequest, { dialect, written }: Pick<ValueContext, 'dialect' | 'written'>) {
    this.#request = request;
    this.#dialect = dialect;
    this.#written = written;
  }

  get needs(): readonly Definition[] {
    return this.#definitions.list;
  }

  use(needs: readonly Definition[]): void {
    this.#definitions.add(needs);
  }

  type(valueType: ValueType): string {
    const expression = this.#dialect.type(valueType);
    this.use(expression.needs);
    return expression.text;
  }

  signature(name: string): string {
    const { operands, type } = this.#request;
    const list = operands.map((operandType, slot) => `${this.type(operandType)} ${at(parameters, slot)}`).join(', ');
    return `${this.type(type)} ${name}(${list})`;
  }

  write(head: string, body: (lines: Lines) => void): string {
    const lines = new Lines();
    lines.block(`${head} {`, () => {
      body(lines);
    });
    return lines.toString();
  }

  /** Writes the steps of a program; the text of its result. */
  steps(lines: Lines, program: TermProgram): string {
    const context = {
      dialect: this.#dialect,
      use: (needs: readonly Definition[]) => {
        this.use(needs);
      },
      isVector: () => false,
      written: this.#written,
    };
    const { lets, result } = threeAddress(program, at(this.#request.operands, 0).lanes);
    for (const { name, value } of lets) {
      const local = safeName(name, this.#dialect.reserved);
      lines.line(`const ${this.type(value.type)} ${local} = ${printValue(value, context).text};`);
    }
    return printValue(result, context).text;
  }
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
