// Functions that a compiled function calls and that are not to be traced as everything else: disabled ones run outside of its
// graphs; those allowed in a graph are trusted with what they do beside tensors. In: a function. Out: one of the same type.
import { recorderInUse } from '@tsinductor/tensor/internal';
import type { AnyFunction } from './compiled-code.ts';
import { badDisableOption, notCallable } from '../errors.ts';
import { isLegacy, legacyMethod } from '../legacy-decorators.ts';
import type { LegacyArguments } from '../legacy-decorators.ts';

export interface DisableOptions {
  /** Why, for the error under `fullgraph` and for `explain`. */
  readonly reason?: string;
}

interface MethodDecorator {
  <F extends AnyFunction>(method: F, context: ClassMethodDecoratorContext): F;
  /** Under `experimentalDecorators`. */
  <F extends AnyFunction>(
    owner: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<F>,
  ): TypedPropertyDescriptor<F>;
}

type Callable = (this: unknown, ...args: unknown[]) => unknown;

/** Where a compiled function keeps the function that it was made of. */
export const uncompiled: unique symbol = Symbol('tsinductor.uncompiled') as never;

/**
 * A function that is never compiled: it runs as it is, on tensors with values, wherever it is called. A compiled function that
 * calls it breaks there, and goes on in its next segment; under `fullgraph` that is an error. Of a function that `compile` gave,
 * the one that was compiled is disabled. Functions that it calls and that are compiled themselves stay so.
 *
 * Arguments and results: whatever the function takes and gives. Also a method decorator, `@disable` or `@disable({ reason })`.
 *
 * @throws UserError FUNCTION_EXPECTED for what is no function, DISABLE_OPTION for an unknown option; GRAPH_BREAK where a function
 *   that is compiled with `fullgraph` calls it
 * @example
 * const log = disable((loss: Tensor) => console.log(loss.item()), { reason: 'it prints' });
 * const step = compile((x: Tensor) => { const loss = x.square().mean(); log(loss); return loss.mul(2); });
 * @see torch.compiler.disable
 */
export function disable<F extends AnyFunction>(fn: F, options?: DisableOptions): F;
export function disable<F extends AnyFunction>(method: F, context: ClassMethodDecoratorContext): F;
export function disable<F extends AnyFunction>(
  owner: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<F>,
): TypedPropertyDescriptor<F>;
export function disable(options?: DisableOptions): MethodDecorator;
export function disable(...given: readonly unknown[]): unknown {
  if (isLegacy(given)) return disableLegacy(given, {});
  return disableGiven(...(given as Parameters<typeof disableGiven>));
}

const disableLegacy = (given: LegacyArguments, options: DisableOptions): PropertyDescriptor =>
  legacyMethod(
    given,
    (method) => disabled(method, options),
    (what) => notCallable('disable', what),
  );

function disableGiven(
  target: AnyFunction | DisableOptions = {},
  second: DisableOptions | ClassMethodDecoratorContext = {},
): unknown {
  if (typeof target === 'function') return disabled(target, isDecoratorContext(second) ? {} : second);
  if (typeof target !== 'object' || (target as unknown) === null) throw notCallable('disable', target);
  checkDisableOptions(target);
  return (...decorated: readonly unknown[]) =>
    isLegacy(decorated) ? disableLegacy(decorated, target) : disabled(decorated[0] as AnyFunction, target);
}

function disabled<F extends AnyFunction>(fn: F, options: DisableOptions): F {
  checkDisableOptions(options);
  const why = options.reason === undefined ? '' : ` (${options.reason})`;
  const reason = `it calls ${fn.name === '' ? 'a function' : fn.name}, which is disabled${why}`;
  return wrapped(fn, (work) => {
    const recorder = recorderInUse();
    return recorder === undefined ? work() : recorder.suspend(work, reason);
  });
}

/**
 * A function whose operators become part of the graph of whatever compiled function calls it, without anything else in it being
 * looked at: what it writes to objects happens once, when it is traced, and is no reason to break; plain values that it reads off
 * class instances are those of that moment, and are not guarded; disabled functions that it calls are traced. So it must compute
 * the same of the same tensors at every call. In a function that runs in segments its JavaScript runs at every call, as all does.
 *
 * Arguments and results: whatever the function takes and gives; tensors that it keeps elsewhere have no value. Reading a tensor's
 * elements in it breaks the graph as anywhere else. Also a method decorator.
 *
 * @throws UserError FUNCTION_EXPECTED for what is no function
 * @example
 * const stats = { traced: 0 };
 * const norm = allowInGraph((x: Tensor) => { stats.traced += 1; return x.div(x.norm()); });
 * const step = compile((x: Tensor) => norm(x).mul(2), { fullgraph: true }); // one graph; stats.traced stays 1
 * @see torch.compiler.allow_in_graph
 */
export function allowInGraph<F extends AnyFunction>(fn: F, context?: ClassMethodDecoratorContext): F;
export function allowInGraph<F extends AnyFunction>(
  owner: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<F>,
): TypedPropertyDescriptor<F>;
export function allowInGraph(...given: readonly unknown[]): unknown {
  return isLegacy(given)
    ? legacyMethod(given, allowed, (what) => notCallable('allowInGraph', what))
    : allowed(given[0] as AnyFunction);
}

function allowed<F extends AnyFunction>(fn: F): F {
  if (typeof fn !== 'function') throw notCallable('allowInGraph', fn);
  return wrapped(fn, (work) => {
    const recorder = recorderInUse();
    return recorder === undefined ? work() : recorder.trust(work);
  });
}

/** `fn`, or what it was compiled of, called through `run`. */
function wrapped<F extends AnyFunction>(fn: F, run: (work: () => unknown) => unknown): F {
  const plain = ((fn as { readonly [uncompiled]?: AnyFunction })[uncompiled] ?? fn) as Callable;
  const call = function (this: unknown, ...args: unknown[]): unknown {
    return run(() => plain.apply(this, args));
  };
  Object.defineProperty(call, 'name', { value: fn.name });
  Object.defineProperty(call, 'length', { value: fn.length });
  return call as AnyFunction as F;
}

const isDecoratorContext = (value: unknown): value is ClassMethodDecoratorContext =>
  typeof value === 'object' && value !== null && 'kind' in value && 'addInitializer' in value;

function checkDisableOptions(options: DisableOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (name !== 'reason' || typeof value !== 'string') throw badDisableOption(name, value);
  }
}
