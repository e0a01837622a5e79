// What a batching rule is. In: a call of a primitive as it is for one sample, whose arguments stand for all samples at once: those
// that differ have the samples along a new first axis, the others are the same for every sample. Out: the call's results for
// all samples, along a first axis of their own.
//
// A rule is written in the language of decompositions, so it adds nodes to a graph. It is asked only where an argument differs.
import { at } from '@tsinductor/base';
import type { Index } from '@tsinductor/ir';
import { valueKey } from '../argument-reader.ts';
import type { ArgumentReader } from '../argument-reader.ts';
import { Composer } from '../composer.ts';
import type { Arg, Attrs, Meta, ValueRef } from '../graph.ts';
import type { Builder } from '../operator.ts';
import { one, range } from '../shape.ts';
import type { Shape } from '../shape.ts';

export interface SampleCall {
  readonly target: string;
  readonly args: readonly Arg[];
  readonly attrs: Attrs;
  /** The arguments, by the names of the operator's parameters. */
  readonly a: ArgumentReader;
  /** What the results are for one sample. */
  readonly results: readonly Meta[];
}

export type BatchingRule = (b: Batcher, call: SampleCall) => ValueRef | readonly ValueRef[];

/** A graph of all samples as it is built: which of its values have the samples along their first axis. */
export class Batcher {
  readonly c: Composer;
  /** How many samples there are. */
  readonly count: Index;
  readonly #differing = new Set<string>();

  constructor(builder: Builder, count: Index) {
    this.c = new Composer(builder);
    this.count = count;
  }

  /** From now on the value counts as one that has the samples along its first axis. */
  mark(value: ValueRef): void {
    this.#differing.add(valueKey(value));
  }

  /** Whether the samples differ in the value. */
  differs(value: ValueRef): boolean {
    return this.#differing.has(valueKey(value));
  }

  /** The shape that the value has for one sample. */
  shape(value: ValueRef): Shape {
    const shape = this.c.shape(value);
    return this.differs(value) ? shape.slice(1) : shape;
  }

  rank(value: ValueRef): number {
    return this.shape(value).length;
  }

  /** The value with the samples along the first axis; what is the same for all of them is repeated, without a copy. */
  whole(value: ValueRef): ValueRef {
    return this.differs(value) ? value : this.c.expand(value, [this.count, ...this.c.shape(value)]);
  }

  /** The same in the shape `shape` for each sample, which the value's own broadcasts to. */
  spread(value: ValueRef, shape: Shape): ValueRef {
    return this.c.expand(this.aligned(value, shape.length), [this.count, ...shape]);
  }

  /** A value that broadcasts with others whose samples have `rank` dims. */
  aligned(value: ValueRef, rank: number): ValueRef {
    const own = this.shape(value);
    if (!this.differs(value) || own.length >= rank) return value;
    const missing = range(rank - own.length).map(() => one);
    return this.c.reshape(value, [this.count, ...missing, ...own]);
  }

  /** Runs `work` on samples of at least one dim: one without dims becomes a vector of one element, and its result none again. */
  withDims(value: ValueRef, work: (x: ValueRef) => readonly ValueRef[]): readonly ValueRef[] {
    if (this.rank(value) > 0) return work(value);
    const vectors = this.c.reshape(value, [this.count, one]);
    return work(vectors).map((result) => this.c.reshape(result, [this.count]));
  }
}

/** The primitive's own call, on arguments and attributes of all samples. */
export const callOf = (
  b: Batcher,
  { target, attrs }: SampleCall,
  made: { readonly args: readonly Arg[]; readonly attrs?: Attrs },
): ValueRef => at(b.c.callAll(target, made.args, made.attrs ?? attrs), 0);
