// The values of a graph that runs in steps, as tensors, while it runs. In: the graph's inputs, and in which step each value is
// used last. Out: what the steps ask for, and in the end the graph's outputs.
//
// Invariant: a value holds what it held when it was made as long as somebody will use it. What a launch is about to write
// to (`overwrite`) is copied for values that lie there and are used later.
import { at, dtypeInfo, get } from '@tsinductor/base';
import { valueKey } from '@tsinductor/graph';
import type { Graph, ValueRef } from '@tsinductor/graph';
import type { Tensor } from '@tsinductor/tensor';
import { allocate, placedTensor, placeOf, reachOf, twinOf } from '@tsinductor/tensor/internal';
import { writeBack } from '../run/call-frame.ts';
import { isSamePlace, isSameStorage } from '../run/same-place.ts';

type Value = Pick<ValueRef, 'node' | 'result'>;

interface Uses {
  /** Keys of the inputs. */
  readonly placeholders: readonly string[];
  /** The last step that uses a value, by key; outputs are used after all. */
  readonly lastUses: ReadonlyMap<string, number>;
}

export class HostedValues {
  readonly inputs: readonly Tensor[];
  readonly #lastUses: Uses['lastUses'];
  readonly #tensors: Map<string, Tensor>;
  /** What goes when the call ends, unless it is an output or somebody has seen it. */
  readonly #owned = new Set<Tensor>();

  constructor(inputs: readonly Tensor[], { placeholders, lastUses }: Uses) {
    this.inputs = inputs;
    this.#lastUses = lastUses;
    this.#tensors = new Map(placeholders.map((key, position) => [key, at(inputs, position)]));
  }

  get(value: Value): Tensor {
    return get(this.#tensors, valueKey(value));
  }

  /** The same for a function of the user's, which may keep it. */
  show(value: Value): Tensor {
    const tensor = this.get(value);
    this.#owned.delete(tensor);
    return tensor;
  }

  set(value: Value, tensor: Tensor): void {
    this.#tensors.set(valueKey(value), tensor);
  }

  /** The same for memory that nobody else has. */
  own(value: Value, tensor: Tensor): void {
    this.set(value, tensor);
    this.#owned.add(tensor);
  }

  /** The same elements, contiguous, in memory that goes when the call ends. */
  copy(tensor: Tensor): Tensor {
    const copy = tensor.clone().contiguous();
    this.#owned.add(copy);
    return copy;
  }

  /** Whether the value lies in the memory of an input. */
  isInput(tensor: Tensor): boolean {
    return this.inputs.some((input) => isSameStorage(input, tensor));
  }

  /** The memory of `tensor` is about to be written to, in `step`: values that are needed after it move away. */
  overwrite(tensor: Tensor, step: number): void {
    for (const [key, held] of this.#tensors) {
      if ((this.#lastUses.get(key) ?? -1) <= step || !isSameStorage(held, tensor)) continue;
      const copy = copyOf(held);
      this.#owned.add(copy);
      this.#tensors.set(key, copy);
    }
  }

  /** The outputs, each of them memory that is nobody else's; inputs hold what the graph says. */
  finish({ outputs, mutations }: Graph): Tensor[] {
    const given = new Set<Tensor>();
    const results = outputs.map((value, output) => {
      const tensor = this.get(value);
      const mutation = mutations.find((candidate) => candidate.output === output);
      // What became of an input is there already, and is given as another tensor over it: it is disposed.
      if (mutation !== undefined && isSamePlace(tensor, at(this.inputs, mutation.placeholder))) return twinOf(tensor);
      if (this.isInput(tensor) || given.has(tensor)) return tensor.clone();
      given.add(tensor);
      return tensor;
    });
    writeBack({ mutations }, this.inputs, results);
    for (const tensor of this.#owned) if (!results.includes(tensor)) tensor.dispose();
    return results;
  }
}

/** The same elements in memory of their own, as far from each other: compiled parts rely on an input's strides. */
function copyOf(tensor: Tensor): Tensor {
  const { storage, layout } = placeOf(tensor, 'a compiled call');
  const { bytes } = dtypeInfo[tensor.dtype];
  const length = reachOf(layout) * bytes;
  const copy = allocate(length, 'durable');
  copy.bytes(0, length).set(storage.bytes(layout.offset * bytes, length));
  return placedTensor(tensor.dtype, copy, { ...layout, offset: 0 });
}
