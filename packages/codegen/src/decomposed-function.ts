// An op that the table defines by other ops becomes an inlined function of the prelude, so that kernels read
// `exp_f32x16(x)`: its term as a body, printed by the same printer.
import { at, get, invariant, Lines } from '@tsinductor/base';
import { BodyBuilder } from '@tsinductor/ir';
import type { Body, ScalarId, Value, ValueType } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';
import type { PointwiseName } from '@tsinductor/ops';
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
  const builder = new BodyBuilder();
  const bindings = new Map(operands.map((operand, slot) => [at(parameters, slot), builder.carried(slot, operand.dtype)]));
  const result = builder.inlineTerm(term, bindings, first.dtype);
  return printFunction(builder.finish([result]), { op, operands, type }, dialect);
}

function printFunction(body: Body, request: FunctionRequest, dialect: Dialect): Definition {
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
  if (entry.formula !== undefined) lines.line(`// ${commentText(`${op}: ${entry.formula}`)}`);
  lines.block(`${dialect.inlineFunction(`${typeText(type)} ${name}(${signature})`)} {`, () => {
    const { lets, result } = threeAddress(body, operands);
    for (const { name: local, value } of lets) {
      lines.line(`const ${typeText(value.type)} ${safeName(local, dialect.reserved)} = ${printValue(value, context).text};`);
    }
    lines.line(`return ${printValue(result, context).text};`);
  });
  return { name, text: lines.toString(), needs: definitions.list };
}

const functionName = ({ op }: FunctionRequest, typeName: string): string => `${snakeCase(op)}_${typeName}`;

interface Named {
  readonly name: string;
  readonly value: Value;
}

/** A body without loads as named steps; its carried slots are the function's parameters. */
function threeAddress(body: Body, operands: readonly ValueType[]): { lets: readonly Named[]; result: Value } {
  const lanes = Math.max(...operands.map((operand) => operand.lanes));
  const values = new Map<ScalarId, Value>();
  const lets: Named[] = [];
  const used = new Map<string, number>();
  const define = (base: string, value: Value): Value => {
    const count = used.get(base) ?? 0;
    used.set(base, count + 1);
    const name = count === 0 ? base : `${base}_${String(count)}`;
    lets.push({ name, value });
    return { kind: 'name', name, type: value.type };
  };
  const of = (id: ScalarId): Value => get(values, id);
  body.nodes.forEach((node, id) => {
    const type = { dtype: node.dtype, lanes };
    switch (node.kind) {
      case 'constant':
        values.set(id, { kind: 'constant', value: node.value, type });
        break;
      case 'carried':
        values.set(id, { kind: 'name', name: at(parameters, node.slot), type });
        break;
      case 'cast':
      case 'bitcast':
        values.set(id, define(node.kind === 'cast' ? node.dtype : 'bits', { kind: node.kind, value: of(node.value), type }));
        break;
      case 'apply':
        values.set(id, define(snakeCase(node.op), { kind: 'apply', op: node.op, args: node.args.map(of), type }));
        break;
      case 'index':
      case 'load':
      case 'check':
        invariant(false, `a decomposition contains a ${node.kind}`);
    }
  });
  return { lets, result: of(at(body.results, 0)) };
}
