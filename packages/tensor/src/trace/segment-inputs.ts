// What of a segment is input rather than part of it: sizes that change become symbolic, and numbers that change become 0-d
// tensors, so that the next call with other sizes and numbers finds the segment compiled. In: calls as they come, and
// a host that remembers what was seen at each place of a program. Out: the call with its numbers lifted.
import type { DType } from '@tsinductor/base';
import { dtypeInfo, isFloat } from '@tsinductor/base';
import { isScalar, scalarNumber } from '@tsinductor/graph';
import type { Arg, ScalarRef } from '@tsinductor/graph';
import type { BoundCall } from '../bound-call.ts';
import { tensorOfElements } from '../create.ts';
import { onDevice } from '../device.ts';
import { convertElement, elementReader, makeElements } from '../element-array.ts';
import { elementsOf } from '../layout.ts';
import { unrecorded } from '../process-state.ts';
import type { Placed } from '../recorder.ts';
import { outsideScopes } from '../scope.ts';
import type { Tensor } from '../tensor.ts';
import type { DynamicAxis } from './input-meta.ts';
import { numberDType } from './number-operand.ts';

/** Remembers what was seen where. */
export interface InputMemory {
  /** Axes of an input that get symbolic sizes. */
  axesOf(slot: string, tensor: Tensor): readonly DynamicAxis[];
  /** Whether a number is an input: because it has changed, or (`isRead`) because it comes from a tensor. */
  isVariable(slot: string, value: number, isRead: boolean): boolean;
}

export class SegmentInputs {
  readonly #memory: InputMemory;
  /** Numbers that the program has read from tensors. */
  readonly #read = new Set<number>();
  #place = '';
  #met = 0;

  constructor(memory: InputMemory) {
    this.#memory = memory;
  }

  /** The next operation: its name, and how many came before it in the segment. */
  enter(name: string, position: number): void {
    this.#place = `${position} ${name}`;
    this.#met = 0;
  }

  axesOf(tensor: Tensor): readonly DynamicAxis[] {
    this.#met += 1;
    return this.#memory.axesOf(`${this.#place} ${this.#met} ${tensor.dtype} ${tensor.ndim}`, tensor);
  }

  noteRead({ dtype }: Tensor, { storage, layout }: Placed): void {
    if (elementsOf(layout.shape) !== 1) return;
    const value = elementReader(dtype, storage.read(dtype, layout.offset, layout.offset + 1))(0);
    if (typeof value === 'number') this.#read.add(value);
  }

  /** The call with changing numbers as tensors, which are listed in `made`. */
  lift(call: BoundCall, made: Tensor[]): BoundCall {
    if (call.operator.kind !== 'pointwise' || !call.args.some(isScalar)) return call;
    const tensors = [...call.tensors];
    const args = call.args.map((arg, position): Arg => {
      const isOwn = isScalar(arg) && call.operator.scalarStandIns?.has(scalarNumber(arg)) !== true;
      const lifted = isOwn ? this.#lifted(arg, call.tensors, position) : undefined;
      if (lifted === undefined) return arg;
      made.push(lifted);
      return { kind: 'value', node: tensors.push(lifted) - 1, result: 0 };
    });
    return made.length === 0 ? call : { ...call, args, tensors };
  }

  #lifted({ category, value }: ScalarRef, tensors: readonly Tensor[], position: number): Tensor | undefined {
    if (typeof value !== 'number') return undefined;
    const dtype = numberDType(category, tensors) ?? fractionDType(category, tensors);
    if (dtype === undefined || !fits(value, dtype)) return undefined;
    if (!this.#memory.isVariable(`${this.#place} ${position}`, value, this.#read.has(value))) return undefined;
    const elements = makeElements(dtype, 1);
    elements[0] =
      dtypeInfo[dtype].category === 'float'
        ? convertElement(value, 'f64', dtype)
        : convertElement(BigInt(value), 'i64', dtype);
    return unrecorded(() => outsideScopes(() => onDevice('cpu', () => tensorOfElements(elements, dtype, []))));
  }
}

/** A fraction beside whole numbers makes floats of them, as a 0-d tensor of floats does; whether it is one is part of the segment. */
const fractionDType = (category: ScalarRef['category'], tensors: readonly Tensor[]): DType | undefined =>
  category === 'float' &&
  tensors.some(({ dtype }) => dtypeInfo[dtype].category === 'integer') &&
  !tensors.some(({ dtype }) => isFloat(dtype))
    ? 'f32'
    : undefined;

function fits(value: number, dtype: DType): boolean {
  if (isFloat(dtype)) return true;
  const { bits } = { bits: dtypeInfo[dtype].bytes * 8 };
  return (
    Number.isSafeInteger(value) && (dtype === 'u8' ? value >= 0 && value < 256 : Math.abs(value) < 2 ** (bits - 1))
  );
}
