// What an entry of the operator table says: the public signature, how to infer metas, and, for composites, the
// decomposition. Methods, functions, docs, the conformance runner and eager execution all follow from it.
import type { DType } from '@tsinductor/base';
import type { Arg, Attr, Attrs, Meta, ValueRef, ViewLayout } from './graph.ts';
import type { GradientRule } from './gradient/rule.ts';
import type { ForwardBound } from './forward-bound.ts';
import type { Performer } from './performer.ts';
import type { SizeEnvironment } from './size-environment.ts';

/**
 * tensor          a tensor
 * operand         a tensor or a scalar that takes part in promotion (pointwise operands)
 * tensors         a list of tensors
 * indices         a list of index tensors, null where a dim is not indexed: stands in `args` as the list of its
 *                 tensors, and in `attrs` as the dims that they index
 * int, float, bool, string, dtype   an attribute
 * scalar          a number kept with its category (the attribute is a ScalarRef)
 * dims            one dim or a list of them (null: all); sizes: a shape, whose entries may be -1 or symbolic
 * index           the items of a subscript: stands in `args` as the list of its tensors, and in `attrs` as SubscriptItems
 * size            an integer that may be symbolic; floats: a number or a list of them
 * any             plain data, checked by the operator (a padding, a size or a list of them)
 */
export type ParameterType =
  | 'tensor'
  | 'operand'
  | 'tensors'
  | 'indices'
  | 'int'
  | 'float'
  | 'bool'
  | 'string'
  | 'dtype'
  | 'scalar'
  | 'dims'
  | 'sizes'
  | 'ints'
  | 'size'
  | 'floats'
  | 'index'
  | 'any';

export interface Parameter {
  /** torch's name in camelCase: input, dim, keepdim, storageOffset. */
  readonly name: string;
  readonly type: ParameterType;
  /** Present: the parameter may be left out, and this is what it is then. */
  readonly default?: Attr;
  /** May be null. */
  readonly nullable?: boolean;
  /** Only by name, never by position (`*` in torch's signature). */
  readonly keywordOnly?: boolean;
  /** Takes all remaining positional arguments, as in x.permute(0, 2, 1). */
  readonly variadic?: boolean;
  /** Allowed strings, where there are few; of another type than `string`, those that it takes besides. */
  readonly choices?: readonly string[];
  /** Of a bool: the one value that fits; the other one is for another overload. */
  readonly only?: boolean;
}

export type OperatorKind = 'pointwise' | 'reduction' | 'view' | 'creation' | 'primitive' | 'composite';

/** What an operator builds with: calls on values, in whatever interpretation the builder gives them. */
export interface Builder {
  readonly sizes: SizeEnvironment;
  meta(value: ValueRef): Meta;
  /** The first result of `target`. */
  call(target: string, args: readonly Arg[], attrs?: Attrs): ValueRef;
  callAll(target: string, args: readonly Arg[], attrs?: Attrs): readonly ValueRef[];
}

export interface InferContext {
  readonly sizes: SizeEnvironment;
  /** Metas of the tensor arguments, in place of their refs. */
  metaOf(arg: ValueRef): Meta;
}

export interface CanonicalCall {
  /** Another operator that does the work instead, for arguments which this one leaves to it. */
  readonly target?: string;
  readonly args: readonly Arg[];
  readonly attrs: Attrs;
}

export interface Operator {
  readonly name: string;
  /** Dotted names under `torch.` by which a PyTorch user calls it; the first is the usual one. `Tensor.x` is a method. */
  readonly torch: readonly string[];
  readonly kind: OperatorKind;
  readonly doc: string;
  readonly parameters: readonly Parameter[];
  /** Offered as a method of Tensor (the first tensor parameter is `this`), as a function, or both. */
  readonly forms: readonly ('method' | 'function')[];
  /** Also offered as name_ (writes the result into the first argument). */
  readonly inPlace?: boolean;
  /** A call may find, when it runs, that its operands are wrong: an index out of range, a condition that does not hold. */
  readonly checks?: boolean;
  /** Every element of its result is one value: its in-place form, as no other, may write to elements that share memory. */
  readonly isUniform?: boolean;
  /** Result metas. Throws UserError on shapes, dtypes or attributes that the operator rejects. */
  infer(context: InferContext, args: readonly Arg[], attrs: Attrs): readonly Meta[];
  /** Composites: the same function in simpler operators. */
  decompose?(builder: Builder, args: readonly Arg[], attrs: Attrs): ValueRef | readonly ValueRef[];
  /** Views: layout over the base's layout, or undefined where the result cannot share storage. */
  view?(base: ViewLayout, attrs: Attrs, sizes: SizeEnvironment): ViewLayout | undefined;
  /** Several results are returned as an array of this many, or `list` where it depends on the arguments. */
  readonly results?: number | 'list';
  /** Scalars beside which another operator stands for it: no tensor of the same value may stand in for them. */
  readonly scalarStandIns?: ReadonlyMap<number, string>;
  /** Beside whole numbers it refuses a scalar below zero, which it would not see in a tensor. */
  readonly refusesNegative?: boolean;
  /** Users get its one element, a boolean, and not the tensor. */
  readonly isAnswer?: boolean;
  /** Its result may be its first argument itself, or a view of it, where nothing has to be computed. */
  readonly mayAlias?: boolean;
  /** Other forms of the call, tried in order by `bindArguments` where the arguments do not fit `parameters`. */
  readonly overloads?: readonly string[];
  /**
   * Puts a call in its canonical form when it is built (dims counted from 0, sizes without -1, operands of one dtype):
   * what a primitive's node in a graph always has. May add nodes.
   */
  canonical?(builder: Builder, args: readonly Arg[], attrs: Attrs): CanonicalCall;
  /** Views of several results (split, unbind), as `view`: one layout per result. */
  views?(base: ViewLayout, attrs: Attrs, sizes: SizeEnvironment): readonly ViewLayout[] | undefined;
  /** The dtypes accepted as input; all if absent. */
  readonly accepts?: readonly DType[];
  /** Of operators made of pointwise ops: how accurate they are at f32, for each kind of call. */
  readonly accuracy?: readonly ForwardBound[];
  /** Of a composite: its gradient, where that is not the gradient of what it decomposes into. */
  readonly gradient?: GradientRule;
  /** The results of a call whose shapes values decide, which are read; undefined where a graph says them. */
  reads?(performer: Performer, args: readonly Arg[], attrs: Attrs): readonly ValueRef[] | undefined;
  /** The results of a call that draws random numbers; undefined where nothing is random. */
  draws?(performer: Performer, args: readonly Arg[], attrs: Attrs): readonly ValueRef[] | undefined;
  /** What the call writes to its arguments, beside its results. */
  writes?(performer: Performer, args: readonly Arg[], attrs: Attrs): void;
}
