// What a node's points leave in its buffers.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { BufferId } from '@tsinductor/ir';
import { f16ToBits, toBfloat16Bits } from '@tsinductor/ops';
import type { KernelText } from './kernel-text.ts';
import type { Placed } from './nest.ts';
import { numberText, storeI64 } from './values.ts';
import type { Value } from './values.ts';

/** Statements that write a value at a place. */
export function storeLines(kernel: KernelText, value: Value, target: Target): readonly string[] {
  const { buffer, dtype, place } = target;
  if (dtype === 'i64') return storeI64(kernel, value, { buffer, text: place.text });
  const element = `${kernel.buffer(buffer, dtype)}[${place.text}]`;
  return [`${element} = ${encoded(numberText(value), dtype, kernel)};`];
}

interface Target {
  readonly buffer: BufferId;
  readonly dtype: DType;
  readonly place: Placed;
}

function encoded(text: string, dtype: DType, kernel: KernelText): string {
  if (dtype === 'f16') return `${kernel.helper('f16ToBits', () => f16ToBits)}(${text})`;
  return dtype === 'bf16' ? `${kernel.helper('toBfloat16Bits', () => toBfloat16Bits)}(${text})` : text;
}

/** The outs of a node, with where each point of it writes. */
interface Outs {
  readonly outs: readonly BufferId[];
  readonly places: readonly Placed[];
  readonly dtypeOf: (buffer: BufferId) => DType;
}

export const storeResults = (kernel: KernelText, results: readonly Value[], outs: Outs): readonly string[] =>
  outs.outs.flatMap((buffer, position) =>
    storeLines(kernel, at(results, position), {
      buffer,
      dtype: outs.dtypeOf(buffer),
      place: at(outs.places, position),
    }),
  );
