// An optimiser: parameters in groups, what an algorithm keeps for each, and the step, which is one compiled function for each group.
//
// How many steps a parameter has made is a tensor that all parameters with as many share. One that had no gradient at a step of
// the others gets a count of its own. Within a function that is being compiled, a step becomes part of that function's graph: nothing
// but tensors changes at a step, and all of them were made before the first.
import { compile } from '@tsinductor/compiler';
import { full, noGrad, tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import type { Algorithm, CommonOptions } from './algorithm.ts';
import { badHyperparameter, gradientsDiffer, unknownHyperparameter } from './errors.ts';
import { leavesOf, readGroups } from './parameter-groups.ts';
import type { OptimizerParameters, TensorTree } from './parameter-groups.ts';
import { readState, writeState } from './state-dict.ts';
import type { OptimizerState } from './state-dict.ts';

/** A parameter, and what is kept for it. */
export interface Slot {
  readonly param: Tensor;
  readonly state: Readonly<Record<string, Tensor>>;
  /** How many steps it has made: f64 of no dims. */
  step: Tensor;
}

/** What has a learning rate: as it is now, f64 of no dims, and as a number. */
interface RatedGroup {
  readonly rate: Tensor;
  lr: number;
}

/** Whose learning rates a schedule sets. */
export interface Rated {
  readonly groups: readonly RatedGroup[];
}

/** Parameters with the same options. */
export interface Group<Options extends CommonOptions> extends RatedGroup {
  readonly options: Required<Options>;
  readonly slots: readonly Slot[];
  readonly update: (sites: readonly UpdatedSlot[], rate: Tensor, steps: readonly Tensor[]) => void;
}

interface UpdatedSlot {
  readonly param: Tensor;
  readonly gradient: Tensor;
  readonly state: Readonly<Record<string, Tensor>>;
  /** Which of the steps is its own. */
  readonly step: number;
}

/** Changes parameters by their gradients. See its subclasses. */
export abstract class Optimizer<Options extends CommonOptions> implements Rated {
  readonly name: string;
  readonly groups: readonly Group<Options>[];

  protected constructor(
    algorithm: Algorithm<Options>,
    parameters: OptimizerParameters<Options>,
    options: Partial<Options>,
  ) {
    this.name = algorithm.name;
    this.groups = readGroups(algorithm.name, parameters).map((group) =>
      makeGroup(algorithm, group.params, optionsOf(algorithm, { ...options, ...group.options })),
    );
  }

  /** The learning rate of the first group; setting it sets that of all. Code that was compiled for a step stays. */
  get lr(): number {
    return this.groups[0]?.lr ?? 0;
  }

  set lr(value: number) {
    for (const group of this.groups) setRate(group, value);
  }

  /** Every parameter, in order. */
  parameters(): readonly Tensor[] {
    return this.groups.flatMap(({ slots }) => slots.map(({ param }) => param));
  }

  /**
   * Changes every parameter by its gradient: by `param.grad`, where there is one, or by `gradients`, in the nesting in which the
   * parameters were given, as `grad` and `valueAndGrad` give them.
   *
   * ```ts
   * // The weights are closed over, by the loss and by the optimiser: they are one and the same in the graph.
   * const step = compile((x: Tensor, y: Tensor) => {
   *   const [loss, gradients] = valueAndGrad(lossOf)(weights, x, y);
   *   optimizer.step(gradients);
   *   return loss;
   * });
   * ```
   *
   * @throws UserError OPTIM_GRADIENTS
   */
  step(gradients?: TensorTree): void {
    const given = gradients === undefined ? undefined : this.#fitting(leavesOf(gradients, gradientsDiffer));
    let position = 0;
    noGrad(() => {
      for (const group of this.groups) {
        const found = group.slots.map((slot) => (given === undefined ? slot.param.grad : given[position++]) ?? null);
        stepGroup(group, found);
      }
    });
  }

  /** Forgets the gradients that backward passes left. */
  zeroGrad(): void {
    for (const param of this.parameters()) param.grad = null;
  }

  /** What is needed to go on later exactly as now, in PyTorch's form. Tensors are the optimiser's own: copy what is to stay as it is. */
  stateDict(): OptimizerState {
    return readState(this.groups);
  }

  /**
   * Goes on from a saved state, whose values are copied.
   *
   * @throws UserError OPTIM_STATE, having changed nothing
   */
  loadStateDict(state: OptimizerState): void {
    const rates = writeState(this.groups, state);
    this.groups.forEach((group, index) => {
      setRate(group, rates[index] ?? group.lr);
    });
  }

  #fitting(gradients: readonly Tensor[]): readonly Tensor[] {
    const params = this.parameters();
    if (gradients.length !== params.length)
      throw gradientsDiffer(`there are ${String(gradients.length)} of them for ${String(params.length)} parameters`);
    params.forEach((param, index) => {
      const shape = gradients[index]?.shape ?? [];
      if (shape.length === param.shape.length && shape.every((size, axis) => size === param.shape[axis])) return;
      throw gradientsDiffer(
        `number ${String(index)} has shape [${shape.join(', ')}], and its parameter [${param.shape.join(', ')}]`,
      );
    });
    return gradients;
  }
}

/** Sets the learning rate of one group. */
export function setRate(group: RatedGroup, value: number): void {
  if (!(value >= 0)) throw badHyperparameter('lr', value, 'a number of at least 0');
  group.lr = value;
  noGrad(() => group.rate.fill_(value));
}

function makeGroup<Options extends CommonOptions>(
  algorithm: Algorithm<Options>,
  params: readonly Tensor[],
  options: Required<Options>,
): Group<Options> {
  const device = params[0]?.device ?? 'cpu';
  const scalar = (value: number): Tensor => tensor(value, { dtype: 'f64' }).to(device);
  const step = scalar(0);
  const first = Object.entries(algorithm.state(options));
  const slots = params.map((param) => ({
    param,
    state: Object.fromEntries(
      first.map(([name, value]) => [name, full([...param.shape], value, { dtype: param.dtype }).to(param.device)]),
    ),
    step,
  }));
  const update = (sites: readonly UpdatedSlot[], rate: Tensor, steps: readonly Tensor[]): void => {
    for (const count of steps) count.add_(1);
    for (const { param, gradient, state, step: position } of sites) {
      const count = steps[position] ?? step;
      const direction = options.maximize === true ? gradient.neg() : gradient;
      algorithm.update({ param, gradient: direction, state, lr: rate, step: count }, options);
    }
  };
  return {
    options,
    rate: scalar(options.lr),
    lr: options.lr,
    slots,
    update: compile(update, { name: `${algorithm.name}.step`, dynamic: false }),
  };
}

/** One step of the parameters that have a gradient. */
function stepGroup<Options extends CommonOptions>(
  { slots, rate, update }: Group<Options>,
  gradients: readonly (Tensor | null)[],
): void {
  const moving = slots.filter((_, index) => gradients[index] !== null);
  if (moving.length === 0) return;
  if (moving.length < slots.length) leaveBehind(slots, new Set(moving));
  const steps = [...new Set(moving.map(({ step }) => step))];
  const found = gradients.filter((gradient) => gradient !== null);
  const sites = moving.flatMap(({ param, state, step }, index) => {
    const gradient = found[index];
    return gradient === undefined ? [] : [{ param, state, gradient, step: steps.indexOf(step) }];
  });
  update(sites, rate, steps);
}

/** Parameters without a gradient keep their number of steps, which they shared with others that go on. */
function leaveBehind(slots: readonly Slot[], moving: ReadonlySet<Slot>): void {
  const copies = new Map<Tensor, Tensor>();
  const shared = new Set([...moving].map(({ step }) => step));
  for (const slot of slots) {
    if (moving.has(slot) || !shared.has(slot.step)) continue;
    const copy = copies.get(slot.step) ?? slot.step.clone();
    copies.set(slot.step, copy);
    slot.step = copy;
  }
}

/** The options of a group, complete. Throws UserError OPTIM_OPTION, OPTIM_OPTION_UNKNOWN. */
function optionsOf<Options extends CommonOptions>(
  { name, defaults, checks }: Algorithm<Options>,
  given: Partial<Options>,
): Required<Options> {
  for (const option of Object.keys(given))
    if (!Object.hasOwn(defaults, option)) throw unknownHyperparameter(name, option, Object.keys(defaults));
  const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const options: Required<Options> = { ...defaults, ...known };
  for (const option of Object.keys(defaults) as (keyof Options & string)[]) {
    const check = checks[option];
    const value: unknown = options[option];
    if (check !== undefined && !check.accepts(value as never)) throw badHyperparameter(option, value, check.allowed);
  }
  return options;
}
