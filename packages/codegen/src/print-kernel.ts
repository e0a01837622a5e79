// A kernel as text in a dialect. In: a verified Kernel. Out: its functions, and the prelude definitions they use.
//
// A kernel is one function that gets its buffers and sizes in a struct, so that the bodies of its parallel loops, which
// are functions of their own, get the same struct as their context.
import { Lines } from '@tsinductor/base';
import { visitStatements } from '@tsinductor/ir';
import type { Condition, Kernel, Stmt } from '@tsinductor/ir';
import { Definitions } from './dialect.ts';
import type { Definition, Dialect } from './dialect.ts';
import { commentText, originText, safeName } from './names.ts';
import { printAccess, printScalarIndex, printValue } from './print-value.ts';
import type { ValueContext } from './print-value.ts';

export interface PrintedKernel {
  readonly name: string;
  /** The struct of its arguments. */
  readonly struct: string;
  /** Its prototype, without the semicolon. */
  readonly prototype: string;
  /** Its functions, the kernel's own last. */
  readonly text: string;
  readonly definitions: readonly Definition[];
  readonly hasChecks: boolean;
  /** What it computes and how, as comment lines. */
  readonly comment: string;
}

export interface PrintOptions {
  readonly dialect: Dialect;
  /** The name in the text: unique in the unit. */
  readonly name: string;
  /** What stands before the kernel's return type: its linkage. */
  readonly linkage: string;
  readonly comment: string;
}

interface Printer extends ValueContext {
  readonly lines: Lines;
  readonly kernel: Kernel;
  readonly name: string;
  readonly vectors: Set<string>;
}

export function printKernel(kernel: Kernel, { dialect, name, linkage, comment }: PrintOptions): PrintedKernel {
  const definitions = new Definitions();
  const vectors = new Set<string>();
  const printer: Printer = {
    dialect,
    kernel,
    name,
    vectors,
    lines: new Lines(),
    use: (needs) => {
      definitions.add(needs);
    },
    isVector: (candidate) => vectors.has(candidate),
  };
  const hasChecks = containsCheck(kernel.body);
  const struct = printStruct(printer, hasChecks);
  const bodies = new Map<Stmt, string>();
  for (const statement of kernel.body) {
    if (statement.kind !== 'parallel') continue;
    const body = bodies.size === 0 ? `${name}_part` : `${name}_part${String(bodies.size + 1)}`;
    bodies.set(statement, body);
    printBody(printer, statement, body);
  }
  const prototype = `${linkage}void ${name}(const Runtime *runtime, const ${name}_args &args)`;
  printer.lines.block(`${prototype} {`, () => {
    const own = kernel.body.filter((statement) => statement.kind !== 'parallel');
    unpack(printer, own);
    for (const statement of kernel.body) {
      const body = bodies.get(statement);
      if (body === undefined || statement.kind !== 'parallel') printStatement(printer, statement);
      else printParallel(printer, statement, body);
    }
  });
  return {
    name,
    struct,
    prototype,
    text: printer.lines.toString(),
    definitions: definitions.list,
    hasChecks,
    comment: comment === '' ? '' : `// ${commentText(comment)}\n`,
  };
}

function containsCheck(block: readonly Stmt[]): boolean {
  let found = false;
  visitStatements(block, (statement) => {
    found ||= statement.kind === 'check';
  });
  return found;
}

function printStruct({ kernel, dialect, name, use }: Printer, hasChecks: boolean): string {
  const lines = new Lines();
  lines.block(
    `struct ${name}_args {`,
    () => {
      for (const buffer of kernel.buffers) {
        const element = dialect.element(buffer.dtype);
        use(element.needs);
        const qualifier = buffer.role === 'read' ? 'const ' : '';
        lines.line(`${qualifier}${element.text} *${safeName(buffer.name, dialect.reserved)};`);
      }
      const size = dialect.type({ dtype: 'i64', lanes: 1 });
      use(size.needs);
      for (const symbol of kernel.sizes) lines.line(`${size.text} ${safeName(symbol, dialect.reserved)};`);
      if (hasChecks) lines.line('int *status;');
    },
    '};',
  );
  return lines.toString();
}

/** Names for the members of the arguments that `block` uses, decided on the text of the statements. */
function unpack(printer: Printer, block: readonly Stmt[]): void {
  const { kernel, dialect, lines } = printer;
  const probe: Printer = { ...printer, lines: new Lines(), vectors: new Set(printer.vectors) };
  for (const statement of block) printStatement(probe, statement);
  const words = new Set(probe.lines.toString().match(/[A-Za-z_]\w*/g));
  for (const buffer of kernel.buffers) {
    const member = safeName(buffer.name, dialect.reserved);
    if (!words.has(member)) continue;
    const element = dialect.element(buffer.dtype).text;
    lines.line(`${buffer.role === 'read' ? 'const ' : ''}${element} *const ${member} = args.${member};`);
  }
  for (const symbol of kernel.sizes) {
    const member = safeName(symbol, dialect.reserved);
    if (words.has(member) || usesSizes(kernel))
      lines.line(`const ${dialect.type({ dtype: 'i64', lanes: 1 }).text} ${member} = args.${member};`);
  }
  if (containsCheck(block)) lines.line('int *const status = args.status;');
}

const usesSizes = (kernel: Kernel): boolean => kernel.sizes.length > 0;

function printBody(printer: Printer, statement: Stmt & { readonly kind: 'parallel' }, body: string): void {
  const { lines, dialect, name } = printer;
  const size = dialect.type({ dtype: 'i64', lanes: 1 }).text;
  lines.block(`static void ${body}(void *context, ${size} ${statement.begin}, ${size} ${statement.end}) {`, () => {
    lines.line(`const ${name}_args &args = *static_cast<const ${name}_args *>(context);`);
    unpack(printer, statement.body);
    for (const inner of statement.body) printStatement(printer, inner);
  });
  lines.line();
}

function printParallel(printer: Printer, statement: Stmt & { readonly kind: 'parallel' }, body: string): void {
  const call = printer.dialect.parallelCall({
    body,
    context: `const_cast<${printer.name}_args *>(&args)`,
    total: printScalarIndex(statement.total, printer),
    grain: printScalarIndex(statement.grain, printer),
  });
  printer.use(call.needs);
  printer.lines.line(`${call.text};`);
}

const conditionOperators: Readonly<Record<Condition['kind'], string>> = { less: '<', equal: '==', notEqual: '!=' };

function printStatement(printer: Printer, statement: Stmt): void {
  const { lines, dialect } = printer;
  switch (statement.kind) {
    case 'let':
    case 'var':
      printDefinition(printer, statement);
      break;
    case 'set':
      lines.line(`${safeName(statement.name, dialect.reserved)} = ${printValue(statement.value, printer).text};`);
      break;
    case 'store':
      printStore(printer, statement);
      break;
    case 'for':
      printFor(printer, statement);
      break;
    case 'if':
      printIf(printer, statement);
      break;
    case 'parallel':
      break;
    case 'scratch': {
      const scratch = dialect.scratch(safeName(statement.name, dialect.reserved), statement.dtype, statement.size);
      printer.use(scratch.needs);
      lines.line(`${scratch.text};`);
      break;
    }
    case 'check':
      printCheck(printer, statement);
      break;
    case 'transpose':
      printTranspose(printer, statement);
      break;
    case 'fence': {
      const fence = dialect.fence();
      printer.use(fence.needs);
      lines.line(`${fence.text};`);
      break;
    }
    case 'prefetch': {
      const address = `${safeName(statement.buffer, dialect.reserved)} + ${printScalarIndex(statement.at, printer)}`;
      lines.line(`${dialect.prefetch(address, statement.intent).text};`);
      break;
    }
    case 'comment':
      lines.line(`// ${commentText(`${statement.text}${originText(statement.origins ?? [])}`)}`);
      break;
  }
}

function printDefinition(printer: Printer, statement: Stmt & { readonly kind: 'let' | 'var' }): void {
  const { lines, dialect } = printer;
  const { name, value } = statement;
  const type = dialect.type(value.type);
  printer.use(type.needs);
  if (value.type.lanes > 1) printer.vectors.add(name);
  const qualifier = statement.kind === 'let' ? 'const ' : '';
  lines.line(`${qualifier}${type.text} ${safeName(name, dialect.reserved)} = ${printValue(value, printer).text};`);
}

function printStore(printer: Printer, statement: Stmt & { readonly kind: 'store' }): void {
  const { access, mask, hint } = statement;
  const value = printValue(statement.value, printer);
  const text = printAccess(access, mask, printer);
  const store = printer.dialect.store(text, statement.value.type, { text: value.text, hint });
  printer.use(store.needs);
  printer.lines.line(`${store.text};`);
}

function printFor(printer: Printer, statement: Stmt & { readonly kind: 'for' }): void {
  const { lines, dialect } = printer;
  const { name, from, to, step, unroll } = statement;
  const variable = safeName(name, dialect.reserved);
  const advance = step === 1 ? `++${variable}` : `${variable} += ${String(step)}`;
  const size = dialect.type({ dtype: 'i64', lanes: 1 }).text;
  if (unroll !== undefined) lines.line(dialect.unrollHint(unroll));
  const [first, last] = [printScalarIndex(from, printer), printScalarIndex(to, printer)];
  lines.block(`for (${size} ${variable} = ${first}; ${variable} < ${last}; ${advance}) {`, () => {
    for (const inner of statement.body) printStatement(printer, inner);
  });
}

function printIf(printer: Printer, { test, then, otherwise }: Stmt & { readonly kind: 'if' }): void {
  const { lines } = printer;
  const [left, right] = [test.left, test.right].map((index) => printScalarIndex(index, printer));
  const open = `if (${String(left)} ${conditionOperators[test.kind]} ${String(right)}) {`;
  const block = (statements: readonly Stmt[]) => (): void => {
    for (const inner of statements) printStatement(printer, inner);
  };
  if (otherwise === undefined) {
    lines.block(open, block(then));
    return;
  }
  lines.block(open, block(then), '} else {');
  lines.block('', block(otherwise));
}

function printCheck(printer: Printer, statement: Stmt & { readonly kind: 'check' }): void {
  const { dialect, lines } = printer;
  const { type } = statement.value;
  const typeText = dialect.type(type);
  const check = dialect.check({
    type,
    value: printValue(statement.value, printer).text,
    extent: printScalarIndex(statement.extent, printer),
    site: statement.site,
    count: statement.count === undefined ? undefined : printScalarIndex(statement.count, printer),
  });
  printer.use([...typeText.needs, ...check.needs]);
  if (type.lanes > 1) printer.vectors.add(statement.name);
  lines.line(`const ${typeText.text} ${safeName(statement.name, dialect.reserved)} = ${check.text};`);
}

function printTranspose(printer: Printer, statement: Stmt & { readonly kind: 'transpose' }): void {
  const { dialect } = printer;
  const corner = ({ buffer, at: place }: typeof statement.from): string =>
    place.kind === 'int' && place.value === 0
      ? safeName(buffer, dialect.reserved)
      : `${safeName(buffer, dialect.reserved)} + ${printScalarIndex(place, printer)}`;
  const isTile = (index: typeof statement.rows): boolean => index.kind === 'int' && index.value === statement.tile;
  const transpose = dialect.transpose({
    dtype: statement.dtype,
    from: corner(statement.from),
    fromStep: printScalarIndex(statement.from.step, printer),
    to: corner(statement.to),
    toStep: printScalarIndex(statement.to.step, printer),
    rows: printScalarIndex(statement.rows, printer),
    columns: printScalarIndex(statement.columns, printer),
    tile: statement.tile,
    whole: isTile(statement.rows) && isTile(statement.columns),
  });
  printer.use(transpose.needs);
  printer.lines.line(`${transpose.text};`);
}
