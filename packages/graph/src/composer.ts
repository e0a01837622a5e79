// The language in which decompositions are written: a Builder with a verb for each primitive. Numbers stand for
// scalars, dims may be negative, shapes are Indexes, and steps that change nothing add no node.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { add, int } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { isScalar, scalar } from './argument-reader.ts';
import { noDims } from './errors.ts';
import type { Arg, Attr, Attrs, Meta, ScalarRef, ValueRef } from './graph.ts';
import type { Builder } from './operator.ts';
import { ascending, normalizeDim, normalizeDims, one, product, range, sizeAttr, sizesAttr } from './shape.ts';
import type { Shape } from './shape.ts';
import type { SizeEnvironment } from './size-environment.ts';

/** What stands as an operand of a pointwise op. */
export type OperandLike = ValueRef | ScalarRef | number | boolean;

/** The axes that a reduction goes over, and whether they stay with size 1. */
export interface Over {
  readonly dims: readonly number[];
  readonly keepdim: boolean;
}

/** A scalar of the float category, whatever its value: what Python writes as 2.0. */
export const float = (value: number): ScalarRef => scalar(value, 'float');

export class Composer {
  readonly builder: Builder;

  constructor(builder: Builder) {
    this.builder = builder;
  }

  get sizes(): SizeEnvironment {
    return this.builder.sizes;
  }

  meta(x: ValueRef): Meta {
    return this.builder.meta(x);
  }
  shape(x: ValueRef): Shape {
    return this.meta(x).shape;
  }
  rank(x: ValueRef): number {
    return this.shape(x).length;
  }
  dtype(x: ValueRef): DType {
    return this.meta(x).dtype;
  }
  /** The dtype of an operand as far as floats go: scalars have none. */
  isFloat(x: ValueRef | ScalarRef): boolean {
    return isScalar(x) ? x.category === 'float' : isFloat(this.dtype(x));
  }
  /** Throws for a 0-d tensor, which has the dims 0 and -1 but no size along them. */
  size(x: ValueRef, dim: number): Index {
    const size = this.shape(x)[normalizeDim(dim, this.rank(x))];
    if (size === undefined) throw noDims(dim);
    return size;
  }
  dim(x: ValueRef, dim: number): number {
    return normalizeDim(dim, this.rank(x));
  }
  /** Dims counted from 0; all of them for undefined or an empty list, as most reductions have it. */
  dims(x: ValueRef, dims: readonly number[] | undefined): readonly number[] {
    return dims === undefined || dims.length === 0 ? range(this.rank(x)) : normalizeDims(dims, this.rank(x));
  }
  count(x: ValueRef, dims: readonly number[] = range(this.rank(x))): Index {
    return product(dims.map((dim) => this.size(x, dim)));
  }

  call(target: string, args: readonly Arg[], attrs: Attrs = {}): ValueRef {
    return this.builder.call(target, args, attrs);
  }
  callAll(target: string, args: readonly Arg[], attrs: Attrs = {}): readonly ValueRef[] {
    return this.builder.callAll(target, args, attrs);
  }

  /** A pointwise op. */
  op(target: string, ...operands: readonly OperandLike[]): ValueRef {
    return this.builder.call(
      target,
      operands.map((x) => (typeof x === 'object' ? x : scalar(x))),
      {},
    );
  }
  /** A pointwise op with an associative target, over a list of at least one. */
  fold(target: string, items: readonly ValueRef[]): ValueRef {
    return items.slice(1).reduce((all, item) => this.op(target, all, item), at(items, 0));
  }

  cast(x: ValueRef, dtype: DType): ValueRef {
    return this.dtype(x) === dtype ? x : this.builder.call('cast', [x], { dtype: { dtype } });
  }
  /** x in the dtype in which its arithmetic is done: f16 and bf16 become f32. */
  widen(x: ValueRef): ValueRef {
    return this.cast(x, dtypeInfo[this.dtype(x)].compute);
  }
  /** Integers and bool become the default float, floats stay. */
  toFloat(x: ValueRef): ValueRef {
    return isFloat(this.dtype(x)) ? x : this.cast(x, 'f32');
  }

  /** A reduction, over all axes unless told otherwise. */
  reduce(target: string, x: ValueRef, over: readonly number[] | Over = range(this.rank(x))): ValueRef {
    const { dims, keepdim } = 'dims' in over ? over : { dims: over, keepdim: false };
    const normalized = ascending(normalizeDims(dims, this.rank(x)));
    return this.builder.call(target, [x], { dims: normalized, keepdim });
  }
  reshape(x: ValueRef, shape: Shape): ValueRef {
    return this.builder.call('reshape', [x], { shape: sizesAttr(shape) });
  }
  /** x in one axis. */
  flatten(x: ValueRef): ValueRef {
    return this.rank(x) === 1 ? x : this.reshape(x, [this.count(x)]);
  }
  permute(x: ValueRef, dims: readonly number[]): ValueRef {
    return dims.every((dim, axis) => dim === axis) ? x : this.builder.call('permute', [x], { dims: [...dims] });
  }
  transpose(x: ValueRef, dim0: number, dim1: number): ValueRef {
    const [first, second] = [this.dim(x, dim0), this.dim(x, dim1)];
    return this.permute(
      x,
      range(this.rank(x)).map((axis) => (axis === first ? second : axis === second ? first : axis)),
    );
  }
  /** Moves one axis to another place; the others keep their order. */
  move(x: ValueRef, from: number, to: number): ValueRef {
    const [source, target] = [this.dim(x, from), this.dim(x, to)];
    const order = range(this.rank(x)).filter((axis) => axis !== source);
    if (this.rank(x) > 0) order.splice(target, 0, source);
    return this.permute(x, order);
  }
  expand(x: ValueRef, shape: Shape): ValueRef {
    const same = shape.length === this.rank(x) && shape.every((size, axis) => size === this.shape(x)[axis]);
    return same ? x : this.builder.call('expand', [x], { shape: sizesAttr(shape) });
  }
  unsqueeze(x: ValueRef, dim: number): ValueRef {
    const shape = [...this.shape(x)];
    shape.splice(normalizeDim(dim, this.rank(x) + 1), 0, one);
    return this.reshape(x, shape);
  }
  /** Drops axes, whose size is 1. */
  squeeze(x: ValueRef, ...dims: readonly number[]): ValueRef {
    const dropped = normalizeDims(dims, this.rank(x));
    return dropped.length === 0
      ? x
      : this.reshape(
          x,
          this.shape(x).filter((_, axis) => !dropped.includes(axis)),
        );
  }
  /** x as if it had `rank` axes: new ones of size 1 in front. */
  lead(x: ValueRef, rank: number): ValueRef {
    const missing = rank - this.rank(x);
    return missing <= 0 ? x : this.reshape(x, [...new Array<Index>(missing).fill(one), ...this.shape(x)]);
  }
  /** A vector along axis `dim` of a tensor of `rank` axes. */
  along(x: ValueRef, dim: number, rank: number): ValueRef {
    return this.reshape(
      x,
      range(rank).map((axis) => (axis === dim ? this.count(x) : one)),
    );
  }
  slice(x: ValueRef, dim: number, bounds: { start?: Index | number; end?: Index | number; step?: number }): ValueRef {
    const { start = 0, end = this.size(x, dim), step = 1 } = bounds;
    const bound = (value: Index | number): Attr => (typeof value === 'number' ? value : sizeAttr(value));
    return this.builder.call('slice', [x], { dim: this.dim(x, dim), start: bound(start), end: bound(end), step });
  }
  select(x: ValueRef, dim: number, index: Index | number): ValueRef {
    const start = typeof index === 'number' ? int(index) : index;
    return this.squeeze(this.slice(x, dim, { start, end: add(start, one) }), this.dim(x, dim));
  }
  flip(x: ValueRef, dims: readonly number[]): ValueRef {
    return dims.length === 0 ? x : this.builder.call('flip', [x], { dims: [...normalizeDims(dims, this.rank(x))] });
  }
  /** `padding` has a pair for each axis. */
  pad(x: ValueRef, padding: readonly (readonly [Index, Index])[], value: number | ScalarRef = 0): ValueRef {
    const pairs = padding.map((pair) => pair.map(sizeAttr));
    return this.builder.call('pad', [x], { padding: pairs, value: typeof value === 'number' ? scalar(value) : value });
  }
  cat(items: readonly ValueRef[], dim: number): ValueRef {
    return items.length === 1 ? at(items, 0) : this.builder.call('cat', [items], { dim });
  }
  gather(x: ValueRef, dim: number, index: ValueRef): ValueRef {
    return this.builder.call('gather', [x, index], { dim: this.dim(x, dim) });
  }
  /** x, of which `holds` must be true everywhere: `what` is wrong where it is not, and what to do. */
  require(x: ValueRef, holds: ValueRef, error: { readonly what: string; readonly remedy: string }): ValueRef {
    return this.builder.call('require', [x, holds], { ...error, by: null });
  }
  indexSelect(x: ValueRef, dim: number, index: ValueRef): ValueRef {
    return this.builder.call('indexSelect', [x, index], { dim: this.dim(x, dim) });
  }
  /** Rows of a table: elements along the first dim. */
  rows(table: ValueRef, index: ValueRef): ValueRef {
    return this.builder.call('index', [table, [index]], { dims: [0], wraps: false });
  }
  /** What subscripts read along the leading dims: negative ones count from the end. */
  index(x: ValueRef, indices: readonly ValueRef[]): ValueRef {
    return this.builder.call('index', [x, indices], { dims: range(indices.length), wraps: true });
  }
  scatter(
    x: ValueRef,
    dim: number,
    update: { index: ValueRef; source: ValueRef; mode: 'set' | 'add' | 'multiply' | 'min' | 'max' },
  ): ValueRef {
    return this.builder.call('scatter', [x, update.index, update.source], { dim: this.dim(x, dim), mode: update.mode });
  }
  full(value: number | boolean | ScalarRef, shape: Shape, dtype: DType): ValueRef {
    const filling = typeof value === 'object' ? value : scalar(value);
    return this.builder.call('full', [filling], { shape: sizesAttr(shape), dtype: { dtype } });
  }
  /** start, start + step ... as a vector. */
  iota(length: Index, dtype: DType = 'i64', progression: { start?: number | Index; step?: number } = {}): ValueRef {
    const { start = 0, step = 1 } = progression;
    const first = typeof start === 'number' ? start : sizeAttr(start);
    return this.builder.call('iota', [], { length: sizeAttr(length), start: first, step, dtype: { dtype } });
  }
  /** A size as an operand: a scalar where it is known, else a 0-d tensor. */
  sizeOperand(size: Index, dtype: DType = 'i64'): OperandLike {
    if (size.kind === 'int') return isFloat(dtype) ? float(size.value) : size.value;
    return this.cast(this.reshape(this.iota(one, 'i64', { start: size, step: 0 }), []), dtype);
  }
  /** A size as a 0-d tensor. */
  sizeValue(size: Index, dtype: DType): ValueRef {
    const operand = this.sizeOperand(size, dtype);
    return typeof operand === 'object' && operand.kind === 'value' ? operand : this.full(operand, [], dtype);
  }
  bmm(a: ValueRef, b: ValueRef): ValueRef {
    return this.builder.call('bmm', [a, b], {});
  }
  /** x as a constant: what is computed from it here has no part in gradients (it cancels, or is a choice). */
  detach(x: ValueRef): ValueRef {
    return this.builder.call('detach', [x], {});
  }
  where(condition: ValueRef, x: OperandLike, y: OperandLike): ValueRef {
    return this.op('where', condition, x, y);
  }
}

/** The number n as an Index. */
export const size = (n: number): Index => int(n);
