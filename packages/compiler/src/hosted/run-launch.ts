// One launch of a kernel in a graph that runs in steps. In: its node, and the values of the graph. Out: values; the kernel
// runs on the memory itself, as it does in eager mode.
//
// Inputs of the graph are brought up to date first, and written to: what the graph made of them before the launch has run.
// What the graph made is written to where it lies. Values that are needed afterwards move away (hosted-values.ts).
import { at } from '@tsinductor/base';
import { valuesOf } from '@tsinductor/graph';
import type { LaunchMemory, ValueRef } from '@tsinductor/graph';
import { evaluateIndex } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { Tensor } from '@tsinductor/tensor';
import { placedTensor, placeOf } from '@tsinductor/tensor/internal';
import type { LaunchPart } from './hosted-graph.ts';
import { isSamePlace, isSameStorage } from '../run/same-place.ts';
import type { HostedValues } from './hosted-values.ts';

interface LaunchStep {
  readonly sizes: ReadonlyMap<string, number>;
  /** Its position among the steps. */
  readonly step: number;
}

export function runLaunch({ node, call }: LaunchPart, values: HostedValues, { sizes, step }: LaunchStep): void {
  const { homes, operands, written } = node.launch;
  const memories: Tensor[] = [];
  valuesOf(node.args).forEach((value, position) => {
    const home = at(homes, position) ?? undefined;
    const use = { home, isWritten: written.includes(position), step, taken: memories };
    memories.push(home === undefined ? ownMemory(value, values, use) : inputMemory(value, values, { ...use, home }));
  });
  const evaluate = (index: Index): number => evaluateIndex(index, { sizes });
  const tensors = operands.map(({ memory, layout }) => viewOf(at(memories, memory), layout, evaluate));
  call.run(tensors);
  for (const tensor of tensors) tensor.dispose();
  written.forEach((memory, result) => {
    values.set({ node: node.id, result }, at(memories, memory));
  });
}

interface Use {
  readonly isWritten: boolean;
  readonly step: number;
  /** The memories of the launch before this one. */
  readonly taken: readonly Tensor[];
}

/** An input, which holds `value` now. */
function inputMemory(
  value: ValueRef,
  values: HostedValues,
  { home, isWritten, step }: Use & { readonly home: number },
): Tensor {
  const input = at(values.inputs, home);
  const held = values.get(value);
  const isThere = isSamePlace(held, input);
  if (isThere && isWritten) values.overwrite(input, step);
  if (isThere) return input;
  // Another memory of this launch may begin as what the input held.
  values.overwrite(input, step - 1);
  input.writeBack(held);
  return input;
}

/** What the graph made, contiguous; a copy where an input or another memory of this launch begins as the same value. */
function ownMemory(value: ValueRef, values: HostedValues, { isWritten, step, taken }: Use): Tensor {
  const held = values.get(value);
  if (!values.isInput(held) && !taken.some((other) => isSameStorage(other, held))) {
    if (isWritten) values.overwrite(held, step);
    return held;
  }
  return values.copy(held);
}

type Layout = LaunchMemory['operands'][number]['layout'];

/** A view of a memory, as a pointer of the kernel. */
function viewOf(memory: Tensor, { shape, strides, offset }: Layout, evaluate: (index: Index) => number): Tensor {
  const { storage, layout } = placeOf(memory, 'a launch');
  const place = {
    shape: shape.map(evaluate),
    strides: strides.map(evaluate),
    offset: layout.offset + evaluate(offset),
  };
  return placedTensor(memory.dtype, storage, place);
}
