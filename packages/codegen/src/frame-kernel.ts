// The printed statements of a kernel become its functions: one, and one more for the body of each of its parallel loops. How
// they take the kernel's buffers and sizes is the dialect's answer. The name ends in a digest of all that its text is made of, so
// kernels of one name are one kernel.
import { get, Lines, sha256 } from '@tsinductor/base';
import type { Kernel, Stmt } from '@tsinductor/ir';
import type { ParameterText } from './dialect.ts';
import { usedBy } from './names.ts';
import { indexTypeOf, printScalarIndex } from './print-value.ts';
import type { ValueContext } from './print-value.ts';

/** A kernel whose statements are printed. */
interface StatementTexts {
  readonly kernel: Kernel;
  readonly parameters: readonly ParameterText[];
  /** What stands before the kernel's return type: its linkage. */
  readonly linkage: string;
  /** Of the statements of the kernel's own block, in place of a parallel loop those inside it. */
  readonly texts: ReadonlyMap<Stmt, string>;
  readonly context: ValueContext;
}

export interface FramedKernel {
  readonly name: string;
  /** What must be declared before it. */
  readonly struct: string;
  /** Its prototype, without the semicolon. */
  readonly prototype: string;
  /** Its functions, the kernel's own last. */
  readonly text: string;
}

/** The functions of a kernel, whose name begins with `base`. */
export function frameKernel(base: string, statements: StatementTexts): FramedKernel {
  const { kernel, parameters, linkage, texts, context } = statements;
  const index = context.dialect.type(indexTypeOf(kernel)).text;
  const name = `${base}_${digestOf(statements, index).slice(0, 8)}`;
  const frame = context.dialect.frame({ name, linkage, parameters, index, launch: kernel.launch });
  const lines = new Lines();
  const parts = new Map<Stmt, string>();
  for (const statement of kernel.body) {
    if (statement.kind !== 'parallel') continue;
    const part = parts.size === 0 ? `${name}_part` : `${name}_part${String(parts.size + 1)}`;
    parts.set(statement, part);
    const text = get(texts, statement);
    lines.block(`${frame.part.prototype({ ...statement, name: part })} {`, () => {
      for (const line of frame.part.opening(usedBy(text))) lines.line(line);
      if (text !== '') lines.line(text.trimEnd());
    });
    lines.line();
  }
  const own = kernel.body.filter((statement) => !parts.has(statement)).map((statement) => get(texts, statement));
  lines.block(`${frame.prototype} {`, () => {
    for (const line of frame.opening(usedBy(own.join('')))) lines.line(line);
    for (const statement of kernel.body) {
      lines.line(
        statement.kind === 'parallel'
          ? parallelCall(statement, { kernel: name, body: get(parts, statement), context })
          : get(texts, statement).trimEnd(),
      );
    }
  });
  return { name, struct: frame.struct, prototype: frame.prototype, text: lines.toString() };
}

/** Of all that the functions are made of but their name. */
function digestOf({ kernel, parameters, linkage, texts }: StatementTexts, index: string): string {
  const body = kernel.body.map((statement) => {
    if (statement.kind !== 'parallel') return get(texts, statement);
    const { begin, end, total, grain } = statement;
    return { begin, end, total, grain, body: get(texts, statement) };
  });
  return sha256(JSON.stringify([parameters, linkage, index, kernel.launch, body]));
}

interface Call {
  readonly kernel: string;
  readonly body: string;
  readonly context: ValueContext;
}

function parallelCall(loop: Stmt & { readonly kind: 'parallel' }, { kernel, body, context }: Call): string {
  const total = printScalarIndex(loop.total, context);
  const grain = printScalarIndex(loop.grain, context);
  const call = context.dialect.parallelCall({ kernel, body, total, grain });
  context.use(call.needs);
  return `${call.text};`;
}
