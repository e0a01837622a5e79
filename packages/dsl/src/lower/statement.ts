// Statements of a body. A statement that is an expression may hide one that is not: minifiers write `test && store()` for an
// `if`, and commas for semicolons.
import type { Expression, IfStatement, Statement, VariableDeclaration } from 'acorn';
import { assignedNames } from '../parse/assigned-names.ts';
import { unwrapped } from '../parse/kernel-source.ts';
import { declareEmpty, declarePattern } from './assignment.ts';
import { lowerBranches } from './branch.ts';
import { enter, faultAt } from './context.ts';
import type { Context } from './context.ts';
import { knownTest, lowerExpression, spoken } from './expression.ts';
import { lowerFor, lowerForOf, lowerWhile } from './loop.ts';
import { Scope } from './scope.ts';
import { undefinedValue } from './value.ts';
import type { KernelValue } from './value.ts';

/** How a list of statements ends. */
type Completion = { readonly kind: 'normal' } | { readonly kind: 'return'; readonly value: KernelValue };

const normal: Completion = { kind: 'normal' };
type AnyStatement = Statement | VariableDeclaration;

/** Lowers statements in order; what follows a known return is not there. */
export function lowerStatements(statements: readonly Statement[], context: Context): Completion {
  for (const [index, statement] of statements.entries()) {
    const rest = statements.slice(index + 1);
    if (statement.type === 'IfStatement') {
      const outcome = lowerIf(statement, rest, context);
      if (outcome === 'rest included') return normal;
      if (outcome.kind === 'return') return outcome;
      continue;
    }
    const completion = lowerStatement(statement, context);
    if (completion.kind === 'return') return completion;
  }
  return normal;
}

/** Lowers a block in a scope of its own. */
export function lowerBlock(statement: Statement, context: Context): Completion {
  const statements = statement.type === 'BlockStatement' ? statement.body : [statement];
  return lowerStatements(statements, { ...context, scope: new Scope(context.scope) });
}

function lowerStatement(statement: AnyStatement, context: Context): Completion {
  enter(statement, context);
  switch (statement.type) {
    case 'VariableDeclaration':
      declareAll(statement, context);
      return normal;
    case 'ExpressionStatement':
      lowerEffect(statement.expression, context);
      return normal;
    case 'FunctionDeclaration': {
      const node = { ...statement, type: 'FunctionExpression' as const, body: statement.body };
      const { name } = statement.id;
      const value: KernelValue = { kind: 'function', name, node, scope: context.scope, source: context.source };
      context.scope.declare(name, value, true);
      return normal;
    }
    case 'BlockStatement':
      return lowerBlock(statement, context);
    case 'IfStatement':
      return lowerStatements([statement], context);
    case 'ReturnStatement':
      return { kind: 'return', value: returned(statement.argument, context) };
    case 'ForOfStatement':
      lowerForOf(statement, context);
      return normal;
    case 'ForStatement':
      lowerFor(statement, context);
      return normal;
    case 'WhileStatement':
      lowerWhile(statement, context);
      return normal;
    case 'EmptyStatement':
      return normal;
    case 'BreakStatement':
    case 'ClassDeclaration':
    case 'ContinueStatement':
    case 'DebuggerStatement':
    case 'DoWhileStatement':
    case 'ForInStatement':
    case 'LabeledStatement':
    case 'SwitchStatement':
    case 'ThrowStatement':
    case 'TryStatement':
    case 'WithStatement':
      throw faultAt(statement, context, [
        'KERNEL_SYNTAX',
        `${spoken(statement)} is not a form that kernels have`,
        insteadOf[statement.type],
      ]);
  }
}

/** What to write where a form is not there. */
const insteadOf = {
  BreakStatement: 'loop with while, and let its test end the loop',
  ClassDeclaration: 'write functions',
  ContinueStatement: 'put what follows it under an if',
  DebuggerStatement: "set a breakpoint on a line, and launch with { backend: 'interpreter' }",
  DoWhileStatement: 'write while, with a test that holds at first',
  ForInStatement: 'write for (const i of tl.range(start, end))',
  LabeledStatement: 'loop with while, and let its test end the loop',
  SwitchStatement: 'write if and else',
  ThrowStatement: 'use tl.deviceAssert(test, message), or tl.staticAssert for what is known',
  TryStatement: 'nothing is thrown in a kernel: mask what must not happen',
  WithStatement: 'write names in full',
} as const;

const returned = (argument: Expression | null | undefined, context: Context): KernelValue =>
  argument === null || argument === undefined ? undefinedValue : lowerExpression(argument, context);

function declareAll(statement: VariableDeclaration, context: Context): void {
  for (const { id, init } of statement.declarations) {
    if (init === null || init === undefined) declareEmpty(id, context);
    else declarePattern(id, lowerExpression(init, context), { context, isConstant: statement.kind === 'const' });
  }
}

/** An expression whose value nobody takes: `test && effect`, `test ? effect : effect` and sequences are statements. */
function lowerEffect(given: Expression, context: Context): void {
  const node = unwrapped(given);
  if (node.type === 'SequenceExpression') {
    for (const item of node.expressions) lowerEffect(item, context);
    return;
  }
  const isBranch =
    node.type === 'ConditionalExpression' || (node.type === 'LogicalExpression' && node.operator !== '??');
  if (!isBranch) {
    lowerExpression(node, context);
    return;
  }
  const testNode = node.type === 'ConditionalExpression' ? node.test : node.left;
  const test = lowerExpression(testNode, context);
  const sides: readonly (Expression | undefined)[] =
    node.type === 'ConditionalExpression'
      ? [node.consequent, node.alternate]
      : node.operator === '&&'
        ? [node.right, undefined]
        : [undefined, node.right];
  const run = (side: Expression | undefined) => (inner: Context) => {
    if (side !== undefined) lowerEffect(side, inner);
  };
  const known = knownTest(test);
  if (known !== undefined) {
    run(sides[known ? 0 : 1])(context);
    return;
  }
  const names = assignedNames(sides.flatMap((side) => side ?? []));
  lowerBranches({ test, node: testNode, names, branches: [run(sides[0]), run(sides[1])] }, context);
}

/** An `if`; where one side returns when the kernel runs, the rest of the list belongs to the other side. */
function lowerIf(node: IfStatement, rest: readonly Statement[], context: Context): Completion | 'rest included' {
  enter(node, context);
  const test = lowerExpression(node.test, context);
  const alternate = node.alternate ?? undefined;
  const known = knownTest(test);
  if (known !== undefined) {
    const taken = known ? node.consequent : alternate;
    return taken === undefined ? normal : lowerBlock(taken, context);
  }
  const [thenReturns, elseReturns] = [returns(node.consequent), alternate !== undefined && returns(alternate)];
  const isSplit = thenReturns || elseReturns;
  const side = (own: Statement | undefined, isOpen: boolean) => (inner: Context) => {
    const completion = own === undefined ? normal : lowerBlock(own, inner);
    refuseValue(completion, node, context);
    if (isSplit && isOpen)
      refuseValue(lowerStatements(rest, { ...inner, scope: new Scope(inner.scope) }), node, context);
  };
  const names = assignedNames([
    node.consequent,
    ...(alternate === undefined ? [] : [alternate]),
    ...(isSplit ? rest : []),
  ]);
  const branches = [side(node.consequent, !thenReturns), side(alternate, !elseReturns)] as const;
  lowerBranches({ test, node: node.test, names, branches }, context);
  return isSplit ? 'rest included' : normal;
}

/** Whether a statement always ends in a return. */
function returns(statement: Statement): boolean {
  if (statement.type === 'ReturnStatement') return true;
  const last = statement.type === 'BlockStatement' ? statement.body.at(-1) : undefined;
  return last !== undefined && returns(last);
}

function refuseValue(completion: Completion, node: IfStatement, context: Context): void {
  if (completion.kind === 'normal' || completion.value.kind === 'undefined') return;
  throw faultAt(node, context, [
    'KERNEL_RETURN',
    'a value is returned from one side of a branch that is taken when the kernel runs',
    'choose the value with a ternary or tl.where, and return it at the end',
  ]);
}
