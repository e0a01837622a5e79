// An assertion, as a branch: a unit of which the test is false fails, and goes no further. In: the operation, and its test as a
// value. Out: statements in the scope's writer. A site is the assertion's place among those of the program.
import { assertionsOf } from '@tsinductor/ir';
import type { AssertOp, Value } from '@tsinductor/ir';
import type { BlockScope } from './block-scope.ts';
import { apply } from './block-values.ts';
import { whereTrue } from './statements.ts';

export function bindAssertion(node: AssertOp, test: Value, scope: BlockScope): void {
  const { message } = node.attrs;
  const site = assertionsOf(scope.program).indexOf(node);
  const run = (): void => {
    scope.writer.emit({ kind: 'fail', unit: scope.unit, site, reason: { message, origin: node.origin } });
  };
  whereTrue(apply('logicalNot', [test], 'bool'), scope, { run });
}
