// What lies behind a tensor that a body of a loop or a branch met: memory that exists, or memory of a trace around it.
import { at } from '@tsinductor/base';
import type { Recorder } from '../recorder.ts';
import { sharesMemory, Tensor } from '../tensor.ts';
import type { TracedInput } from './trace-result.ts';
import type { Memory, TracedView } from './traced-memory.ts';

/** The inputs whose memory a tensor has elements of; `placeholders` say which tensors inputs are. */
export const inputsOver = (
  tensor: Tensor,
  inputs: readonly Memory[],
  placeholders: readonly TracedInput[],
): readonly Memory[] =>
  inputs.filter(({ placeholder = 0 }) => rootsOverlap(tensor, at(placeholders, placeholder).tensor));

/** How often a trace wrote to memory that a tensor has elements of: the recorder's own, or that of an input. */
export function writesTo(
  tensor: Tensor,
  recorder: Recorder,
  trace: { readonly memories: { readonly inputs: readonly Memory[] }; readonly placeholders: readonly TracedInput[] },
): number {
  const { backing } = tensor;
  if (backing.kind === 'mapped') return writesTo(backing.whole, recorder, trace);
  if (backing.kind === 'disposed') return 0;
  if (backing.kind === 'recorded' && backing.recorder === recorder)
    return (backing.handle as TracedView).memory.version;
  const inputs = inputsOver(tensor, trace.memories.inputs, trace.placeholders);
  return inputs.reduce((sum, { version }) => sum + version, 0);
}

/** Other inputs that have elements in common with one. */
export function othersOver(
  { placeholder }: Memory,
  inputs: readonly Memory[],
  placeholders: readonly TracedInput[],
): readonly Memory[] {
  if (placeholder === undefined) return [];
  const others = inputs.filter((other) => other.placeholder !== undefined && other.placeholder !== placeholder);
  return inputsOver(at(placeholders, placeholder).tensor, others, placeholders);
}

/** Whether two tensors may have elements in common, of any traces. */
function rootsOverlap(one: Tensor, other: Tensor): boolean {
  const [first, second] = [rootOf(one), rootOf(other)];
  return first instanceof Tensor && second instanceof Tensor ? sharesMemory(first, second) : first === second;
}

function rootOf(tensor: Tensor): Tensor | Memory {
  if (tensor.backing.kind !== 'recorded') return tensor;
  const { memory } = tensor.backing.handle as TracedView;
  const { placeholders } = memory.home as { readonly placeholders: readonly TracedInput[] };
  return memory.placeholder === undefined ? memory : rootOf(at(placeholders, memory.placeholder).tensor);
}
