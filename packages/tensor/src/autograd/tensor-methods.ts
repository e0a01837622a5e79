// Gradients as PyTorch's users know them: tensors that require one, backward(), grad, hooks.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { dispatchOne } from '../dispatch.ts';
import { located } from '../location.ts';
import { mappedBackward } from '../mapping/errors.ts';
import { dependsOutside, mappedOf } from '../mapping/level.ts';
import { processState } from '../process-state.ts';
import type { Open, Shape } from '../element-types.ts';
import { isTensor } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { backwardPass, hookList } from './backward.ts';
import { cotangentShape, gradientOfIntegers, gradientOfShape, noGradientRequired } from './errors.ts';
import { withoutGradients } from './grad-mode.ts';
import { newGradientState } from './gradient-state.ts';
import type { GradientHook, GradientState } from './gradient-state.ts';
import { badArgument, notATensor } from '../errors.ts';
import { recordingGradients, requiresGrad } from './record.ts';

/** Options of `backward`. */
export interface BackwardOptions {
  /** Keep what was saved, for another backward pass through the same results. Default: as `createGraph`. */
  readonly retainGraph?: boolean;
  /** Record the pass itself, so that the gradients can be differentiated. Default: false. */
  readonly createGraph?: boolean;
}

/** Members of Tensor for gradients. */
export interface GradientMembers<D extends DType = Open, S extends Shape = Open> {
  /** Whether a gradient of this tensor is wanted, or it was made of one of which it is. May be set on leaves. */
  requiresGrad: boolean;
  /** What backward passes accumulated; null before the first. Set it to null to begin anew. */
  grad: Tensor<D, S> | null;
  /** Whether no recorded operator made it: leaves alone keep a gradient, unless `retainGrad` was called. */
  readonly isLeaf: boolean;
  /** Asks for a gradient of this tensor, in place; gives the tensor itself. Floats only. */
  requiresGrad_(requiresGrad?: boolean): this;
  /**
   * Adds to `grad` of every leaf behind this tensor the gradient of it. A tensor of more than one element needs a cotangent of
   * its shape. As `torch.Tensor.backward`.
   *
   * ```ts
   * const w = randn([3]).requiresGrad_();
   * w.square().sum().backward();
   * w.grad; // 2 w
   * ```
   */
  backward(gradient?: Tensor | null, options?: BackwardOptions): void;
  /** Keeps the gradient of a tensor that is no leaf. */
  retainGrad(): void;
  /** Calls `hook` with each gradient that comes to this tensor; what it gives, if anything, goes on instead. */
  registerHook(hook: GradientHook): { remove(): void };
}

const stateOf = (tensor: Tensor): GradientState => (tensor.gradient ??= newGradientState());

function setRequiresGrad(tensor: Tensor, wanted: boolean): void {
  if (wanted && !isFloat(tensor.dtype)) throw gradientOfIntegers('the tensor', tensor.dtype);
  if (!wanted && tensor.gradient?.history !== undefined)
    throw badArgument('requiresGrad', 'the tensor is no leaf', 'use detach() to get one that is');
  if (!wanted && tensor.gradient === undefined) return;
  if (wanted) processState.gradients.isUsed = true;
  stateOf(tensor).requiresGrad = wanted;
}

/** The cotangent of an output, as it was given or 1. */
export function seedFor(what: string, output: Tensor, given: Tensor | null | undefined): Tensor {
  if (given === undefined || given === null) {
    if (output.numel !== 1) throw gradientOfShape(what, output.shape);
    return dispatchOne('onesLike', [output]);
  }
  if (!isTensor(given)) throw notATensor(`${what}: its cotangent`, given);
  const fits =
    given.shape.length === output.shape.length && given.shape.every((size, axis) => size === output.shape[axis]);
  if (!fits) throw cotangentShape(given.shape, output.shape);
  return given.dtype === output.dtype ? given : dispatchOne('to', [given, output.dtype]);
}

function accumulate(tensor: Tensor, gradient: Tensor, isRecorded: boolean): void {
  const level = mappedOf(gradient)?.level;
  if (level !== undefined && mappedOf(tensor)?.level !== level) throw mappedBackward();
  const state = stateOf(tensor);
  const before = state.grad;
  if (before === undefined) {
    // What came may be a tensor that others hold, or a view that is one element everywhere.
    state.grad = isRecorded ? gradient : dispatchOne('clone', [gradient]);
    return;
  }
  state.grad = dispatchOne('add', [before, gradient]);
}

function runBackward(tensor: Tensor, gradient: Tensor | null | undefined, options: BackwardOptions): void {
  if (!requiresGrad(tensor)) throw dependsOutside(tensor) ? mappedBackward() : noGradientRequired('the tensor');
  const { createGraph = false, retainGraph = createGraph } = options;
  const cotangent = withoutGradients(() => seedFor('the tensor', tensor, gradient));
  const { leaves } = backwardPass([{ tensor, cotangent }], [], { createGraph, retainGraph });
  const work = (): void => {
    for (const [leaf, found] of leaves) accumulate(leaf, found, createGraph);
  };
  if (createGraph) work();
  else withoutGradients(work);
}

export const gradientMembers: PropertyDescriptorMap & ThisType<Tensor> = {
  requiresGrad: {
    configurable: true,
    get() {
      return requiresGrad(this);
    },
    set(wanted: boolean) {
      setRequiresGrad(this, wanted);
    },
  },
  grad: {
    configurable: true,
    get() {
      return this.gradient?.grad ?? null;
    },
    set(value: Tensor | null) {
      if (value === null) stateOf(this).grad = undefined;
      else
        recordingGradients(() => {
          stateOf(this).grad = value;
        });
    },
  },
  isLeaf: {
    configurable: true,
    get() {
      return this.gradient?.history === undefined;
    },
  },
  requiresGrad_: {
    configurable: true,
    writable: true,
    value(this: Tensor, wanted = true): Tensor {
      try {
        setRequiresGrad(this, wanted);
        return this;
      } catch (error) {
        throw located(error);
      }
    },
  },
  backward: {
    configurable: true,
    writable: true,
    value(this: Tensor, gradient?: Tensor | null, options: BackwardOptions = {}): void {
      try {
        recordingGradients(() => {
          runBackward(this, gradient, options);
        });
      } catch (error) {
        throw located(error);
      }
    },
  },
  retainGrad: {
    configurable: true,
    writable: true,
    value(this: Tensor): void {
      if (!requiresGrad(this)) throw located(noGradientRequired('the tensor'));
      if (this.isLeaf || this.gradient?.retainsGrad === true) return;
      stateOf(this).retainsGrad = true;
      hookList(this).push((gradient) => {
        recordingGradients(() => {
          withoutGradients(() => {
            accumulate(this, gradient, false);
          });
        });
        return undefined;
      });
    },
  },
  registerHook: {
    configurable: true,
    writable: true,
    value(this: Tensor, hook: GradientHook): { remove(): void } {
      if (!requiresGrad(this)) throw located(noGradientRequired('the tensor'));
      const hooks = hookList(this);
      hooks.push(hook);
      return {
        remove() {
          const place = hooks.indexOf(hook);
          if (place !== -1) hooks.splice(place, 1);
        },
      };
    },
  },
};
