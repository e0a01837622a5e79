// A scalar body at a point of a nest becomes kernel values: for one element, or for the lanes of a vector where the
// body depends on the lane axis. What does not depend on it stays scalar and is broadcast where a vector needs it.
// Results are names or constants; everything they need has been written, as far out as it may stand.
import { at } from '@tsinductor/base';
import { coefficientOf, constantToValue, freeAxes, indexOperands, int, rangeOf } from '@tsinductor/ir';
import type { Access, Body, BufferId, Index, Scalar, ScalarId, Value } from '@tsinductor/ir';
import { evaluator, pointwise } from '@tsinductor/ops';
import { snakeCase } from '../names.ts';
import { alignIndex, isUniform } from './aligned-index.ts';
import { hasIndirect, mapIndex, named } from './index-math.ts';
import type { KernelWriter, Positions } from './kernel-writer.ts';

export interface Lane {
  /** The loop variable that runs over the lanes. */
  readonly axis: string;
  readonly lanes: number;
  /** Lanes that exist, where the last vector is not full. */
  readonly count?: Index;
}

/** Where a body is evaluated. */
export interface Point {
  /** What the group's axes are, in names of the kernel. */
  readonly axes: ReadonlyMap<string, Index>;
  readonly lane?: Lane;
  readonly carried?: readonly Value[];
}

/** What a load finds: a value at hand, or a place in memory. */
export type Source = { readonly kind: 'value'; readonly value: Value } | ({ readonly kind: 'memory' } & Place);

interface Place {
  readonly name: string;
  readonly at: Index;
  /** The block outside which it must not be read. */
  readonly floor: number;
  readonly align: number;
  /** The lanes of a vector lie side by side here, whatever the index says: a row of vectors. */
  readonly packed: boolean;
}

export interface Evaluation {
  readonly writer: KernelWriter;
  readonly point: Point;
  /** What the kernel's names are multiples of, where that is more than 1; of the lane axis, its value at lane 0. */
  readonly units?: ReadonlyMap<string, number>;
  /** The elements of a reduction come in the order of their positions. */
  readonly isInOrder?: boolean;
  /** `position` is an index over the group's axes, which `resolve` turns into the kernel's names. */
  source(buffer: BufferId, position: Index, resolve: (index: Index) => Index): Source;
}

/** Names or constants for the results of `body`. */
export function evaluateBody(body: Body, evaluation: Evaluation): readonly Value[] {
  const evaluator = new BodyEvaluator(body, evaluation);
  return body.results.map((result) => evaluator.value(result));
}

/** An index over group axes, without loaded indices, in names of the kernel. */
export const resolveIndex = (index: Index, point: Point): Index =>
  mapIndex(index, {
    axis: (axis) => point.axes.get(axis.name) ?? named(axis.name, axis.extent),
    indirect: (value, extent) => ({ kind: 'indirect', value, extent }),
  });

/** `value` in `lanes` lanes. */
export function widen(value: Value, lanes: number, writer: KernelWriter): Value {
  if (value.type.lanes === lanes) return value;
  const type = { dtype: value.type.dtype, lanes };
  if (value.kind === 'constant') return { ...value, type };
  const base = value.kind === 'name' ? `${value.name.replace(/_\d+$/, '')}_all` : 'all';
  return writer.define({ kind: 'broadcast', type, value }, base);
}

export class BodyEvaluator {
  readonly #body: Body;
  readonly #evaluation: Evaluation;
  readonly #values = new Map<ScalarId, Value>();
  /** Names in indices that stand for vectors. */
  readonly #vectors = new Map<string, Value>();

  constructor(body: Body, evaluation: Evaluation) {
    this.#body = body;
    this.#evaluation = evaluation;
  }

  get #writer(): KernelWriter {
    return this.#evaluation.writer;
  }

  value(id: ScalarId): Value {
    const known = this.#values.get(id);
    if (known !== undefined) return known;
    const value = this.#compute(at(this.#body.nodes, id));
    this.#values.set(id, value);
    return value;
  }

  /** `index` over the kernel's names, loaded indices included. */
  resolve(index: Index): Index {
    const { point, units } = this.#evaluation;
    const resolved = mapIndex(index, {
      axis: (axis) => point.axes.get(axis.name) ?? named(axis.name, axis.extent),
      indirect: (value, extent) => this.#indirect(value, extent),
    });
    if (units === undefined || point.lane === undefined) return resolved;
    return alignIndex(resolved, { ...point.lane, units });
  }

  /** Whether an index in the kernel's names differs between lanes. */
  varies(index: Index): boolean {
    const { point, units } = this.#evaluation;
    const { lane } = point;
    if (lane === undefined || lane.lanes === 1) return false;
    const names = [...freeAxes(index)];
    if (names.some((name) => this.#vectors.has(name))) return true;
    return names.includes(lane.axis) && (units === undefined || !isUniform(index, { ...lane, units }));
  }

  #indirect(id: ScalarId, extent: Index): Index {
    const node = at(this.#body.nodes, id);
    if (node.kind === 'index') return this.resolve(node.value);
    const value = this.value(id);
    if (value.kind === 'constant')
      return int(Number(typeof value.value === 'object' ? value.value.bigint : value.value));
    const name = value.kind === 'name' ? value.name : this.#nameFor(value);
    if (value.type.lanes > 1) this.#vectors.set(name, value);
    return named(name, extent);
  }

  #nameFor(value: Value): string {
    const name = this.#writer.fresh('position');
    this.#writer.emit({ kind: 'let', name, value });
    return name;
  }

  #compute(node: Scalar): Value {
    const writer = this.#writer;
    switch (node.kind) {
      case 'constant':
        return { kind: 'constant', value: node.value, type: { dtype: node.dtype, lanes: 1 } };
      case 'carried':
        return at(this.#evaluation.point.carried ?? [], node.slot);
      case 'index':
        return this.index(this.resolve(node.value), 'i64', 'index');
      case 'load':
        return this.#load(node);
      case 'cast':
      case 'bitcast': {
        const value = node.kind === 'cast' ? this.#narrow(node.value) : this.value(node.value);
        if (value.type.dtype === node.dtype) return value;
        const type = { dtype: node.dtype, lanes: value.type.lanes };
        return writer.define({ kind: node.kind, value, type }, castName(value, node.dtype));
      }
      case 'apply':
        return this.#apply(node);
      case 'check':
        return this.#check(node);
    }
  }

  /** An index value, as a vector where it varies. */
  index(value: Index, dtype: 'i64' | 'i32', base: string): Value {
    const { lane } = this.#evaluation.point;
    if (value.kind === 'int') return { kind: 'constant', value: value.value, type: { dtype, lanes: 1 } };
    if (lane === undefined || !this.varies(value))
      return this.#writer.define({ kind: 'index', value, type: { dtype, lanes: 1 } }, base);
    return this.#writer.define({ kind: 'index', value, lane: lane.axis, type: { dtype, lanes: lane.lanes } }, base);
  }

  /** An index value that 32 bits hold is given as i32: for comparisons of positions and casts of them. */
  #narrow(id: ScalarId): Value {
    const node = at(this.#body.nodes, id);
    if (node.kind !== 'index' || !this.#isNarrow(id)) return this.value(id);
    return this.index(this.resolve(node.value), 'i32', 'position');
  }

  #isNarrow(id: ScalarId): boolean {
    return isNarrow(this.#body, id, this.#writer.positions);
  }

  #apply(node: Scalar & { readonly kind: 'apply' }): Value {
    const op = pointwise[node.op];
    if (op.traits.isFirstInOrder === true)
      return this.value(at(node.args, this.#evaluation.isInOrder === true ? 0 : 1));
    const narrow = op.rule === 'compare' && node.args.every((id) => this.#isNarrow(id));
    const args = node.args.map((id) => (narrow ? asNarrow(this.#narrow(id)) : this.value(id)));
    const lanes = Math.max(...args.map((value) => value.type.lanes));
    const known = this.#known(node, args);
    if (known !== undefined) return known;
    const wide = args.map((value) => widen(value, lanes, this.#writer));
    return this.#writer.define(
      { kind: 'apply', op: node.op, args: wide, type: { dtype: node.dtype, lanes } },
      snakeCase(node.op),
    );
  }

  /** What a comparison of constants answers here, and what a choice takes that is made. */
  #known(node: Scalar & { readonly kind: 'apply' }, args: readonly Value[]): Value | undefined {
    const op = pointwise[node.op];
    const [first] = args;
    if (op.rule === 'select' && first?.kind === 'constant') return at(args, isTrue(first) ? 1 : 2);
    const constants = args.flatMap((value) => (value.kind === 'constant' ? [value] : []));
    if (op.rule !== 'compare' || first === undefined || constants.length < args.length) return undefined;
    const { dtype } = first.type;
    const values = constants.map(({ value }) => constantToValue(value, dtype));
    const answer = evaluator(op, dtype)(...values);
    return { kind: 'constant', value: Number(answer), type: { dtype: node.dtype, lanes: 1 } };
  }

  #check(node: Scalar & { readonly kind: 'check' }): Value {
    const { lane } = this.#evaluation.point;
    const value = this.value(node.value);
    const count = value.type.lanes > 1 && lane?.count !== undefined ? { count: lane.count } : {};
    const extent = this.resolve(node.extent);
    return this.#writer.defineCheck({
      kind: 'check',
      name: '',
      value,
      extent,
      site: node.site,
      wraps: node.wraps,
      ...count,
    });
  }

  #load(node: Scalar & { readonly kind: 'load' }): Value {
    const mask = node.mask === undefined ? undefined : this.value(node.mask);
    if (mask?.kind === 'constant' && mask.value === 0) return this.#otherwise(node);
    const source = this.#evaluation.source(node.buffer, node.at, (index) => this.resolve(index));
    if (source.kind === 'value') return this.#masked(source.value, node, mask);
    const guard = mask === undefined || isTrue(mask) ? undefined : mask;
    const access = this.#access(source, guard);
    const lanes = this.#lanesOf(source, guard);
    const type = { dtype: node.dtype, lanes };
    const masked = guard === undefined ? {} : { mask: widen(guard, lanes, this.#writer) };
    const other = node.other === undefined ? {} : { other: widen(this.value(node.other), lanes, this.#writer) };
    return this.#writer.define({ kind: 'load', type, access, ...masked, ...other }, source.name, source.floor);
  }

  /** A load has lanes where its place or its mask differs between them. */
  #lanesOf(place: Place, mask: Value | undefined): number {
    const varies = place.packed || this.varies(place.at) || (mask !== undefined && mask.type.lanes > 1);
    return varies ? (this.#evaluation.point.lane?.lanes ?? 1) : 1;
  }

  #access(place: Place, mask: Value | undefined): Access {
    const layout = place.packed ? { at: place.at, step: int(1) } : this.place(place.at);
    const count = this.#evaluation.point.lane?.count;
    const partial = count !== undefined && this.#lanesOf(place, mask) > 1;
    return { buffer: place.name, ...layout, align: place.align, ...(partial ? { count } : {}) };
  }

  /** How the lanes of a vector at `index` lie in memory. */
  place(index: Index): Pick<Access, 'at' | 'step' | 'offsets'> {
    const { lane } = this.#evaluation.point;
    if (lane === undefined || !this.varies(index)) return { at: index, step: int(0) };
    const direct = [...freeAxes(index)].every((name) => !this.#vectors.has(name));
    const step = direct ? coefficientOf(index, lane.axis) : undefined;
    if (step !== undefined) return { at: index, step };
    const wide =
      [...freeAxes(index)].some((name) => this.#vectors.has(name)) || !fitsI32(index, this.#writer.positions);
    return { at: int(0), step: int(0), offsets: this.index(index, wide ? 'i64' : 'i32', 'offsets') };
  }

  #otherwise(node: Scalar & { readonly kind: 'load' }): Value {
    if (node.other !== undefined) return this.value(node.other);
    return { kind: 'constant', value: 0, type: { dtype: node.dtype, lanes: 1 } };
  }

  #masked(value: Value, node: Scalar & { readonly kind: 'load' }, mask: Value | undefined): Value {
    if (mask === undefined || isTrue(mask)) return value;
    const other = this.#otherwise(node);
    return select(mask, [value, other], this.#writer);
  }
}

const isTrue = (mask: Value): boolean => mask.kind === 'constant' && mask.value === 1;

/** where(mask, x, y), in the lanes of the widest of them. */
export function select(mask: Value, [x, y]: readonly [Value, Value], writer: KernelWriter): Value {
  const lanes = Math.max(mask.type.lanes, x.type.lanes, y.type.lanes);
  const args = [mask, x, y].map((value) => widen(value, lanes, writer));
  return writer.define({ kind: 'apply', op: 'where', args, type: { dtype: x.type.dtype, lanes } }, 'where');
}

/** Whether an index, and every step on the way to it that must not wrap, is a number of 32 bits. */
export const fitsI32 = (index: Index, positions: Positions): boolean =>
  positions === 'assumed' || (isWord(index) && stepsFitI32(index));

const isWord = (index: Index): boolean => {
  const { min, max } = rangeOf(index);
  return min !== null && max !== null && min >= -(2 ** 31) && max < 2 ** 31;
};

/** Sums and products may wrap, since what they come to fits: not so what is divided or compared. */
function stepsFitI32(index: Index): boolean {
  const operands = indexOperands(index);
  const isWrapping = index.kind === 'sum' || index.kind === 'product';
  return operands.every((operand) => (isWrapping || isWord(operand)) && stepsFitI32(operand));
}

/** Whether a node is a position or constant that i32 holds. */
export function isNarrow(body: Body, id: ScalarId, positions: Positions): boolean {
  const node = at(body.nodes, id);
  if (node.kind === 'index') return !hasIndirect(node.value) && fitsI32(node.value, positions);
  return node.kind === 'constant' && node.dtype === 'i64' && fitsNumber(node.value);
}

const fitsNumber = (value: unknown): boolean => {
  const number = typeof value === 'object' && value !== null && 'bigint' in value ? Number(value.bigint) : value;
  return typeof number === 'number' && Number.isInteger(number) && Math.abs(number) < 2 ** 31;
};

function asNarrow(value: Value): Value {
  if (value.kind !== 'constant') return value;
  const number = typeof value.value === 'object' ? Number(value.value.bigint) : value.value;
  return { ...value, value: number, type: { ...value.type, dtype: 'i32' } };
}

const castName = (value: Value, dtype: string): string =>
  value.kind === 'name'
    ? `${value.name.replace(/_(\d+|f32|f64|f16|bf16|i64|i32|i16|i8|u8|bool)$/, '')}_${dtype}`
    : dtype;
