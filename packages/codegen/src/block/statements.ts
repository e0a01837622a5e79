// Statements that every binding of Block IR writes: branches on a scalar bool, updates of elements, loops that count.
import { atomicOps, int } from '@tsinductor/ir';
import type { FetchOp, Index, TileOp, Value } from '@tsinductor/ir';
import type { BlockScope } from './block-scope.ts';
import { apply, valueIndex, zeroOf } from './block-values.ts';

interface Branches {
  readonly run: () => void;
  readonly otherwise?: (() => void) | undefined;
}

/** Statements that run where a scalar bool is true; `otherwise` where it is not. */
export function whereTrue(test: Value, scope: BlockScope, { run, otherwise }: Branches): void {
  const flag = scope.name({ kind: 'cast', value: test, type: { dtype: 'i64', lanes: 1 } }, 'flag');
  const then = scope.writer.block([], run);
  const other = otherwise === undefined ? undefined : scope.writer.block([], otherwise);
  scope.writer.emit({
    kind: 'if',
    test: { kind: 'notEqual', left: valueIndex(flag), right: int(0) },
    then,
    ...(other === undefined || other.length === 0 ? {} : { otherwise: other }),
  });
}

/** An i32 or i64 scalar as an index. */
export const scalarIndexOf = (value: Value): Index | undefined =>
  value.type.dtype === 'i32' || value.type.dtype === 'i64' ? valueIndex(value) : undefined;

export type Update = TileOp & { readonly op: 'atomic' | 'atomicCas' };

/** What an update does, and which operands are its value and what it expects. */
export function updateOf(node: Update): readonly [op: FetchOp, value: number, expected: number | undefined] {
  if (node.op === 'atomicCas') return ['compareExchange', 2, 1];
  return [atomicOps[node.attrs.mode] ?? 'exchange', 1, undefined];
}

/** How often `for (i = from; step > 0 ? i < to : i > to; i += step)` runs, for a step of either sign. */
export function turnsOf(
  { from, to, step }: { readonly from: Value; readonly to: Value; readonly step: Value },
  scope: BlockScope,
): Index {
  const zero = zeroOf('i64');
  const gap = apply('sub', [to, from], 'i64');
  // ceil(gap / step) = -floor(-gap / step), for either sign of the step.
  const isZero = apply('eq', [step, zero], 'bool');
  const one: Value = { kind: 'constant', value: { bigint: '1' }, type: { dtype: 'i64', lanes: 1 } };
  const safe = scope.name(apply('where', [isZero, one, step], 'i64'), 'safe');
  const quotient = apply('divFloor', [apply('neg', [gap], 'i64'), safe], 'i64');
  return valueIndex(scope.name(apply('maximum', [apply('neg', [quotient], 'i64'), zero], 'i64'), 'count'));
}
