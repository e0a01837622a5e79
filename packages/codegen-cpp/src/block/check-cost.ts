// What checks of accesses cost beside the rest of a kernel, as its text says: in each loop that has no other inside, instructions of
// checks against instructions of all else. No clock is asked, so a kernel is always decided alike.
import { statementBlocks, statementValues, visitValue } from '@tsinductor/ir';
import type { Kernel, Stmt, Value } from '@tsinductor/ir';

/** The share of a loop's time that its checks may take. */
const mostShare = 0.3;

/** Whether a kernel with checks takes less than 1.3 times as long as without them. */
export const areChecksCheap = ({ body }: Kernel): boolean =>
  innerLoops(body).every((loop) => {
    const { checks, work } = costOf(loop);
    return checks <= mostShare * work;
  });

/** The bodies of loops that have no loop inside, and more than one turn. */
function innerLoops(block: readonly Stmt[]): readonly (readonly Stmt[])[] {
  return block.flatMap((statement) => {
    const inside = statementBlocks(statement).flatMap(innerLoops);
    if (statement.kind === 'for' && isOneTurn(statement)) return [];
    const isLoop = statement.kind === 'for' || statement.kind === 'while';
    return isLoop && inside.length === 0 ? [statement.body] : inside;
  });
}

/** The first vector of a reduction, and the last of a row, of which only the first lanes are there. */
function isOneTurn({ from, to, step, body }: Stmt & { readonly kind: 'for' }): boolean {
  if (from.kind === 'int' && to.kind === 'int' && typeof step === 'number') return to.value - from.value <= step;
  return body.some((statement) => statement.kind === 'bounds' && statement.count.kind !== 'int');
}

interface Cost {
  readonly checks: number;
  readonly work: number;
}

function costOf(block: readonly Stmt[]): Cost {
  let [checks, work] = [0, 0];
  for (const statement of block) {
    if (statement.kind === 'bounds') {
      checks += statement.access.offsets === undefined ? runCheck : laneCheck;
      continue;
    }
    work += workOf(statement);
    for (const inner of statementBlocks(statement)) {
      const cost = costOf(inner);
      checks += cost.checks;
      work += cost.work;
    }
  }
  return { checks, work };
}

/** Compared with an operation on a vector: a branch on two comparisons of scalars, and on one of vectors. */
const runCheck = 1;
const laneCheck = 2;
const loadCost = 2;
const storeCost = 2;
const updateCost = 20;

function workOf(statement: Stmt): number {
  let work = statement.kind === 'store' ? storeCost + lanesApart(statement.access) : 0;
  if (statement.kind === 'fetch' || statement.kind === 'atomic') work += updateCost;
  for (const value of statementValues(statement))
    visitValue(value, (part) => {
      work += valueCost(part);
    });
  return work;
}

function valueCost(value: Value): number {
  if (value.kind === 'load') return loadCost + lanesApart(value.access);
  return value.kind === 'apply' || value.kind === 'target' || value.kind === 'cast' ? 1 : 0;
}

/** Lanes that are not side by side are fetched one by one. */
const lanesApart = ({ offsets }: { readonly offsets?: Value }): number => offsets?.type.lanes ?? 0;
