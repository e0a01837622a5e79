// Calls whose tensors share memory that the function writes to. In: such calls, as tracing met them. Out: whether a later
// call is like one of them, and need not be traced: its arguments are alike, and it shares memory as well. One that does
// not share is traced as any other.
import { writesAreShared } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';
import { checkGuards, guardsHold } from './guard.ts';
import type { CallScope, GuardTree } from './guard.ts';
import type { AliasedCall } from './trace-call.ts';

interface Known {
  readonly guards: GuardTree;
  readonly captured: readonly Tensor[];
  readonly slots: unknown[];
  readonly leaves: Tensor[];
}

export class AliasedCalls {
  readonly #known: Known[] = [];

  add({ guards, leaves, captured }: AliasedCall): void {
    this.#known.push({ guards, captured, slots: [], leaves: [...leaves] });
  }

  has(scope: CallScope): boolean {
    return this.#known.some((known) => isLike(known, scope));
  }
}

function isLike({ guards, captured, slots, leaves }: Known, scope: CallScope): boolean {
  slots[0] = scope;
  if (checkGuards(guards, slots, leaves) !== guardsHold) return false;
  const tensors = [...leaves, ...captured];
  return writesAreShared(tensors, tensors);
}
