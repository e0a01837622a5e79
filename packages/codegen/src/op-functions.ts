// The functions that stand for ops which the table defines by others, so that kernels read `exp_f32x16(x)`: printed by the printer of
// kernels, inlined unless they are long. An op with a guard becomes two: a rare one, kept out of line, that computes it, and the
// inlined one that tests the guard and is 0 where it holds in no lane.
import { at, Lines } from '@tsinductor/base';
import type { Value, ValueType } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';
import type { Definition, Dialect } from './dialect.ts';
import { Definitions, primary } from './dialect.ts';
import { commentText, safeName, snakeCase } from './names.ts';
import { namedBy, opFunction, parameterNames } from './op-function.ts';
import type { OpFunction, OpRequest, Steps } from './op-function.ts';
import { printValue } from './print-value.ts';
import type { ValueContext } from './print-value.ts';

/** What the passes for a machine make of a value. */
type ChangeValue = (value: Value) => Value;

/** The functions of a dialect. Each is written once: most values of a graph use a few. */
export class OpFunctions {
  readonly #dialect: Dialect;
  readonly #change: ChangeValue;
  readonly #written = new Map<string, Definition>();

  /** `change`: what becomes of the values of a function before they are printed, as of those of a kernel; nothing, if absent. */
  constructor(dialect: Dialect, change: ChangeValue = (value) => value) {
    this.#dialect = dialect;
    this.#change = change;
  }

  /** The function of an op that has a decomposition at these types. */
  readonly of = (request: OpRequest): Definition => {
    const name = `${snakeCase(request.op)}_${this.#dialect.type(namedBy(request)).text}`;
    const written = this.#written.get(name) ?? this.#write(name, opFunction(request));
    this.#written.set(name, written);
    return written;
  };

  #write(name: string, { steps, guard, isLong, ...request }: OpFunction): Definition {
    const dialect = this.#dialect;
    const { op, operands, type } = request;
    const { formula } = pointwise[op];
    const comment = formula === undefined ? '' : `// ${commentText(`${op}: ${formula}`)}\n`;
    const own = this.#text(request);
    if (guard === undefined) {
      const head = isLong ? dialect.longFunction : dialect.inlineFunction;
      const text = own.write(head(own.signature(name)), (lines) => `return ${own.steps(lines, steps)};`);
      return { name, text: comment + text, needs: own.needs };
    }
    const rare = this.#text(request);
    const rareName = `${name}_rare`;
    const rareText = rare.write(
      dialect.rareFunction(rare.signature(rareName)),
      (lines) => `return ${rare.steps(lines, steps)};`,
    );
    const text = own.write(dialect.inlineFunction(own.signature(name)), (lines) => {
      const holds = own.steps(lines, guard);
      const nowhere = dialect.nowhere(primary(holds), { ...type, dtype: 'bool' });
      const zero = dialect.constant(type, 0);
      own.use([...nowhere.needs, ...zero.needs]);
      const args = operands.map((_, slot) => at(parameterNames, slot)).join(', ');
      return `return ${nowhere.text} ? ${zero.text} : ${rareName}(${args});`;
    });
    return { name, text, needs: [...own.needs, { name: rareName, text: comment + rareText, needs: rare.needs }] };
  }

  #text(request: OpRequest): FunctionText {
    return new FunctionText(request, { dialect: this.#dialect, change: this.#change, functionOf: this.of });
  }
}

interface FunctionContext extends Pick<ValueContext, 'dialect' | 'functionOf'> {
  readonly change: ChangeValue;
}

/** The text of one function of an op's operands and result, with what it needs. */
class FunctionText {
  readonly #request: OpRequest;
  readonly #context: FunctionContext;
  readonly #definitions = new Definitions();

  constructor(request: OpRequest, context: FunctionContext) {
    this.#request = request;
    this.#context = context;
    this.#type(namedBy(request));
  }

  get needs(): readonly Definition[] {
    return this.#definitions.list;
  }

  use(needs: readonly Definition[]): void {
    this.#definitions.add(needs);
  }

  #type(valueType: ValueType): string {
    const expression = this.#context.dialect.type(valueType);
    this.use(expression.needs);
    return expression.text;
  }

  signature(name: string): string {
    const { operands, type } = this.#request;
    const list = operands.map((operand, slot) => `${this.#type(operand)} ${at(parameterNames, slot)}`).join(', ');
    return `${this.#type(type)} ${name}(${list})`;
  }

  /** `body` writes all lines but the last, which it gives. */
  write(head: string, body: (lines: Lines) => string): string {
    const lines = new Lines();
    lines.block(`${head} {`, () => {
      lines.line(body(lines));
    });
    return lines.toString();
  }

  /** Writes the steps but for the result, of which it gives the text. */
  steps(lines: Lines, { lets, result }: Steps): string {
    const { dialect, change, functionOf } = this.#context;
    const use = (needs: readonly Definition[]): void => {
      this.use(needs);
    };
    const context: ValueContext = { dialect, use, isVector: () => false, functionOf };
    for (const { name, value } of lets) {
      const local = safeName(name, dialect.reserved);
      lines.line(`const ${this.#type(value.type)} ${local} = ${printValue(change(value), context).text};`);
    }
    return printValue(change(result), context).text;
  }
}
