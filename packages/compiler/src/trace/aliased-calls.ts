// Calls whose tensors share memory that the function writes to. In: such calls, as tracing met them. Out: whether a later
// call is like one of them, and need not be traced: its arguments are alike, and it shares memory as well. One that does
// not share is traced as any other.
import { writesAreShared } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';
import { checkGuards } from './guard.ts';
import type { GuardNode } from './guard.ts';
import type { AliasedCall } from './trace-call.ts';

interface Known {
  readonly nodes: readonly GuardNode[];
  readonly captured: readonly Tensor[];
  readonly self: { this: unknown };
  readonly slots: unknown[];
  readonly leaves: Tensor[];
}

export class AliasedCalls {
  readonly #known: Known[] = [];

  add({ nodes, leaves, captured }: AliasedCall): void {
    const self = { this: undefined };
    this.#known.push({ nodes, captured, self, slots: [self], leaves: [...leaves] });
  }

  has(thisArg: unknown, scope: readonly unknown[]): boolean {
    return this.#known.some((known) => isLike(known, thisArg, scope));
  }
}

function isLike({ nodes, captured, self, slots, leaves }: Known, thisArg: unknown, scope: readonly unknown[]): boolean {
  self.this = thisArg;
  slots[1] = scope;
  if (checkGuards(nodes, slots, leaves) !== -1) return false;
  const tensors = [...leaves, ...captured];
  return writesAreShared(tensors, tensors);
}
