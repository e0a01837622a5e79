// Memory of bound kernels in the Kernel IR's interpreter, where elements are values: of halves, not their bits. In: the arrays
// of a loop program. Out: what the interpreter runs on, and arrays again.
import type { DType } from '@tsinductor/base';
import { evaluateIndex } from '@tsinductor/ir';
import type { BufferId, LoopProgram } from '@tsinductor/ir';
import type { KernelMemory } from '../kernels/kernel-run.ts';
import { castValue, f16FromBits, f16ToBits, fromBfloat16Bits, toBfloat16Bits } from '@tsinductor/ops';
import { makeElements } from './programs.ts';
import type { ElementArray } from './programs.ts';

type Scalar = number | bigint;

const decoded: Partial<Record<DType, (bits: number) => number>> = { f16: f16FromBits, bf16: fromBfloat16Bits };
const encoded: Partial<Record<DType, (value: number) => number>> = { f16: f16ToBits, bf16: toBfloat16Bits };

/** Elements that nothing has written yet. */
export const blankMemory = (dtype: DType, count: number): KernelMemory => ({
  dtype,
  elements: new Array<Scalar | undefined>(count).fill(undefined),
});

export function memoryOf(dtype: DType, array: ElementArray): KernelMemory {
  const decode = decoded[dtype];
  const elements = Array.from<Scalar>(array);
  return { dtype, elements: decode === undefined ? elements : elements.map((bits) => decode(Number(bits))) };
}

/** Writes what a memory holds to an array; what nothing has written is NaN, or 0 of integers. */
export function readMemory({ dtype, elements }: KernelMemory, array: ElementArray): void {
  elements.forEach((element, index) => {
    const value = castValue(element ?? NaN, dtype, dtype);
    if (array instanceof BigInt64Array) array[index] = BigInt(value);
    else array[index] = encoded[dtype]?.(Number(value)) ?? Number(value);
  });
}

/** The memory of all buffers of a program. */
export function programMemory(
  { buffers }: LoopProgram,
  {
    inputs,
    sizes,
  }: { readonly inputs: ReadonlyMap<BufferId, ElementArray>; readonly sizes: ReadonlyMap<string, number> },
): Map<BufferId, KernelMemory> {
  return new Map(
    buffers.map(({ id, dtype, size }) => {
      const given = inputs.get(id);
      return [id, given === undefined ? blankMemory(dtype, evaluateIndex(size, { sizes })) : memoryOf(dtype, given)];
    }),
  );
}

export const programOutputs = (
  { outputs }: LoopProgram,
  memory: ReadonlyMap<BufferId, KernelMemory>,
): readonly ElementArray[] =>
  outputs.map((id) => {
    const own = memory.get(id) ?? blankMemory('f32', 0);
    const array = makeElements(own.dtype, own.elements.length);
    readMemory(own, array);
    return array;
  });

/** A buffer of a kernel that begins at an element of a buffer of the program: what the kernel runs on, and the way back. */
interface PartOfMemory {
  readonly part: KernelMemory;
  /** Writes what the part holds now to where it was taken from. */
  store(): void;
}

/** What `memory` holds from an element on. */
export function memoryFrom(memory: KernelMemory, from = 0): PartOfMemory {
  if (from === 0) return { part: memory, store: () => undefined };
  const part: KernelMemory = { dtype: memory.dtype, elements: memory.elements.slice(from) };
  return {
    part,
    store: () => {
      part.elements.forEach((element, position) => {
        memory.elements[from + position] = element;
      });
    },
  };
}
