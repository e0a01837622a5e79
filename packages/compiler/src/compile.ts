// compile(fn): a function over tensors becomes one that runs compiled. Also a method decorator.
import { uncompiled } from './trace/call-marks.ts';
import { badOption, deferredFunction, notAFunction } from './errors.ts';
import { isLegacy, legacyMethod } from './legacy-decorators.ts';
import type { LegacyArguments } from './legacy-decorators.ts';
import { CompiledCode } from './trace/compiled-code.ts';
import type { CacheInfo } from './trace/cache-info.ts';
import type { AnyFunction } from './trace/compiled-code.ts';
import { currentStance, declareExamples, defaultSession, reportOnce, useNativeMemory } from './default-compiler.ts';
import { checkOptions } from './options.ts';
import type { CompileOptions, FunctionOptions } from './options.ts';
import type { Explanation, GraphReport } from './report.ts';
import { userLocation } from '@tsinductor/tensor/internal';

/** What every compiled function has beside its call. */
export interface CompiledMembers<F extends AnyFunction> {
  /**
   * What was compiled, how it was fused, what the guards are and why calls were compiled again. With arguments, the
   * function is first compiled for them (and not run), and what is built in the background is waited for.
   */
  explain(...args: Parameters<F> | []): Explanation;
  /**
   * Compiles for these arguments without blocking and without running; resolves when native code answers them, also where it is
   * built in the background. Without arguments it does so for those that the option `examples` declares, if there are such.
   */
  warmup(...args: Parameters<F> | []): Promise<void>;
  /**
   * How often it was called, how often an earlier compilation fitted, and what is built in the background; how many of its graphs
   * were in memory, on disk or built, and which went past the cache on disk, by the reason.
   */
  cacheInfo(): CacheInfo;
  /** Forgets all specialisations. */
  reset(): void;
  graphs(): readonly GraphReport[];
}

/** A function of type F that runs compiled. */
export type CompiledFunction<F extends AnyFunction> = F & CompiledMembers<F>;

/** Whether a type says nothing: `any`, or `never`, which fit every other. */
type IsAny<T> = [T] extends [never] ? true : 0 extends 1 & T ? true : false;

type Deferred = (this: never, ...args: never[]) => PromiseLike<unknown> | Iterator<unknown> | AsyncIterator<unknown>;

/** What compiling an async or generator function would give: nothing that could be called. It is refused. */
interface SynchronousOnly {
  readonly 'compile the part that computes, and await or yield around its calls': never;
}

/** Nothing where the function gives promises or yields: decorating it is a type error. */
type Synchronous<F extends AnyFunction> =
  IsAny<ReturnType<F>> extends true ? unknown : F extends Deferred ? SynchronousOnly : unknown;

interface MethodDecorator {
  <F extends AnyFunction>(method: F & Synchronous<F>, context: ClassMethodDecoratorContext): F;
  /** Under `experimentalDecorators`. */
  <F extends AnyFunction>(
    owner: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<F>,
  ): TypedPropertyDescriptor<F>;
}

/**
 * Compiles a function over tensors. The first call traces it, builds native code and runs that; later calls whose
 * arguments meet the same guards run it directly.
 *
 * Arguments and results are any nesting of tensors, plain values, arrays, plain objects and (arguments) class instances.
 * A function that writes to its arguments or to `this`, or that may read #private fields which change, runs segment by
 * segment, so that every call does so; writes to what it closes over cannot be seen, and happen when it is traced.
 *
 * @example
 * const mlp = compile((x: Tensor, w: Tensor) => x.matmul(w).relu());
 *
 * class Model {
 *   constructor(readonly weight: Tensor) {}
 *   @compile({ fullgraph: true }) forward(x: Tensor) { return x.linear(this.weight).relu(); }
 * }
 * // The same under experimentalDecorators.
 * @throws UserError OPTION_UNKNOWN, OPTION_VALUE, COMPILE_TARGET, ASYNC_FUNCTION at once; what the function itself throws when called
 * @see torch.compile
 */
export function compile<F extends Deferred>(
  fn: F & (IsAny<ReturnType<F>> extends true ? never : unknown),
  options?: CompileOptions,
): SynchronousOnly;
export function compile<F extends AnyFunction>(fn: F, options?: FunctionOptions<F>): CompiledFunction<F>;
export function compile<F extends AnyFunction>(method: F & Synchronous<F>, context: ClassMethodDecoratorContext): F;
export function compile<F extends AnyFunction>(
  owner: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<F>,
): TypedPropertyDescriptor<F>;
export function compile(options?: CompileOptions): MethodDecorator;
export function compile(...given: readonly unknown[]): unknown {
  if (isLegacy(given)) return compileLegacy(given, {});
  return compileGiven(...(given as Parameters<typeof compileGiven>));
}

function compileGiven(
  target: AnyFunction | CompileOptions = {},
  second?: FunctionOptions<AnyFunction> | ClassMethodDecoratorContext,
): unknown {
  if (typeof target === 'function') {
    if (isDecoratorContext(second)) return compileMethod(target, second, {});
    return compileFunction(target, second ?? {});
  }
  if (typeof target !== 'object' || (target as unknown) === null) throw notAFunction(target);
  checkOptions(target, reportOnce);
  if ('examples' in target)
    throw badOption('examples', target.examples, 'for functions: a method has no instance to be called on');
  return (...decorated: readonly unknown[]) =>
    isLegacy(decorated)
      ? compileLegacy(decorated, target)
      : compileMethod(...(decorated as readonly [AnyFunction, ClassMethodDecoratorContext]), target);
}

const isDecoratorContext = (value: unknown): value is ClassMethodDecoratorContext =>
  typeof value === 'object' && value !== null && 'kind' in value && 'addInitializer' in value;

const compileLegacy = (given: LegacyArguments, options: CompileOptions): PropertyDescriptor =>
  legacyMethod(given, (method, name) => compileFunction(method, { name, ...options }), notAFunction);

function compileMethod(
  method: AnyFunction,
  context: ClassMethodDecoratorContext,
  options: CompileOptions,
): AnyFunction {
  return compileFunction(method, { name: String(context.name), ...options });
}

/** Throws UserError ASYNC_FUNCTION for what does not answer at once. */
function checkSynchronous(fn: AnyFunction): void {
  const kind = deferredKinds[Object.prototype.toString.call(fn)];
  if (kind !== undefined) throw deferredFunction(fn.name, kind);
}

const deferredKinds: Readonly<Record<string, string>> = {
  '[object AsyncFunction]': 'an async function',
  '[object GeneratorFunction]': 'a generator function',
  '[object AsyncGeneratorFunction]': 'an async generator function',
};

function compileFunction<F extends AnyFunction>(fn: F, options: FunctionOptions<F>): CompiledFunction<F> {
  checkOptions(options, reportOnce);
  checkSynchronous(fn);
  useNativeMemory(options.background === true ? 'whenKnown' : 'all');
  const code = new CompiledCode(fn, options, { session: defaultSession, stance: currentStance });
  const call = function (this: unknown, ...args: unknown[]): unknown {
    return code.call(this, args);
  };
  const members: CompiledMembers<F> = {
    explain: (...args) => {
      if (args.length > 0) code.prepare(undefined, args);
      return code.explain();
    },
    warmup: async (...args) => {
      const declared = args.length === 0 ? options.examples?.() : undefined;
      await Promise.all((declared ?? [args]).map((one) => code.warmup(undefined, one)));
    },
    cacheInfo: () => code.cacheInfo(),
    reset: () => {
      code.reset();
    },
    graphs: () => code.graphs(),
  };
  const { examples } = options;
  if (examples !== undefined)
    declareExamples(() => ({
      name: code.name,
      location: userLocation(),
      examples,
      warmup: (args) => code.warmup(undefined, args),
      run: (args) => code.call(undefined, args),
      explain: () => code.explain(),
    }));
  Object.defineProperty(call, 'name', { value: code.name });
  Object.defineProperty(call, 'length', { value: fn.length });
  Object.defineProperty(call, uncompiled, { value: fn });
  return Object.assign(call as unknown as F, members);
}
