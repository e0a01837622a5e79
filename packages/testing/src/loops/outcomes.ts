// For tests: inputs for a case, what the loop interpreter makes of them, and how outputs differ from that.
import { at } from '@tsinductor/base';
import { evaluateIndex, interpretProgram } from '@tsinductor/ir';
import type { BufferId, Schedule } from '@tsinductor/ir';
import { f16FromBits, fromBfloat16Bits } from '@tsinductor/ops';
import type { Case } from './cases.ts';
import { makeElements } from './programs.ts';
import type { ElementArray } from './programs.ts';

/** Numbers for every input of a case. */
export function inputsOf({ schedule, sizes }: Case): Map<BufferId, ElementArray> {
  const inputs = new Map<BufferId, ElementArray>();
  for (const id of schedule.program.inputs) {
    const { dtype, size } = at(schedule.program.buffers, id);
    const array = makeElements(dtype, evaluateIndex(size, { sizes }));
    for (let index = 0; index < array.length; index++) {
      const value = Math.sin(index * 1.7 + id) * 3;
      if (array instanceof BigInt64Array) array[index] = BigInt(index % 7) - 3n;
      else if (dtype === 'f16') array[index] = 0x3c00 + (index % 97);
      else if (dtype === 'bf16') array[index] = 0x3f80 + (index % 31);
      else array[index] = dtype === 'f32' || dtype === 'f64' ? value : Math.round(value);
    }
    inputs.set(id, array);
  }
  return inputs;
}

/** What the loop interpreter computes: the outputs in order. */
export function expected(
  { schedule, sizes }: Case,
  inputs: ReadonlyMap<BufferId, ElementArray>,
): readonly ElementArray[] {
  const { program } = schedule;
  const buffers = new Map(inputs);
  for (const id of program.outputs) {
    const { dtype, size } = at(program.buffers, id);
    buffers.set(id, makeElements(dtype, evaluateIndex(size, { sizes })));
  }
  interpretProgram(program, { buffers, sizes });
  return program.outputs.map((id) => buffers.get(id) ?? new Float32Array(0));
}

const decoded = (schedule: Schedule, output: number, value: number | bigint): number => {
  const { dtype } = at(schedule.program.buffers, at(schedule.program.outputs, output));
  if (dtype === 'f16') return f16FromBits(Number(value));
  return dtype === 'bf16' ? fromBfloat16Bits(Number(value)) : Number(value);
};

/** What differs, as text; sums of floats may differ by their rounding. */
export function differences(
  test: Case,
  actual: readonly ElementArray[],
  wanted: readonly ElementArray[],
): readonly string[] {
  return wanted.flatMap((want, output) => {
    const found = at(actual, output);
    for (let index = 0; index < want.length; index++) {
      const [x, y] = [at<number | bigint>(found, index), at<number | bigint>(want, index)];
      if (Object.is(x, y)) continue;
      const [a, b] = [decoded(test.schedule, output, x), decoded(test.schedule, output, y)];
      if (Math.abs(a - b) <= test.tolerance * Math.max(1, Math.abs(b))) continue;
      return [`${test.name}: output ${String(output)}[${String(index)}] is ${String(a)}, not ${String(b)}`];
    }
    return [];
  });
}
