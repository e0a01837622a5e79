// A fence behind whatever writes by non-temporal stores: those are not ordered with other stores, and others may read the results next.
// In: a kernel with the stores that the machine has. Out: the same kernel, with a fence at the end of each parallel loop's body that has
// such a store, and one at the end of the kernel where one stands outside of parallel loops.
import { visitStatements, withBlocks } from '@tsinductor/ir';
import type { Kernel, Stmt } from '@tsinductor/ir';

export function withFences(kernel: Kernel): Kernel {
  const fenced = kernel.body.map((statement) =>
    statement.kind === 'parallel' ? withBlocks(statement, fence) : statement,
  );
  const serial = fenced.filter((statement) => statement.kind !== 'parallel');
  const body = hasNonTemporalStore(serial) ? [...fenced, fenceStatement] : fenced;
  return body.every((statement, position) => statement === kernel.body[position]) ? kernel : { ...kernel, body };
}

const fenceStatement: Stmt = { kind: 'fence' };

const fence = (block: readonly Stmt[]): readonly Stmt[] =>
  hasNonTemporalStore(block) ? [...block, fenceStatement] : block;

/** Whether something in a block is stored so. */
export function hasNonTemporalStore(block: readonly Stmt[]): boolean {
  let found = false;
  visitStatements(block, (statement) => {
    found ||= (statement.kind === 'store' || statement.kind === 'transpose') && statement.hint === 'non-temporal';
  });
  return found;
}
