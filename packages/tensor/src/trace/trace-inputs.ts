// The inputs of a graph that is being traced, in the order of its placeholders: announced, or met on the way.
import { at } from '@tsinductor/base';
import type { GraphBuilder, Meta, ValueRef } from '@tsinductor/graph';
import type { Tensor } from '../tensor.ts';
import type { TracedInput } from './trace-result.ts';
import { twinOf } from './twin.ts';

export class TraceInputs {
  readonly list: TracedInput[] = [];
  readonly #refs: ValueRef[] = [];
  readonly #builder: GraphBuilder;
  readonly #isSegment: boolean;

  constructor(builder: GraphBuilder, isSegment: boolean) {
    this.#builder = builder;
    this.#isSegment = isSegment;
  }

  announce(tensor: Tensor, kind: TracedInput['kind'], meta: Meta): ValueRef {
    // A user may dispose a tensor before the segment runs that was recorded with it.
    const placeholder = this.list.push({ tensor: this.#isSegment ? twinOf(tensor) : tensor, kind }) - 1;
    const ref = this.#builder.placeholder(`${kind}${String(placeholder)}`, meta);
    this.#refs.push(ref);
    return ref;
  }

  /** The value of a placeholder, by its position. */
  ref(position: number): ValueRef {
    return at(this.#refs, position);
  }

  positionOf({ node }: ValueRef): number {
    return this.#refs.findIndex((ref) => ref.node === node);
  }
}
