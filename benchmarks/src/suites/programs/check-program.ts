// Whether what a program computed on tensors is what its loop computed.
import { at } from '@tsinductor/base';
import type { Tensor } from 'tsinductor';
import { tensor } from 'tsinductor';
import type { Program, ProgramInput } from './program.ts';

/** The inputs as tensors. */
export const tensorsOf = ({ inputs }: Pick<Program, 'inputs'>): readonly Tensor[] => inputs.map(tensorOf);

function tensorOf({ array, shape }: ProgramInput): Tensor {
  const flat = tensor(array);
  return (array instanceof Int32Array ? flat.long() : flat).reshape([...shape]);
}

/** The first element that is too far from the loop's, as text. */
export function differenceFrom(
  wanted: ReturnType<Program['plain']>,
  found: readonly Tensor[],
  tolerance: number,
): string | undefined {
  if (found.length !== wanted.length) return `${String(found.length)} results, not ${String(wanted.length)}`;
  for (const [position, result] of found.entries()) {
    const line = differenceOfResult(at(wanted, position), result, tolerance);
    if (line !== undefined) return `result ${String(position)}: ${line}`;
  }
  return undefined;
}

function differenceOfResult(wanted: Float32Array | Int32Array, result: Tensor, tolerance: number): string | undefined {
  const values = Array.from(result.toTypedArray(), Number);
  if (values.length !== wanted.length) return `${String(values.length)} elements, not ${String(wanted.length)}`;
  let scale = 0;
  for (const value of wanted) scale = Math.max(scale, Math.abs(value));
  const wrong = values.findIndex((value, index) => !(Math.abs(value - at(wanted, index)) <= tolerance * scale));
  return wrong === -1
    ? undefined
    : `element ${String(wrong)} is ${String(values[wrong])}, not ${String(wanted[wrong])}`;
}
