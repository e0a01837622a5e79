// A kernel as text in a dialect. In: a verified Kernel. Out: its functions, and the prelude definitions they use.
import { Lines } from '@tsinductor/base';
import { visitStatements } from '@tsinductor/ir';
import type { Condition, Kernel, Stmt } from '@tsinductor/ir';
import { Definitions } from './dialect.ts';
import type { Definition, Dialect, Expression, ParameterText } from './dialect.ts';
import { frameKernel } from './frame-kernel.ts';
import type { FramedKernel } from './frame-kernel.ts';
import { commentText, originText, safeName } from './names.ts';
import type { OpFunctions } from './op-functions.ts';
import { spellEffect, spellHardware } from './print-hardware.ts';
import { indexTypeOf, printAccess, printScalarIndex, printValue } from './print-value.ts';
import type { ValueContext } from './print-value.ts';

export interface PrintedKernel extends FramedKernel {
  readonly definitions: readonly Definition[];
  readonly hasChecks: boolean;
  /** Whether it takes a log, as its last parameter. */
  readonly hasLog: boolean;
  /** What it computes and how, as comment lines. */
  readonly comment: string;
}

interface PrintOptions {
  readonly dialect: Dialect;
  /** What stands before the kernel's return type: its linkage. */
  readonly linkage: string;
  /** Of the dialect: those that kernels share. */
  readonly functions: OpFunctions;
}

interface Printer extends ValueContext {
  readonly lines: Lines;
  readonly vectors: Set<string>;
}

export function printKernel(kernel: Kernel, options: PrintOptions): PrintedKernel {
  const { dialect, linkage, functions } = options;
  const definitions = new Definitions();
  const vectors = new Set<string>();
  const use = (needs: readonly Definition[]): void => {
    definitions.add(needs);
  };
  const hasChecks = contains(kernel.body, 'check');
  const log = contains(kernel.body, 'print', 'fail', 'bounds') ? dialect.printLog : undefined;
  const parameters = parametersOf(kernel, { dialect, use });
  if (hasChecks) parameters.push(statusParameter);
  if (log !== undefined) parameters.push(logParameter(log.text));
  use(log?.needs ?? []);
  const isVector = (candidate: string): boolean => vectors.has(candidate);
  const { indexDType = 'i64' } = kernel;
  const functionOf = functions.of;
  const printer: Printer = { dialect, vectors, lines: new Lines(), use, isVector, functionOf, indexDType };
  const texts = statementTexts(kernel, printer);
  return {
    ...frameKernel(kernel.name, { kernel, parameters, linkage, texts, context: printer }),
    definitions: definitions.list,
    hasChecks,
    hasLog: log !== undefined,
    comment: commentOf(kernel),
  };
}

/** Where a kernel comes from, and how it was bound. */
function commentOf({ origins, notes }: Kernel): string {
  const text = [originText(origins), ...(notes.length === 0 ? [] : [notes.join('; ')])].join(': ');
  return text === '' ? '' : `// ${commentText(text)}\n`;
}

/** Bodies of parallel loops first: they stand before the kernel's own function. */
function statementTexts({ body }: Kernel, printer: Printer): ReadonlyMap<Stmt, string> {
  const texts = new Map<Stmt, string>();
  for (const statement of body) if (statement.kind === 'parallel') texts.set(statement, partText(printer, statement));
  for (const statement of body)
    if (statement.kind !== 'parallel') texts.set(statement, blockText(printer, [statement]));
  return texts;
}

/** What is done of a chunk: the body, and in the chunk's turn what has an order. */
function partText(printer: Printer, { body, ordered, begin, end }: Stmt & { readonly kind: 'parallel' }): string {
  const text = blockText(printer, body);
  if (ordered === undefined) return text;
  const { dialect, use } = printer;
  const [turn, from, to] = [ordered.turn, begin, end].map((name) => safeName(name, dialect.reserved)) as [
    string,
    string,
    string,
  ];
  const [wait, pass] = [dialect.awaitTurn({ turn, unit: from }), dialect.passTurn({ turn, unit: to })];
  use([...wait.needs, ...pass.needs]);
  return `${text}${wait.text};\n${blockText(printer, ordered.body)}${pass.text};\n`;
}

const statusParameter: ParameterText = {
  kind: 'status',
  name: 'status',
  type: 'int',
  isWritten: true,
  isShared: false,
};

const logParameter = (type: string): ParameterText => ({
  kind: 'log',
  name: 'log',
  type,
  isWritten: true,
  isShared: false,
});

function parametersOf(kernel: Kernel, { dialect, use }: Pick<Printer, 'dialect' | 'use'>): ParameterText[] {
  const buffers = kernel.buffers.map((buffer): ParameterText => {
    const element = dialect.element(buffer.dtype);
    use(element.needs);
    const name = safeName(buffer.name, dialect.reserved);
    const isShared = buffer.shares === true;
    return { kind: 'buffer', name, type: element.text, isWritten: buffer.role !== 'read', isShared };
  });
  const size = dialect.type(indexTypeOf(kernel));
  use(size.needs);
  const sizes = kernel.sizes.map((symbol): ParameterText => {
    const name = safeName(symbol, dialect.reserved);
    return { kind: 'size', name, type: size.text, isWritten: false, isShared: false };
  });
  return [...buffers, ...sizes];
}

function contains(block: readonly Stmt[], ...kinds: readonly Stmt['kind'][]): boolean {
  let found = false;
  visitStatements(block, (statement) => {
    found ||= kinds.includes(statement.kind);
  });
  return found;
}

/** The statements of `block`, each on lines of its own. */
function blockText(printer: Printer, block: readonly Stmt[]): string {
  const lines = new Lines();
  for (const statement of block) printStatement({ ...printer, lines }, statement);
  return lines.toString();
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
    case 'atomic':
    case 'fetch':
      printUpdate(printer, statement);
      break;
    case 'for':
      printFor(printer, statement);
      break;
    case 'while':
      printWhile(printer, statement);
      break;
    case 'if':
      printIf(printer, statement);
      break;
    case 'parallel':
      break;
    case 'scratch':
      printScratch(printer, statement);
      break;
    case 'barrier':
    case 'shuffle':
      printMeeting(printer, statement);
      break;
    case 'copyAsync':
    case 'copies':
    case 'matrixLoad':
    case 'matrixMultiply':
      printCall(printer, spellHardware(statement, printer));
      break;
    case 'check':
      printCheck(printer, statement);
      break;
    case 'transpose':
      printTranspose(printer, statement);
      break;
    case 'sort':
    case 'fence':
    case 'print':
    case 'fail':
    case 'bounds':
    case 'prefetch':
      printCall(printer, spellEffect(statement, printer));
      break;
    case 'comment':
      lines.line(`// ${commentText(`${statement.text}${originText(statement.origins ?? [])}`)}`);
      break;
  }
}

function printCall({ lines, use }: Printer, call: Expression): void {
  use(call.needs);
  lines.line(`${call.text};`);
}

function printScratch(printer: Printer, { name, dtype, size, shared }: Stmt & { readonly kind: 'scratch' }): void {
  const { dialect } = printer;
  printCall(printer, dialect.scratch({ name: safeName(name, dialect.reserved), dtype, size, shared }));
}

function printMeeting(printer: Printer, statement: Stmt & { readonly kind: 'barrier' | 'shuffle' }): void {
  if (statement.kind === 'shuffle') printShuffle(printer, statement);
  else printCall(printer, printer.dialect.barrier(statement.scope));
}

function printShuffle(printer: Printer, statement: Stmt & { readonly kind: 'shuffle' }): void {
  const { dialect, lines } = printer;
  const { type } = statement.value;
  const typeText = dialect.type(type);
  const shuffle = dialect.shuffle({
    type,
    value: printValue(statement.value, printer).text,
    mode: statement.mode,
    distance: printScalarIndex(statement.distance, printer),
  });
  printer.use([...typeText.needs, ...shuffle.needs]);
  lines.line(`const ${typeText.text} ${safeName(statement.name, dialect.reserved)} = ${shuffle.text};`);
}

function printUpdate(printer: Printer, statement: Stmt & { readonly kind: 'atomic' | 'fetch' }): void {
  if (statement.kind === 'atomic') printAtomic(printer, statement);
  else printFetch(printer, statement);
}

function printAtomic(printer: Printer, { op, access, value }: Stmt & { readonly kind: 'atomic' }): void {
  const { buffer, at } = printAccess(access, undefined, printer);
  const text = printValue(value, printer).text;
  printCall(printer, printer.dialect.atomic({ op, type: value.type, buffer, at, value: text }));
}

function printFetch(printer: Printer, statement: Stmt & { readonly kind: 'fetch' }): void {
  const { dialect, lines } = printer;
  const { name, op, access, value, expected } = statement;
  const { buffer, at } = printAccess(access, undefined, printer);
  const type = dialect.type(value.type);
  const fetch = dialect.fetch({
    op,
    type: value.type,
    buffer,
    at,
    value: printValue(value, printer).text,
    expected: expected === undefined ? undefined : printValue(expected, printer).text,
  });
  printer.use([...type.needs, ...fetch.needs]);
  lines.line(`const ${type.text} ${safeName(name, dialect.reserved)} = ${fetch.text};`);
}

function printWhile(printer: Printer, { test, body }: Stmt & { readonly kind: 'while' }): void {
  const [left, right] = [test.left, test.right].map((index) => printScalarIndex(index, printer));
  printer.lines.block(`while (${String(left)} ${conditionOperators[test.kind]} ${String(right)}) {`, () => {
    for (const inner of body) printStatement(printer, inner);
  });
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
  const distance = typeof step === 'number' ? String(step) : printScalarIndex(step, printer);
  const advance = distance === '1' ? `++${variable}` : `${variable} += ${distance}`;
  const size = dialect.type(indexTypeOf(printer)).text;
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
    wraps: statement.wraps,
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
    isNonTemporal: statement.hint === 'non-temporal',
  });
  printer.use(transpose.needs);
  printer.lines.line(`${transpose.text};`);
}
