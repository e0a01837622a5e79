// Calls of functions of the body and of declared ones: they are inlined. A function returns at its end, or wherever what
// leads there is known when the kernel is compiled.
import type { Site } from './coerce.ts';
import { enter, faultAt } from './context.ts';
import type { Context } from './context.ts';
import { declarePattern } from './assignment.ts';
import { lowerExpression } from './expression.ts';
import { Scope } from './scope.ts';
import { lowerStatements } from './statement.ts';
import { undefinedValue } from './value.ts';
import type { FunctionValue, KernelValue } from './value.ts';

export function callFunction(callee: FunctionValue, args: readonly KernelValue[], site: Site): KernelValue {
  const { node } = callee;
  const scope = new Scope(callee.scope);
  const context: Context = { ...site.context, source: callee.source, scope, depth: site.context.depth + 1 };
  enter(node, context);
  if (node.async || node.generator)
    throw faultAt(node, context, ['KERNEL_SYNTAX', 'an async function or generator', 'use a plain function']);
  if (args.length < node.params.length)
    throw faultAt(site.node, site.context, [
      'KERNEL_ARGUMENT',
      `the function takes ${String(node.params.length)} arguments, and is given ${String(args.length)}`,
      'give it each of its arguments',
    ]);
  node.params.forEach((pattern, index) => {
    declarePattern(pattern, args[index] ?? undefinedValue, { context, isConstant: false });
  });
  if (node.body.type !== 'BlockStatement') return lowerExpression(node.body, context);
  const completion = lowerStatements(node.body.body, context);
  return completion.kind === 'return' ? completion.value : undefinedValue;
}
