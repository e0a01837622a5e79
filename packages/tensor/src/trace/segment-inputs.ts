// What of a segment is input rather than part of it: sizes that change become symbolic, and numbers that change become 0-d
// tensors, so that the next call with other sizes and numbers finds the segment compiled. In: calls as they come, and
// a host that remembers what was seen at each place of a program. Out: the call with its numbers lifted.
import type { DType } from '@tsinductor/base';
import { dtypeInfo, isFloat } from '@tsinductor/base';
import { isScalar } from '@tsinductor/graph';
import type { Arg, Meta, ScalarRef } from '@tsinductor/graph';
import type { BoundCall } from '../bound-call.ts';
import { tensorOfElements } from '../create.ts';
import { onDevice } from '../device.ts';
import { makeElements } from '../element-array.ts';
import type { ElementValue } from '../element-array.ts';
import { unrecorded } from '../process-state.ts';
import { outsideScopes } from '../scope.ts';
import type { Tensor } from '../tensor.ts';
import type { DynamicAxis } from './input-meta.ts';
import { elementOfNumber, mayBeLifted, numberDType } from './number-operand.ts';

/** Remembers what was seen where. */
export interface InputMemory {
  /** Axes of an input that get symbolic sizes. */
  axesOf(slot: string, tensor: Tensor): readonly DynamicAxis[];
  /** Whether a number is an input: because it has changed, or (`isRead`) because it comes from a tensor. */
  isVariable(slot: string, value: number, isRead: boolean): boolean;
}

/** What was decided before of the inputs of an operation, which is recorded once more. */
export interface Decided {
  /** Metas of the inputs that are first met in it, in order, but for numbers. */
  readonly metas: readonly Meta[];
  /** Arguments whose numbers are inputs. */
  readonly lifted: ReadonlySet<number>;
}

export class SegmentInputs {
  readonly #memory: InputMemory;
  /** Numbers that the program has read from tensors. */
  readonly #read = new Set<number>();
  #place = '';
  #met = 0;
  #decided: { readonly metas: Meta[]; readonly lifted: ReadonlySet<number> } | undefined;

  constructor(memory: InputMemory) {
    this.#memory = memory;
  }

  /** The next operation: its name, and how many came before it in the segment. */
  enter(name: string, position: number): void {
    this.#place = `${position} ${name}`;
    this.#met = 0;
  }

  /** What is met by `work` is decided already. */
  decided<T>({ metas, lifted }: Decided, work: () => T): T {
    this.#decided = { metas: metas.filter(({ shape }) => shape.length > 0), lifted };
    try {
      return work();
    } finally {
      this.#decided = undefined;
    }
  }

  axesOf(tensor: Tensor): readonly DynamicAxis[] {
    this.#met += 1;
    if (this.#decided !== undefined) return tensor.ndim === 0 ? [] : symbolicAxes(this.#decided.metas.shift());
    return this.#memory.axesOf(`${this.#place} ${this.#met} ${tensor.dtype} ${tensor.ndim}`, tensor);
  }

  noteRead(value: ElementValue): void {
    if (typeof value === 'number') this.#read.add(value);
  }

  /** The call with changing numbers as tensors, which are listed in `made`. */
  lift(call: BoundCall, made: Tensor[]): BoundCall {
    if (call.operator.kind !== 'pointwise' || !call.args.some(isScalar)) return call;
    const tensors = [...call.tensors];
    const args = call.args.map((arg, position): Arg => {
      const lifted = isScalar(arg) ? this.#lifted(call, arg, position) : undefined;
      if (lifted === undefined) return arg;
      made.push(lifted);
      return { kind: 'value', node: tensors.push(lifted) - 1, result: 0 };
    });
    return made.length === 0 ? call : { ...call, args, tensors };
  }

  #lifted({ operator, tensors }: BoundCall, { category, value }: ScalarRef, position: number): Tensor | undefined {
    if (typeof value !== 'number') return undefined;
    const dtype = numberDType(category, tensors) ?? fractionDType(category, tensors);
    if (dtype === undefined || !mayBeLifted(operator, value, dtype) || !this.#isVariable(value, position))
      return undefined;
    return numberTensor(value, dtype);
  }

  #isVariable(value: number, position: number): boolean {
    if (this.#decided !== undefined) return this.#decided.lifted.has(position);
    return this.#memory.isVariable(`${this.#place} ${position}`, value, this.#read.has(value));
  }
}

/** Axes of a placeholder that have names. */
const symbolicAxes = (meta: Meta | undefined): readonly DynamicAxis[] =>
  (meta?.shape ?? []).flatMap((size, axis) => (size.kind === 'size' ? [{ axis, min: size.min, max: size.max }] : []));

/** A number as a 0-d tensor. */
export function numberTensor(value: number, dtype: DType): Tensor {
  const elements = makeElements(dtype, 1);
  elements[0] = elementOfNumber(value, dtype);
  return unrecorded(() => outsideScopes(() => onDevice('cpu', () => tensorOfElements(elements, dtype, []))));
}

/** A fraction beside whole numbers makes floats of them, as a 0-d tensor of floats does; whether it is one is part of the segment. */
const fractionDType = (category: ScalarRef['category'], tensors: readonly Tensor[]): DType | undefined =>
  category === 'float' &&
  tensors.some(({ dtype }) => dtypeInfo[dtype].category === 'integer') &&
  !tensors.some(({ dtype }) => isFloat(dtype))
    ? 'f32'
    : undefined;
