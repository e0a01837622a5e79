// What a gradient rule is. In: a call of a primitive, its results, and for each result the cotangent (the gradient of what is
// differentiated with respect to that result), or undefined where nothing depends on it. Out: for each argument its gradient,
// in the shape and dtype of the argument, or undefined where there is none.
//
// A rule is written in the language of decompositions, so it adds nodes to a graph, and its own result can be differentiated.
import { at } from '@tsinductor/base';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import type { ValueRef } from '../graph.ts';
import type { Shape } from '../shape.ts';
import { one, range } from '../shape.ts';

export interface DifferentiatedCall {
  /** The arguments, by the names of the operator's parameters. */
  readonly a: ArgumentReader;
  readonly results: readonly ValueRef[];
  /** Whether the gradient of an argument is asked for; that of another one need not exist. */
  readonly wants: (argument: ValueRef) => boolean;
}

type ArgumentGradient = ValueRef | undefined | readonly (ValueRef | undefined)[];

/** In the order of the call's `args`; a list stands for a list of tensors. */
export type GradientRule = (
  c: Composer,
  call: DifferentiatedCall,
  cotangents: readonly (ValueRef | undefined)[],
) => readonly ArgumentGradient[];

/** A rule of a primitive with one result that counts. */
export const ofFirst =
  (rule: (c: Composer, call: DifferentiatedCall, cotangent: ValueRef) => readonly ArgumentGradient[]): GradientRule =>
  (c, call, [cotangent]) =>
    cotangent === undefined ? [] : rule(c, call, cotangent);

/** Nothing flows through: results do not depend on the arguments but at jumps, or are no floats. */
export const withoutGradient: GradientRule = () => [];

export const zeros = (c: Composer, like: ValueRef): ValueRef => c.full(0, c.shape(like), c.dtype(like));

/** What was broadcast to the shape of `x`, summed to the smaller `shape` again: how `expand` is transposed. */
export function sumTo(c: Composer, x: ValueRef, shape: Shape): ValueRef {
  const missing = c.rank(x) - shape.length;
  const stretched = (axis: number): boolean =>
    c.sizes.isOne(at(shape, axis - missing)) && !c.sizes.isOne(at(c.shape(x), axis));
  const dims = range(c.rank(x)).filter((axis) => axis < missing || stretched(axis));
  if (dims.length === 0) return x;
  return c.reshape(c.reduce('sum', x, { dims, keepdim: false }), shape);
}

/** What a reduction over `dims` gave, once for each of the elements that it went over. */
export function spread(c: Composer, reduced: ValueRef, over: { dims: readonly number[]; shape: Shape }): ValueRef {
  const kept = over.shape.map((size, axis) => (over.dims.includes(axis) ? one : size));
  return c.expand(c.reshape(reduced, kept), over.shape);
}

/** The elements of `source` added into zeros of the shape of `x`, each where a view of `x` shows it: how any view is transposed. */
export function addWhereShown(
  c: Composer,
  source: ValueRef,
  { x, view }: { x: ValueRef; view: (positions: ValueRef) => ValueRef },
): ValueRef {
  const positions = c.reshape(c.iota(c.count(x)), c.shape(x));
  const flat = c.full(0, [c.count(x)], c.dtype(x));
  const index = c.flatten(view(positions));
  return c.reshape(c.scatter(flat, 0, { index, source: c.flatten(source), mode: 'add' }), c.shape(x));
}
