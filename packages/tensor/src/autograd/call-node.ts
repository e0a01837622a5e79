// A call of an operator as a step that can be differentiated: its gradient is a graph, made from the operator's own expansion
// into primitives, and run as any graph; while a function is traced, or where the gradient is differentiated again, its nodes are
// calls that are recorded.
import { at, isFloat } from '@tsinductor/base';
import type { DType, SourceLocation } from '@tsinductor/base';
import { dispatchOne } from '../dispatch.ts';
import type { BoundCall } from '../bound-call.ts';
import { deferredLocation } from '../location.ts';
import { mappedOf, mappedTensor } from '../mapping/level.ts';
import { gradientOf, replayGraph, runGradient } from './call-gradient.ts';
import { processState } from '../process-state.ts';
import type { Tensor } from '../tensor.ts';
import { changedInPlace, freedGraph } from './errors.ts';
import { withoutGradients } from './grad-mode.ts';
import { newGradientState } from './gradient-state.ts';
import type { Edge, GradientNode } from './gradient-state.ts';

interface ResultMeta {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

interface Saved {
  readonly call: BoundCall;
  readonly versions: readonly number[];
}

export class CallNode implements GradientNode {
  readonly order: number;
  readonly name: string;
  readonly location: SourceLocation | undefined;
  readonly inputs: readonly (Edge | undefined)[];
  readonly hooks: GradientNode['hooks'] = new Map();
  readonly #results: readonly ResultMeta[];
  #saved: Saved | undefined;

  constructor(
    call: BoundCall,
    inputs: readonly (Edge | undefined)[],
    made: { order: number; results: readonly Tensor[] },
  ) {
    this.order = made.order;
    this.name = call.operator.name;
    this.location = deferredLocation();
    this.inputs = inputs;
    this.#results = made.results.map(({ dtype, shape }) => ({ dtype, shape }));
    this.#saved = { call: asItIs(call), versions: call.tensors.map(versionOf) };
  }

  pull(cotangents: readonly (Tensor | undefined)[], createGraph: boolean): readonly (Tensor | undefined)[] {
    if (this.#saved === undefined) throw freedGraph(this.name);
    const { call, versions } = this.#saved;
    const wanted = this.inputs.flatMap((edge, position) => {
      const tensor = at(call.tensors, position);
      return edge === undefined || !isFloat(tensor.dtype) ? [] : [position];
    });
    const plan = gradientOf(call, wanted);
    plan.needed.forEach((position) => {
      if (position >= versions.length) return;
      const tensor = at(call.tensors, position);
      const isWaiting = processState.recorder?.isWaiting?.(tensor) === true;
      if (isWaiting || versionOf(tensor) !== versions[position]) throw changedInPlace(this.name);
    });
    const seeds = plan.seeds.map((result) => cotangents[result] ?? this.#zeros(result));
    const inputs = [...call.tensors, ...seeds];
    const isRecorded = createGraph || processState.recorder !== undefined || call.device !== 'cpu';
    const made = isRecorded
      ? replayGraph(plan.graph, inputs, { name: call.operator.name, primals: call.tensors.length })
      : runGradient(plan, inputs);
    return this.inputs.map((_, position) => {
      const found = plan.gradients[wanted.indexOf(position)];
      return found === undefined ? undefined : made[found];
    });
  }

  release(): void {
    this.#saved = undefined;
  }

  #zeros(result: number): Tensor {
    const { dtype, shape } = at(this.#results, result);
    return dispatchOne('zeros', [[...shape]], { dtype });
  }
}

/** How often the memory behind a tensor was written to. */
const versionOf = ({ backing }: Tensor): number =>
  backing.kind === 'mapped' ? versionOf(backing.whole) : backing.kind === 'placed' ? backing.storage.writes : 0;

/**
 * While a function is traced, a tensor stands for what its memory holds at the moment, and a write makes it stand for something
 * else: what is saved is a value, which a copy in the graph is, at no cost when it runs.
 */
function asItIs(call: BoundCall): BoundCall {
  if (processState.recorder === undefined) return call;
  return { ...call, tensors: call.tensors.map(copyWithHistory) };
}

/** A copy without a history; under vmap, outside of the level, it has that of the tensor. */
function copyOf(tensor: Tensor): Tensor {
  const mapped = mappedOf(tensor);
  if (mapped !== undefined) return mappedTensor(mapped.level, copyWithHistory(mapped.whole), mapped.differs);
  return withoutGradients(() => dispatchOne('clone', [tensor]));
}

/** A copy that has the history of the tensor. */
export function copyWithHistory(tensor: Tensor): Tensor {
  const copy = copyOf(tensor);
  const state = tensor.gradient;
  if (state?.requiresGrad === true)
    copy.gradient = {
      ...newGradientState(),
      requiresGrad: true,
      history: state.history,
      copyOf: state.copyOf ?? tensor,
    };
  return copy;
}
