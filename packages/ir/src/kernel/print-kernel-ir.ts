// The Kernel IR as text, for tests, dumps and messages of the verifier: one statement per line, types by suffix.
import { at, Lines } from '@tsinductor/base';
import { printIndex } from '../print/print-index.ts';
import type {
  Access,
  Condition,
  Kernel,
  Launch,
  MemoryPlace,
  SortStmt,
  Stmt,
  TileCorner,
  Value,
  ValueType,
} from './kernel.ts';
import { targetOps } from './target-ops.ts';

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
    case 'target': {
      const { numbers } = targetOps[value.op];
      const given = value.numbers.map((number, slot) => `${at(numbers, slot)} ${String(number)}`);
      return `${value.op}(${[...value.args.map(printKernelValue), ...given].join(', ')})`;
    }
    case 'cast':
    case 'bitcast':
    case 'broadcast':
      return `${value.kind}<${type}>(${printKernelValue(value.value)})`;
    case 'half':
      return `${value.part}(${printKernelValue(value.value)})`;
    case 'rearranged':
      return `lanes ${value.order.join(' ')} of (${printKernelValue(value.value)}, ${printKernelValue(value.other)})`;
    case 'load': {
      const other = value.other === undefined ? '' : ` else ${printKernelValue(value.other)}`;
      const by = value.by === undefined ? '' : ` by ${value.by}`;
      return `load<${type}> ${printAccessText(value.access, value.mask)}${other}${by}`;
    }
  }
}

const operators: Readonly<Record<Condition['kind'], string>> = { less: '<', equal: '==', notEqual: '!=' };
const corner = ({ buffer, at, step }: TileCorner): string => `${buffer}[${printIndex(at)}, by ${printIndex(step)}]`;

type BlockStmt = Extract<Stmt, { readonly body: readonly Stmt[] } | { readonly then: readonly Stmt[] }>;

export function printStatement(statement: Stmt, lines: Lines): void {
  if ('body' in statement || 'then' in statement) printBlocks(statement, lines);
  else lines.line(lineOf(statement));
}

function printBlocks(statement: BlockStmt, lines: Lines): void {
  const block = (open: string, body: readonly Stmt[]): void => {
    lines.block(open, () => {
      for (const inner of body) printStatement(inner, lines);
    });
  };
  switch (statement.kind) {
    case 'while': {
      const { left, right, kind } = statement.test;
      block(`while ${printIndex(left)} ${operators[kind]} ${printIndex(right)} {`, statement.body);
      break;
    }
    case 'for': {
      const { name, from, to, step, unroll } = statement;
      const advance = typeof step === 'number' ? String(step) : printIndex(step);
      const hints = `${advance === '1' ? '' : ` step ${advance}`}${unroll === undefined ? '' : ` unroll ${String(unroll)}`}`;
      block(`for ${name} in ${printIndex(from)} .. ${printIndex(to)}${hints} {`, statement.body);
      break;
    }
    case 'if': {
      const { test, then, otherwise } = statement;
      block(`if ${printIndex(test.left)} ${operators[test.kind]} ${printIndex(test.right)} {`, then);
      if (otherwise !== undefined) block('else {', otherwise);
      break;
    }
    case 'parallel': {
      const { begin, end, total, grain, ordered } = statement;
      block(`parallel ${begin} .. ${end} of ${printIndex(total)} grain ${printIndex(grain)} {`, statement.body);
      if (ordered !== undefined) block(`ordered by ${ordered.turn} {`, ordered.body);
      break;
    }
  }
}

const named = (name: string, value: Value): string => `${name}: ${printValueType(value.type)}`;

const place = ({ buffer, at }: MemoryPlace): string => `${buffer}[${printIndex(at)}]`;

function lineOf(statement: Exclude<Stmt, BlockStmt>): string {
  switch (statement.kind) {
    case 'let':
    case 'var':
    case 'set':
      return `${statement.kind} ${named(statement.name, statement.value)} = ${printKernelValue(statement.value)}`;
    case 'store': {
      const { access, mask, hint, value } = statement;
      return `${hint ?? 'store'} ${printAccessText(access, mask)} = ${printKernelValue(value)}`;
    }
    case 'atomic':
      return `atomic ${statement.op} ${printAccessText(statement.access, undefined)}, ${printKernelValue(statement.value)}`;
    case 'fetch': {
      const { name, op, access, value, expected } = statement;
      const test = expected === undefined ? '' : ` if ${printKernelValue(expected)}`;
      return `fetch ${name} = ${op} ${printAccessText(access, undefined)}, ${printKernelValue(value)}${test}`;
    }
    case 'scratch': {
      const place = statement.shared === undefined ? '' : ` shared at ${String(statement.shared)}`;
      return `scratch ${statement.name}: ${statement.dtype}[${String(statement.size)}]${place}`;
    }
    case 'barrier':
      return `barrier ${statement.scope}`;
    case 'shuffle': {
      const { name, value, mode, distance } = statement;
      return `shuffle ${named(name, value)} = ${printKernelValue(value)} ${mode} ${printIndex(distance)}`;
    }
    case 'copyAsync': {
      const { lanes, dtype, from, to, mask } = statement;
      const where = mask === undefined ? '' : ` where ${printKernelValue(mask)}`;
      return `copy ${dtype}x${String(lanes)} ${place(to)} = ${place(from)}${where}`;
    }
    case 'copies':
      return statement.action === 'commit' ? 'copies commit' : `copies wait ${String(statement.pending)}`;
    case 'matrixLoad': {
      const { names, from, transposed } = statement;
      return `matrices ${names.join(', ')} = ${place(from)}${transposed ? ' transposed' : ''}`;
    }
    case 'matrixMultiply': {
      const { dtype, left, right, sum } = statement;
      const words = (values: readonly Value[]): string => `(${values.map(printKernelValue).join(', ')})`;
      return `multiply ${dtype} ${place(sum)} += ${words(left)} * ${words(right)}`;
    }
    case 'check':
      return checkText(statement);
    case 'transpose':
    case 'sort':
    case 'print':
    case 'fail':
    case 'bounds':
    case 'fence':
      return effectText(statement);
    case 'prefetch':
      return `prefetch ${statement.intent} ${statement.buffer}[${printIndex(statement.at)}]${statement.into === undefined ? '' : ` into the ${statement.into} cache`}`;
    case 'comment':
      return `// ${statement.text}`;
  }
}

function checkText({ name, value, extent, site, wraps, count }: Stmt & { readonly kind: 'check' }): string {
  const first = count === undefined ? '' : ` first ${printIndex(count)}`;
  return `${wraps ? 'check wrapped' : 'check'} ${name} = ${printKernelValue(value)} in ${printIndex(extent)}${first} site ${String(site)}`;
}

const transposeText = ({ from, to, rows, columns, hint }: Stmt & { readonly kind: 'transpose' }): string =>
  `transpose ${corner(to)} = ${corner(from)}, ${printIndex(rows)} x ${printIndex(columns)}${hint === undefined ? '' : ` ${hint}`}`;

function sortText(statement: SortStmt): string {
  const { descending, keys, length, kept, places, values, indices, scratch, threads } = statement;
  const results = [values && `values ${corner(values)}`, indices && `indices ${corner(indices)}`].filter(Boolean);
  const which = places === undefined ? `first ${printIndex(kept)}` : `${printIndex(kept)} at ${corner(places)}`;
  const order = descending ? 'descending' : 'ascending';
  return `sort ${order} ${results.join(', ')} = ${which} of ${printIndex(length)} ${corner(keys)}, in ${place(scratch)} by ${threads}`;
}

type EffectStmt = Stmt & { readonly kind: 'transpose' | 'sort' | 'print' | 'fail' | 'bounds' | 'fence' };

function effectText(statement: EffectStmt): string {
  if (statement.kind === 'transpose') return transposeText(statement);
  if (statement.kind === 'sort') return sortText(statement);
  if (statement.kind === 'fence') return 'fence';
  const { unit } = statement;
  if (statement.kind === 'bounds') {
    const { access, count, mask, size, site } = statement;
    return `bounds ${printAccessText(access, mask)} first ${printIndex(count)} of ${printIndex(size)} site ${String(site)}`;
  }
  if (statement.kind === 'fail')
    return `fail at ${printIndex(unit)} site ${String(statement.site)}: ${JSON.stringify(statement.reason.message)}`;
  const { parts } = statement;
  const texts = parts.map((part) => (typeof part === 'string' ? JSON.stringify(part) : printKernelValue(part)));
  return `print at ${printIndex(unit)}: ${texts.join(' ')}`;
}

const printLaunch = ({ blocks, threads, sharedBytes, names }: Launch): string =>
  `launch ${names.block} of ${names.blocks} = ${printIndex(blocks)}, ${names.thread} of ${String(threads)}, shared ${String(sharedBytes)}`;

export function printKernelIr(kernel: Kernel): string {
  const lines = new Lines();
  lines.block(`kernel ${kernel.name} {`, () => {
    for (const { name, dtype, role, size } of kernel.buffers)
      lines.line(`${role} ${name}: ${dtype}[${printIndex(size)}]`);
    if (kernel.sizes.length > 0) lines.line(`sizes ${kernel.sizes.join(', ')}`);
    if (kernel.indexDType !== undefined) lines.line(`indices ${kernel.indexDType}`);
    if (kernel.launch !== undefined) lines.line(printLaunch(kernel.launch));
    for (const statement of kernel.body) printStatement(statement, lines);
  });
  return lines.toString();
}
