// A body as statements of a nest: every node is a constant at the outermost level where its operands are known. In: a body
// without decompositions, but for ops with a guard, which are called where it holds. Out: the values of its results.
import { at, invariant, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { BodyBuilder, boundsOf, constantToValue, liveNodes } from '@tsinductor/ir';
import type { Body, BufferId, Scalar, ScalarId } from '@tsinductor/ir';
import { f16FromBits, fromBfloat16Bits, pointwise } from '@tsinductor/ops';
import type { PointwiseName } from '@tsinductor/ops';
import { evaluatorOf, expressionOf } from './arithmetic.ts';
import type { Writing } from './arithmetic.ts';
import { bitcastText, castOf } from './casts.ts';
import { placedIndex } from './index-text.ts';
import type { IndexScope } from './index-text.ts';
import { literal } from './kernel-text.ts';
import type { KernelText } from './kernel-text.ts';
import type { Placed } from './nest.ts';
import { bigintText, largestExact, numberText } from './values.ts';
import type { Value } from './values.ts';
import { wholeOf } from './whole-arithmetic.ts';

interface BodyScope extends Omit<IndexScope, 'indirect'> {
  readonly kernel: KernelText;
  /** The value of a state. */
  readonly carried: (slot: number) => Value;
  /** Constants that the user may give another time with another value. */
  readonly isGiven: (value: number) => boolean;
}

type Node<Kind extends Scalar['kind']> = Extract<Scalar, { readonly kind: Kind }>;

export interface Written {
  readonly results: readonly Value[];
  /** The value of an index expression of the body. */
  readonly place: (index: Parameters<typeof placedIndex>[0]) => Placed;
}

/** Writes the statements of a body. */
export function writeBody(body: Body, scope: BodyScope): Written {
  const writer = new BodyWriter(body, scope);
  const live = liveNodes(body);
  body.nodes.forEach((node, id) => {
    writer.add(node, live[id] === true);
  });
  return { results: body.results.map((id) => writer.value(id)), place: (index) => placedIndex(index, writer.indexes) };
}

type Surroundings = Pick<BodyScope, 'kernel' | 'nest' | 'place' | 'isGiven'>;

/** A body over states alone, which stands at no point of the node's axes. Gives the values of its results. */
export const writeOverStates = (
  body: Body,
  { kernel, nest, place, isGiven }: Surroundings,
  carried: BodyScope['carried'],
): readonly Value[] => writeBody(body, { kernel, nest, place, isGiven, coordinates: noCoordinates, carried }).results;

const noCoordinates: ReadonlyMap<string, Placed> = new Map();

class BodyWriter {
  readonly #body: Body;
  readonly #scope: BodyScope;
  readonly #values: (Value | undefined)[] = [];
  readonly indexes: IndexScope;

  constructor(body: Body, scope: BodyScope) {
    this.#body = body;
    this.#scope = scope;
    const indirect = (id: ScalarId): Placed => {
      const value = this.value(id);
      return { text: numberText(value), level: value.level };
    };
    this.indexes = { nest: scope.nest, coordinates: scope.coordinates, place: scope.place, indirect };
  }

  value(id: ScalarId): Value {
    const value = at(this.#values, id);
    invariant(value !== undefined, `node ${String(id)} of a body has no value`);
    return value;
  }

  add(node: Scalar, isLive: boolean): void {
    this.#values.push(isLive ? this.#named(node, this.#valueOf(node)) : undefined);
  }

  /** What is no name or literal gets a name, since it may be used more than once. */
  #named({ kind }: Scalar, value: Value): Value {
    if (kind === 'constant' || value.kind === 'words' || /^\w+$/.test(value.text)) return value;
    return { ...value, ...this.#scope.nest.define(value) };
  }

  #valueOf(node: Scalar): Value {
    switch (node.kind) {
      case 'constant':
        return this.#constant(node);
      case 'index': {
        const { low, high } = boundsOf(node.value);
        const placed = placedIndex(node.value, this.indexes);
        return { kind: 'whole', ...placed, low: Math.max(low, -largestExact), high: Math.min(high, largestExact) };
      }
      case 'carried':
        return this.#scope.carried(node.slot);
      case 'load':
        return this.#load(node);
      case 'cast': {
        const value = this.value(node.value);
        return castOf({ value, from: this.#dtypeOf(node.value), to: node.dtype }, this.#writing(value.level));
      }
      case 'bitcast':
        return this.#bitcast(node);
      case 'apply':
        return this.#apply(node);
      case 'check':
        return this.#check(node);
    }
  }

  #dtypeOf(id: ScalarId): DType {
    return at(this.#body.nodes, id).dtype;
  }

  #writing(level: number): Writing {
    const { kernel, nest } = this.#scope;
    return { kernel, define: (text) => nest.define({ text, level }).text, usual: () => nest.usual() };
  }

  #constant({ dtype, value }: Node<'constant'>): Value {
    const constant = constantToValue(value, dtype);
    if (typeof constant === 'bigint') {
      const number = Number(constant);
      if (Math.abs(number) > largestExact) return { kind: 'bigint', text: `${String(constant)}n`, level: 0 };
      return { kind: 'whole', text: literal(number), level: 0, low: number, high: number };
    }
    const isGiven = isFloat(dtype) && Number.isFinite(constant) && this.#scope.isGiven(constant);
    return { kind: 'number', text: isGiven ? this.#scope.kernel.number(constant) : literal(constant), level: 0 };
  }

  #load(node: Node<'load'>): Value {
    const { kernel } = this.#scope;
    const placed = placedIndex(node.at, this.indexes);
    const mask = node.mask === undefined ? undefined : this.value(node.mask);
    const other = node.other === undefined ? undefined : this.value(node.other);
    const level = Math.max(placed.level, mask?.level ?? 0, other?.level ?? 0);
    const array = kernel.buffer(node.buffer, node.dtype);
    const masked = (element: string, otherwise: string): string =>
      mask === undefined ? element : `(${mask.text} !== 0 ? ${element} : ${otherwise})`;
    if (node.dtype !== 'i64') {
      const element = decoded(`${array}[${placed.text}]`, node.dtype, kernel);
      return { kind: 'number', text: masked(element, other === undefined ? '0' : numberText(other)), level };
    }
    if (mask !== undefined)
      return {
        kind: 'bigint',
        text: masked(`${array}[${placed.text}]`, other === undefined ? '0n' : bigintText(other)),
        level,
      };
    const place = this.#scope.nest.define(placed, 'q').text;
    return { ...elementValue(kernel, { buffer: node.buffer, dtype: node.dtype, place }), level };
  }

  #bitcast(node: Node<'bitcast'>): Value {
    const value = this.value(node.value);
    const from = this.#dtypeOf(node.value);
    const operand = from === 'i64' ? { ...value, text: bigintText(value) } : value;
    const text = bitcastText({ value: operand, from, to: node.dtype }, this.#writing(value.level));
    return { kind: node.dtype === 'i64' ? 'bigint' : 'number', text, level: value.level };
  }

  #apply({ op, args }: Node<'apply'>): Value {
    const entry = pointwise[op];
    const values = args.map((id) => this.value(id));
    const level = Math.max(0, ...values.map((value) => value.level));
    const writing = this.#writing(level);
    const dtype = this.#dtypeOf(at(entry.rule === 'select' ? args.slice(1) : args, 0));
    if (dtype === 'i64') return wholeOf(op, values, writing);
    const texts = values.map(({ text }) => text);
    if (entry.guard !== undefined) return { kind: 'number', text: this.#guarded(op, dtype, values), level };
    const text = expressionOf(op, { dtype, args: texts }, writing);
    return { kind: 'number', text: text ?? `${this.#evaluator(op, dtype)}(${texts.join(', ')})`, level };
  }

  #evaluator(op: PointwiseName, dtype: DType): string {
    return this.#scope.kernel.helper(`${op}_${dtype}`, () => evaluatorOf(op, dtype));
  }

  /** What is rarely needed and much work is called where its guard holds. */
  #guarded(op: PointwiseName, dtype: DType, values: readonly Value[]): string {
    const builder = new BodyBuilder({ ops: 'decomposed' });
    const names = ['x', 'y', 'z'].slice(0, values.length);
    const operands = Object.fromEntries(names.map((name, slot) => [name, builder.carried(slot, dtype)]));
    const term = pointwise[op].guard?.(dtype);
    const test = term === undefined ? builder.constant(1, 'bool') : builder.inlineTerm(term, operands, dtype);
    const { results } = writeBody(builder.finish([test]), { ...this.#scope, carried: (slot) => at(values, slot) });
    const call = `${this.#evaluator(op, dtype)}(${values.map(({ text }) => text).join(', ')})`;
    return `${at(results, 0).text} !== 0 ? ${call} : 0`;
  }

  #check(node: Node<'check'>): Value {
    const { nest } = this.#scope;
    const value = this.value(node.value);
    const extent = placedIndex(node.extent, this.indexes);
    const level = Math.max(value.level, extent.level);
    const size = nest.define({ text: extent.text, level }).text;
    const given = nest.define({ text: numberText(value), level }).text;
    const index = node.wraps
      ? nest.define({ text: `${given} < 0 ? ${given} + ${size} : ${given}`, level }).text
      : given;
    const failure = `site: ${String(node.site)}, value: ${given}, size: ${size}, wraps: ${String(node.wraps)}`;
    nest.line(level, `if (!(${index} >= 0 && ${index} < ${size})) fail({ ${failure} });`);
    const high = Math.min(boundsOf(node.extent).high - 1, largestExact);
    return { kind: 'whole', text: index, level, low: 0, high: Math.max(0, high) };
  }
}

interface Element {
  readonly buffer: BufferId;
  readonly dtype: DType;
  /** A name, since it is said several times. */
  readonly place: string;
}

/** An element of a buffer. */
export function elementValue(kernel: KernelText, { buffer, dtype, place }: Element): Value {
  const text = `${kernel.buffer(buffer, dtype)}[${place}]`;
  if (dtype !== 'i64') return { kind: 'number', text: decoded(text, dtype, kernel), level: 0 };
  const halves = kernel.buffer(buffer, dtype, 'halves');
  return { kind: 'words', text, lower: `${halves}[2 * ${place}]`, upper: `${halves}[2 * ${place} + 1]`, level: 0 };
}

/** From the bits in memory to the value, where they differ. */
function decoded(element: string, dtype: DType, kernel: KernelText): string {
  if (dtype === 'f16') return `${kernel.helper('f16Values', makeHalves)}[${element}]`;
  return dtype === 'bf16' ? `${kernel.helper('fromBfloat16Bits', () => fromBfloat16Bits)}(${element})` : element;
}

/** Every half-precision number, by its bits. */
const makeHalves = (): Float32Array => Float32Array.from({ length: 65_536 }, (_, bits) => f16FromBits(bits));
