// What one specialisation requires of what is around its function, and the tensors among that which its graph takes as inputs. In: a traced
// call. Out: whether everything is as it was, but that a tensor may be replaced by another one of its form: then that is the input from now
// on. So a weight that is made anew at each step costs no recompilation.
import type { Tensor } from '@tsinductor/tensor';
import { isTensor } from '@tsinductor/tensor';
import { meetsTensor, printTensorGuard } from './guard.ts';
import { changedRead, printRead, readsHold, withReplaced } from './outer-reads.ts';
import type { OuterRead } from './outer-reads.ts';
import type { TracedCall } from './trace-call.ts';

type Captured = TracedCall['captured'][number] & { readonly position: number };

export class ClosedOver {
  #reads: readonly OuterRead[];
  #captured: readonly Captured[];
  /** A graph that writes to memory was traced as if no two of these shared it, so they stay those of the trace. */
  readonly #mayReplace: boolean;

  constructor({ outerReads = [], captured, leaves, positions, graph }: TracedCall) {
    this.#reads = outerReads;
    this.#captured = captured.map((one, index) => ({ ...one, position: positions[leaves.length + index] ?? -1 }));
    this.#mayReplace = captured.length > 0 && graph.mutations.length === 0;
  }

  /** Whether everything is as it was. Puts tensors that were replaced where they stand among the graph's inputs. */
  holds(leaves: readonly Tensor[], inputs: Tensor[]): boolean {
    if (!readsHold(this.#reads) && !this.#replace(leaves, inputs)) return false;
    for (const { tensor, guard } of this.#captured) if (!meetsTensor(tensor, guard)) return false;
    return true;
  }

  /** What is no longer as it was, in words. */
  changed(): string | undefined {
    const read = changedRead(this.#reads);
    if (read !== undefined) return read;
    const other = this.#captured.find(({ tensor, guard }) => !meetsTensor(tensor, guard));
    return other && `a captured tensor is no longer ${printTensorGuard(other.guard)}`;
  }

  /** One line for each thing that is required. */
  guards(): readonly string[] {
    return [
      ...this.#reads.map(printRead),
      ...this.#captured.map(({ guard }) => `captured tensor: ${printTensorGuard(guard)}`),
    ];
  }

  /** Whether all that is different are captured tensors, in whose places stand others of their form, each of them once. */
  #replace(leaves: readonly Tensor[], inputs: Tensor[]): boolean {
    if (!this.#mayReplace) return false;
    const replaced = new Map<unknown, Tensor>();
    const capturedAs = new Map<unknown, Captured>(this.#captured.map((one) => [one.tensor, one]));
    const isReplaced = (now: unknown, before: unknown): boolean => {
      const known = replaced.get(before);
      if (known !== undefined) return now === known;
      const captured = capturedAs.get(before);
      if (captured === undefined || !isTensor(now) || !meetsTensor(now, captured.guard)) return false;
      replaced.set(before, now);
      return true;
    };
    if (!readsHold(this.#reads, isReplaced)) return false;
    const captured = this.#captured.map((one) => ({ ...one, tensor: replaced.get(one.tensor) ?? one.tensor }));
    const all = new Set([...captured.map(({ tensor }) => tensor), ...leaves]);
    if (all.size < captured.length + leaves.length) return false;
    for (const { tensor, position } of captured) inputs[position] = tensor;
    this.#captured = captured;
    this.#reads = withReplaced(this.#reads, replaced);
    return true;
  }
}
