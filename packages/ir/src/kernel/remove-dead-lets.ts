// Drops `let`s whose name nothing uses: what a strategy defined on the way and then did not need. Values are pure, so
// nothing is lost. Statements are looked at from the last to the first: whatever uses a name stands behind its `let`, so that
// one pass is enough for values that only dropped values use.
import { at } from '@tsinductor/base';
import { addFreeAxes } from '../arithmetic/query.ts';
import type { Stmt } from './kernel.ts';
import { statementIndexes, statementValues, valueIndexes, visitValue, withBlocks } from './traverse-kernel.ts';

/** The same block by identity where there is nothing to drop. */
export const removeDeadLets = (body: readonly Stmt[]): readonly Stmt[] => withoutUnused(body, new Set());

/** `used` has the names that the statements behind the block use; those of its own are added. */
function withoutUnused(block: readonly Stmt[], used: Set<string>): readonly Stmt[] {
  const kept: Stmt[] = [];
  for (let position = block.length - 1; position >= 0; position -= 1) {
    const statement = at(block, position);
    if (statement.kind === 'let' && !used.has(statement.name)) continue;
    kept.push(withBlocks(statement, (inner) => withoutUnused(inner, used)));
    addUsed(statement, used);
  }
  kept.reverse();
  const same = kept.length === block.length && kept.every((statement, position) => statement === block[position]);
  return same ? block : kept;
}

/** Adds the names that stand directly in a statement. */
function addUsed(statement: Stmt, used: Set<string>): void {
  for (const value of statementValues(statement)) {
    visitValue(value, (inner) => {
      if (inner.kind === 'name') used.add(inner.name);
      for (const index of valueIndexes(inner)) addFreeAxes(index, used);
    });
  }
  for (const index of statementIndexes(statement)) addFreeAxes(index, used);
}
