// What a kernel's statements say about the kernel: the buffers that they touch, the sizes that they mention, and what the
// user wrote that they come from.
import { invariant } from '@tsinductor/base';
import {
  freeSizes,
  sortCorners,
  sortResults,
  statementIndexes,
  statementValues,
  valueIndexes,
  visitStatements,
  visitValue,
} from '@tsinductor/ir';
import type { Index, KernelBuffer, Origin, Schedule, Stmt } from '@tsinductor/ir';

export function distinctOrigins(origins: readonly Origin[]): readonly Origin[] {
  const seen = new Set<string>();
  return origins.filter((origin) => {
    const key = JSON.stringify(origin);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function addLoaded(statement: Stmt, names: Set<string>): void {
  for (const value of statementValues(statement)) {
    visitValue(value, (inner) => {
      if (inner.kind === 'load') names.add(inner.access.buffer);
    });
  }
  if (statement.kind === 'prefetch') names.add(statement.buffer);
  if (statement.kind === 'copyAsync' || statement.kind === 'transpose') names.add(statement.from.buffer);
  if (statement.kind === 'sort') for (const { buffer } of sortCorners(statement)) names.add(buffer);
}

function storedBy(statement: Stmt): readonly string[] {
  if (statement.kind === 'store' || statement.kind === 'atomic' || statement.kind === 'fetch')
    return [statement.access.buffer];
  if (statement.kind === 'sort') return sortResults(statement);
  return statement.kind === 'transpose' ? [statement.to.buffer] : [];
}

/** The buffers that the body touches, with what it does to them. */
export function usedBuffers(buffers: readonly KernelBuffer[], body: readonly Stmt[]): readonly KernelBuffer[] {
  const loaded = new Set<string>();
  const stored = new Set<string>();
  visitStatements(body, (statement) => {
    addLoaded(statement, loaded);
    for (const name of storedBy(statement)) stored.add(name);
  });
  return buffers
    .filter(({ name }) => loaded.has(name) || stored.has(name))
    .map((buffer) => ({ ...buffer, role: stored.has(buffer.name) ? buffer.role : 'read' }));
}

/** The symbolic sizes that the body and `others` mention, in the program's order. */
export function sizesOf(body: readonly Stmt[], schedule: Schedule, others: readonly Index[] = []): readonly string[] {
  // Nothing to look for; a size from elsewhere would break a law of the kernel, which is verified.
  if (schedule.program.sizes.length === 0) return [];
  const used = new Set<string>(others.flatMap((index) => [...freeSizes(index)]));
  visitStatements(body, (statement) => {
    for (const index of statementIndexes(statement)) for (const size of freeSizes(index)) used.add(size);
    for (const value of statementValues(statement)) {
      visitValue(value, (inner) => {
        for (const index of valueIndexes(inner)) for (const size of freeSizes(index)) used.add(size);
      });
    }
  });
  invariant(
    [...used].every((name) => schedule.program.sizes.includes(name)),
    `a kernel uses a size that the program does not have: ${[...used].join(', ')}`,
  );
  return schedule.program.sizes.filter((name) => used.has(name));
}
