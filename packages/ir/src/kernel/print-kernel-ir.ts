// The Kernel IR as text, for tests, dumps and messages of the verifier: one statement per line, types by suffix.
import { Lines } from '@tsinductor/base';
import { printIndex } from '../print/print-index.ts';
import type { Access, Condition, Kernel, Stmt, TileCorner, Value, ValueType } from './kernel.ts';

export const printValueType = ({ dtype, lanes }: ValueType): string =>
  lanes === 1 ? dtype : `${dtype}x${String(lanes)}`;

function printAccessText(access: Access, mask: Value | undefined): string {
  const parts = [printIndex(access.at)];
  if (access.offsets !== undefined) parts.push(`+ ${printKernelValue(access.offsets)}`);
  else if (!(access.step.kind === 'int' && access.step.value === 1)) parts.push(`by ${printIndex(access.step)}`);
  if (access.count !== undefined) parts.push(`first ${printIndex(access.count)}`);
  if (mask !== undefined) parts.push(`where ${printKernelValue(mask)}`);
  return `${access.buffer}[${parts.join(', ')}]`;
}

export function printKernelValue(value: Value): string {
  const type = printValueType(value.type);
  switch (value.kind) {
    case 'name':
      return value.name;
    case 'constant':
      return `${typeof value.value === 'object' ? value.value.bigint : String(value.value)}:${type}`;
    case 'index':
      return `index<${type}>(${printIndex(value.value)}${value.lane === undefined ? '' : `, lanes ${value.lane}`})`;
    case 'first':
      return `first<${type}>(${printIndex(value.count)})`;
    case 'apply':
      return `${value.op}(${value.args.map(printKernelValue).join(', ')})`;
    case 'cast':
    case 'bitcast':
    case 'broadcast':
      return `${value.kind}<${type}>(${printKernelValue(value.value)})`;
    case 'half':
      return `${value.part}(${printKernelValue(value.value)})`;
    case 'load': {
      const other = value.other === undefined ? '' : ` else ${printKernelValue(value.other)}`;
      return `load<${type}> ${printAccessText(value.access, value.mask)}${other}`;
    }
  }
}

const operators: Readonly<Record<Condition['kind'], string>> = { less: '<', equal: '==', notEqual: '!=' };
const corner = ({ buffer, at, step }: TileCorner): string => `${buffer}[${printIndex(at)}, by ${printIndex(step)}]`;

export function printStatement(statement: Stmt, lines: Lines): void {
  const block = (open: string, body: readonly Stmt[], close = '}'): void => {
    lines.block(open, () => { for (const inner of body) printStatement(inner, lines); }, close); // prettier-ignore
  };
  switch (statement.kind) {
    case 'let':
    case 'var':
    case 'set':
      lines.line(
        `${statement.kind} ${statement.name}: ${printValueType(statement.value.type)} = ${printKernelValue(statement.value)}`,
      );
      break;
    case 'store':
      lines.line(
        `${statement.hint ?? 'store'} ${printAccessText(statement.access, statement.mask)} = ${printKernelValue(statement.value)}`,
      );
      break;
    case 'for': {
      const { name, from, to, step, unroll } = statement;
      const hints = `${step === 1 ? '' : ` step ${String(step)}`}${unroll === undefined ? '' : ` unroll ${String(unroll)}`}`;
      block(`for ${name} in ${printIndex(from)} .. ${printIndex(to)}${hints} {`, statement.body);
      break;
    }
    case 'if': {
      const { test, then, otherwise } = statement;
      const open = `if ${printIndex(test.left)} ${operators[test.kind]} ${printIndex(test.right)} {`;
      block(open, then);
      if (otherwise !== undefined) block('else {', otherwise);
      break;
    }
    case 'parallel': {
      const { begin, end, total, grain } = statement;
      block(`parallel ${begin} .. ${end} of ${printIndex(total)} grain ${printIndex(grain)} {`, statement.body);
      break;
    }
    case 'scratch':
      lines.line(`scratch ${statement.name}: ${statement.dtype}[${String(statement.size)}]`);
      break;
    case 'check': {
      const count = statement.count === undefined ? '' : ` first ${printIndex(statement.count)}`;
      const { name, value, extent, site } = statement;
      lines.line(`check ${name} = ${printKernelValue(value)} in ${printIndex(extent)}${count} site ${String(site)}`);
      break;
    }
    case 'transpose': {
      const { from, to, rows, columns } = statement;
      lines.line(`transpose ${corner(to)} = ${corner(from)}, ${printIndex(rows)} x ${printIndex(columns)}`);
      break;
    }
    case 'fence':
      lines.line('fence');
      break;
    case 'prefetch':
      lines.line(`prefetch ${statement.intent} ${statement.buffer}[${printIndex(statement.at)}]`);
      break;
    case 'comment':
      lines.line(`// ${statement.text}`);
      break;
  }
}

export function printKernelIr(kernel: Kernel): string {
  const lines = new Lines();
  lines.block(`kernel ${kernel.name} {`, () => {
    for (const { name, dtype, role, size } of kernel.buffers)
      lines.line(`${role} ${name}: ${dtype}[${printIndex(size)}]`);
    if (kernel.sizes.length > 0) lines.line(`sizes ${kernel.sizes.join(', ')}`);
    for (const statement of kernel.body) printStatement(statement, lines);
  });
  return lines.toString();
}
