// Drops `let`s whose name nothing uses: what a strategy defined on the way and then did not need. Values are pure, so
// nothing is lost.
import { addFreeAxes } from '../arithmetic/query.ts';
import type { Stmt, Value } from './kernel.ts';
import { statementIndexes, statementValues, valueIndexes, visitStatements, visitValue } from './traverse-kernel.ts';

export function removeDeadLets(body: readonly Stmt[]): readonly Stmt[] {
  let current = body;
  for (;;) {
    const used = usedNames(current);
    const next = withoutUnused(current, used);
    if (next === current) return current;
    current = next;
  }
}

function usedNames(body: readonly Stmt[]): ReadonlySet<string> {
  const used = new Set<string>();
  const inValue = (value: Value): void => {
    visitValue(value, (inner) => {
      if (inner.kind === 'name') used.add(inner.name);
      for (const index of valueIndexes(inner)) addFreeAxes(index, used);
    });
  };
  visitStatements(body, (statement) => {
    for (const value of statementValues(statement)) inValue(value);
    for (const index of statementIndexes(statement)) addFreeAxes(index, used);
  });
  return used;
}

/** The same block by identity where there is nothing to drop. */
function withoutUnused(block: readonly Stmt[], used: ReadonlySet<string>): readonly Stmt[] {
  const kept = block
    .filter((statement) => statement.kind !== 'let' || used.has(statement.name))
    .map((statement) => withinStatement(statement, used));
  const same = kept.length === block.length && kept.every((statement, position) => statement === block[position]);
  return same ? block : kept;
}

function withinStatement(statement: Stmt, used: ReadonlySet<string>): Stmt {
  if (statement.kind === 'for' || statement.kind === 'while' || statement.kind === 'parallel') {
    const body = withoutUnused(statement.body, used);
    return body === statement.body ? statement : { ...statement, body };
  }
  if (statement.kind !== 'if') return statement;
  const then = withoutUnused(statement.then, used);
  const otherwise = statement.otherwise === undefined ? undefined : withoutUnused(statement.otherwise, used);
  if (then === statement.then && otherwise === statement.otherwise) return statement;
  return { ...statement, then, ...(otherwise === undefined ? {} : { otherwise }) };
}
