// Whether a kernel's places follow from what is in memory, so that one launch says nothing of the next. In: a bound kernel with
// checks. Out: whether the place of one of them, its mask, or whether it is come to at all, depends on anything loaded.
import { freeAxes, statementBlocks, statementIndexes, statementValues, valueIndexes, visitValue } from '@tsinductor/ir';
import type { Kernel, Stmt } from '@tsinductor/ir';

export function placesFollowFromData({ body }: Kernel): boolean {
  const loaded = new Set<string>();
  // A variable of a loop may be assigned behind what depends on it.
  for (let known = -1; loaded.size > known;) {
    known = loaded.size;
    if (findsLoaded(body, loaded, false)) return true;
  }
  return false;
}

/** Adds the names that depend on loads; whether a check does. `isLoaded`: whether the block is come to does. */
function findsLoaded(block: readonly Stmt[], loaded: Set<string>, isLoaded: boolean): boolean {
  let finds = false;
  for (const statement of block) {
    const depends = isLoaded || statement.kind === 'fetch' || mentionsLoaded(statement, loaded);
    if (depends && statement.kind === 'bounds') return true;
    if (depends && 'name' in statement) loaded.add(statement.name);
    for (const inner of statementBlocks(statement)) finds ||= findsLoaded(inner, loaded, depends);
  }
  return finds;
}

function mentionsLoaded(statement: Stmt, loaded: ReadonlySet<string>): boolean {
  const used = new Set<string>();
  const loads = new Set<string>();
  for (const index of statementIndexes(statement)) for (const name of freeAxes(index)) used.add(name);
  for (const value of statementValues(statement))
    visitValue(value, (part) => {
      if (part.kind === 'load') loads.add(part.access.buffer);
      if (part.kind === 'name') used.add(part.name);
      for (const index of valueIndexes(part)) for (const name of freeAxes(index)) used.add(name);
    });
  return loads.size > 0 || [...used].some((name) => loaded.has(name));
}
