// A module: an object with parameters, buffers and modules in its fields, and a function of them, `forward`. Fields are found by looking at
// the object, in the order in which they were defined, so that a module is a plain class: no registration, and whatever a field holds
// at a call is what the call uses. Lists and records in fields are gone through as well.
//
// Names are PyTorch's: of the field `runningMean` of `layers[0].norm` the name is `layers.0.norm.running_mean`.
import { isTensor, noGrad } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { isParameter } from './parameter.ts';
import { loadInto, snakeCase, stateOf } from './state-dict.ts';
import type { LoadOptions, LoadReport, StateDict } from './state-dict.ts';

/** A field of a module or of a list in one: a tensor or a module, with its name. */
export interface Member {
  readonly name: string;
  readonly value: Tensor | Module;
  /** Puts another tensor in its place. */
  readonly replace: (tensor: Tensor) => void;
}

/**
 * What layers and models extend.
 *
 * ```ts
 * class Model extends Module {
 *   readonly hidden = new Linear(784, 512);
 *   readonly output = new Linear(512, 10);
 *   forward(x: Tensor): Tensor {
 *     return this.output.forward(this.hidden.forward(x).relu());
 *   }
 * }
 * const model = new Model();
 * const predict = compile((x: Tensor) => model.forward(x));
 * const optimizer = new AdamW(model.parameters());
 * ```
 */
export abstract class Module {
  /** Whether it is being trained: dropout drops, and norms take the statistics of the batch. */
  training = true;

  abstract forward(...given: never[]): unknown;

  /** Its tensors and modules, in order. A container whose members go by other names than its fields overrides it. */
  members(): readonly Member[] {
    return Object.keys(this).flatMap((key) => membersAt(this, key, snakeCase(key)));
  }

  /** Modules directly in it, by name. */
  namedChildren(): readonly (readonly [name: string, module: Module])[] {
    return this.members().flatMap(({ name, value }) => (value instanceof Module ? [[name, value] as const] : []));
  }

  /** Itself, by the empty name, and every module below it, each once. */
  namedModules(): readonly (readonly [name: string, module: Module])[] {
    const found = new Map<Module, string>();
    const visit = (module: Module, path: string): void => {
      if (found.has(module)) return;
      found.set(module, path);
      for (const [name, child] of module.namedChildren()) visit(child, path === '' ? name : `${path}.${name}`);
    };
    visit(this, '');
    return [...found].map(([module, name]) => [name, module]);
  }

  modules(): readonly Module[] {
    return this.namedModules().map(([, module]) => module);
  }

  /** Every parameter of it and of the modules below, each once. */
  namedParameters(): readonly (readonly [name: string, parameter: Tensor])[] {
    return tensorsOf(this).filter(([, tensor]) => isParameter(tensor));
  }

  parameters(): readonly Tensor[] {
    return this.namedParameters().map(([, tensor]) => tensor);
  }

  /** Tensors that are part of its state and are not trained, as running statistics. */
  namedBuffers(): readonly (readonly [name: string, buffer: Tensor])[] {
    return tensorsOf(this).filter(([, tensor]) => !isParameter(tensor));
  }

  buffers(): readonly Tensor[] {
    return this.namedBuffers().map(([, tensor]) => tensor);
  }

  /** Puts it and all modules below into training, or with `false` into evaluation. */
  train(mode = true): this {
    for (const module of this.modules()) module.training = mode;
    return this;
  }

  eval(): this {
    return this.train(false);
  }

  /** Whether gradients are computed for its parameters: `layer.requiresGrad_(false)` freezes a layer. */
  requiresGrad_(requiresGrad = true): this {
    for (const parameter of this.parameters()) parameter.requiresGrad_(requiresGrad);
    return this;
  }

  /** Forgets the gradients that backward passes left. */
  zeroGrad(): void {
    for (const parameter of this.parameters()) parameter.grad = null;
  }

  /** Calls `fn` with every module below, and then with it itself. */
  apply(fn: (module: Module) => void): this {
    for (const [, child] of this.namedChildren()) child.apply(fn);
    fn(this);
    return this;
  }

  /** All parameters and buffers by name, in PyTorch's names and layouts: the tensors themselves, which `saveSafetensors` writes. */
  stateDict(): StateDict {
    return stateOf(tensorsOf(this));
  }

  /**
   * Copies a saved state into the parameters and buffers.
   *
   * ```ts
   * const { tensors } = await loadSafetensors('model.safetensors');
   * model.loadStateDict(tensors);
   * ```
   *
   * @throws UserError NN_STATE, having changed nothing: where shapes differ, and with `strict`, as it is unless given, where names do
   */
  loadStateDict(state: StateDict | ReadonlyMap<string, Tensor>, options: LoadOptions = {}): LoadReport {
    return noGrad(() => loadInto(tensorsOf(this), state, options));
  }
}

/** Tensors of a module and of those below it, each once, with the names of their first places. */
function tensorsOf(module: Module): readonly (readonly [name: string, tensor: Tensor])[] {
  const found = new Map<Tensor, string>();
  for (const { name, value } of placesOf(module)) if (!found.has(value)) found.set(value, name);
  return [...found].map(([tensor, name]) => [name, tensor]);
}

/** A tensor of a module or of those below it, at one of its places. */
interface TensorPlace extends Member {
  readonly value: Tensor;
}

/** Every place that has a tensor, also where one is in several. */
export const placesOf = (module: Module): readonly TensorPlace[] =>
  module.namedModules().flatMap(([path, owner]) =>
    owner.members().flatMap(({ name, value, replace }) => {
      const whole = path === '' ? name : `${path}.${name}`;
      return isTensor(value) ? [{ name: whole, value, replace }] : [];
    }),
  );

/** The members that a field has: itself, or those of a list or a record in it. */
export function membersAt(owner: object, key: string, name: string): readonly Member[] {
  const value: unknown = Reflect.get(owner, key);
  if (isTensor(value) || value instanceof Module)
    return [{ name, value, replace: (tensor) => void Reflect.set(owner, key, tensor) }];
  if (!isPlainHolder(value)) return [];
  return Object.keys(value).flatMap((inner) => membersAt(value, inner, `${name}.${inner}`));
}

function isPlainHolder(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
