// Statements that stand for instructions of a machine: copies that are under way while threads go on, matrices by the threads
// of a warp, memory that is prefetched or made visible; and the lines that a kernel prints. Every spelling is the dialect's answer.
import type { HardwareStmt, MemoryPlace, Stmt } from '@tsinductor/ir';
import type { Expression } from './dialect.ts';
import { spellBounds } from './print-bounds.ts';
import { safeName } from './names.ts';
import { spellFailure, spellLine } from './print-line.ts';
import { spellSort } from './print-sort.ts';
import { printScalarIndex, printValue } from './print-value.ts';
import type { ValueContext } from './print-value.ts';

export function spellHardware(statement: HardwareStmt, context: ValueContext): Expression {
  const { dialect } = context;
  const address = ({ buffer, at }: MemoryPlace): string => {
    const place = printScalarIndex(at, context);
    const base = safeName(buffer, dialect.reserved);
    return place === '0' ? base : `${base} + ${place}`;
  };
  switch (statement.kind) {
    case 'copyAsync': {
      const { dtype, lanes, from, to, mask } = statement;
      const test = mask === undefined ? undefined : printValue(mask, context).text;
      return dialect.copyAsync({ type: { dtype, lanes }, from: address(from), to: address(to), mask: test });
    }
    case 'copies':
      return dialect.copies(statement);
    case 'matrixLoad': {
      const { names, from, transposed } = statement;
      const safe = names.map((name) => safeName(name, dialect.reserved));
      return dialect.matrixLoad({ names: safe, address: address(from), transposed });
    }
    case 'matrixMultiply': {
      const { dtype, sum } = statement;
      const [left, right] = [statement.left, statement.right].map((words) =>
        words.map((word) => printValue(word, context).text),
      );
      return dialect.matrixMultiply({ dtype, sum: address(sum), left: left ?? [], right: right ?? [] });
    }
  }
}

type EffectStmt = Stmt & { readonly kind: 'sort' | 'fence' | 'print' | 'fail' | 'bounds' | 'prefetch' };

/** Statements that change nothing that the kernel computes, the one that ends it, and sorts, which are a call. */
export function spellEffect(statement: EffectStmt, context: ValueContext): Expression {
  const { dialect } = context;
  if (statement.kind === 'sort') return spellSort(statement, context);
  if (statement.kind === 'fence') return dialect.fence();
  if (statement.kind === 'print') return spellLine(statement, context);
  if (statement.kind === 'fail') return spellFailure(statement, context);
  if (statement.kind === 'bounds') return spellBounds(statement, context);
  const address = `${safeName(statement.buffer, dialect.reserved)} + ${printScalarIndex(statement.at, context)}`;
  return dialect.prefetch(address, statement);
}
