// The calls of vmap that are under way, one within another, and the tensors in them. A tensor at a level has the shape that it has
// for one sample; behind it is a whole tensor, which has the samples along its first axis, or is the same for all of them.
import { contiguousStrides } from '@tsinductor/graph';
import type { Index } from '@tsinductor/ir';
import type { Device } from '../device.ts';
import { rowMajor } from '../layout.ts';
import type { Layout } from '../layout.ts';
import { processState } from '../process-state.ts';
import { guardedShape, indexesOf, symbolicSizes } from '../symbolic-shape.ts';
import { Tensor } from '../tensor.ts';

/** What random numbers are under vmap: refused, drawn for each sample, or the same for all of them. */
export type Randomness = 'error' | 'different' | 'same';

/** One call of vmap. */
export interface MapLevel {
  /** How many are around it. */
  depth: number;
  /** How many samples there are. */
  readonly count: Index;
  readonly randomness: Randomness;
  isOpen: boolean;
}

/** Runs `work` at a level that has ended, or is not the innermost: a step of a backward pass may come later than its forward pass. */
export function reopened<T>(level: MapLevel, work: () => T): T {
  const { depth, isOpen } = level;
  level.depth = processState.mapping.length;
  level.isOpen = true;
  processState.mapping.push(level);
  try {
    return work();
  } finally {
    processState.mapping.pop();
    level.depth = depth;
    level.isOpen = isOpen;
  }
}

/** How many samples there are, as a number. */
export const countOf = ({ count }: MapLevel): number =>
  count.kind === 'int' ? count.value : (processState.recorder?.sizes.toNumber(count) ?? 0);

/** What stands behind a tensor at a level. */
export interface Mapped {
  readonly kind: 'mapped';
  readonly level: MapLevel;
  readonly whole: Tensor;
  /** Whether the whole has the samples along its first axis. */
  readonly differs: boolean;
  readonly device: Device;
}

/** The level that is innermost now. */
export const currentLevel = (): MapLevel | undefined => processState.mapping.at(-1);

export const isMapping = (): boolean => processState.mapping.length > 0;

export function mappedOf({ backing }: Tensor): Mapped | undefined {
  return backing.kind === 'mapped' ? backing : undefined;
}

/** The innermost level of any of the tensors; undefined where none is at one. */
export function levelAmong(tensors: readonly Tensor[]): MapLevel | undefined {
  let found: MapLevel | undefined;
  for (const tensor of tensors) {
    const level = mappedOf(tensor)?.level;
    if (level !== undefined && (found === undefined || level.depth > found.depth)) found = level;
  }
  return found;
}

/** What the tensor is outside of a level: itself where it is not at that level. */
export function outside(tensor: Tensor, level: MapLevel): { readonly whole: Tensor; readonly differs: boolean } {
  const mapped = mappedOf(tensor);
  return mapped?.level === level ? mapped : { whole: tensor, differs: false };
}

/** A tensor at a level. Where its samples differ it has the strides of a contiguous one: they are not each in one place. */
export function mappedTensor(level: MapLevel, whole: Tensor, differs: boolean): Tensor {
  const { dtype, shape, strides, device } = whole;
  return new Tensor(dtype, differs ? layoutOfSample(shape) : { shape, strides }, {
    kind: 'mapped',
    level,
    whole,
    differs,
    device,
  });
}

/** Whether gradients are recorded of what the tensor is outside of its level. */
export function dependsOutside(tensor: Tensor): boolean {
  const whole = mappedOf(tensor)?.whole;
  return whole !== undefined && (whole.gradient?.requiresGrad === true || dependsOutside(whole));
}

/** Without the first axis; sizes are symbolic where they are so. */
function layoutOfSample(sizes: readonly number[]): Pick<Layout, 'shape' | 'strides'> {
  const environment = processState.recorder?.sizes;
  if (environment === undefined || symbolicSizes(sizes) === undefined) {
    const shape = sizes.slice(1);
    return { shape, strides: rowMajor(shape) };
  }
  const shape = indexesOf(sizes).slice(1);
  return { shape: guardedShape(shape, environment), strides: guardedShape(contiguousStrides(shape), environment) };
}

/** Who takes the operators of a function that runs now; undefined: nobody, they are carried out as they come. */
export function takerOfOperators(): 'trace' | 'vmap' | undefined {
  if (processState.recorder !== undefined) return 'trace';
  return isMapping() ? 'vmap' : undefined;
}
