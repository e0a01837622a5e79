// Transforms of functions: grad, valueAndGrad, vjp, jvp, linearize, Jacobians and Hessians. They take a function over tensors,
// in any nesting of arguments, and give another function; they compose with each other and with `compile` in any order. Names
// and arguments follow JAX (jax.grad, jax.vjp ...) in camel case.
import { at, isFloat } from '@tsinductor/base';
import { derivedFrom } from '../derived-function.ts';
import { dispatchOne } from '../dispatch.ts';
import { located } from '../location.ts';
import { isTensor } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import {
  argumentPosition,
  cotangentCount,
  cotangentShape,
  gradientOfIntegers,
  gradientOfShape,
  noTensorToDifferentiate,
  notAFunction,
  resultNotTensor,
} from './errors.ts';
import { gradientsOf, ownTensor, released, dependsOnMore, zeroGradient } from './differentiate.ts';
import { withGradients, withoutGradients } from './grad-mode.ts';
import { seedFor } from './tensor-methods.ts';
import { floatsIn, mapTensors, tensorsIn } from './trees.ts';
import type { GradientOf } from './trees.ts';

type AnyFunction = (...given: never[]) => unknown;
type Argnums = number | readonly number[];

/** Options of `grad` and `valueAndGrad`. */
export interface GradOptions<Nums extends Argnums = Argnums> {
  /** Which arguments are differentiated, counted from 0; a list gives a list of gradients. Default: 0. */
  readonly argnums?: Nums;
  /** The function gives a pair: what is differentiated, and a rest that is passed on. Default: false. */
  readonly hasAux?: boolean;
}

type GradientsAt<Args extends readonly unknown[], Nums> = Nums extends number
  ? GradientOf<Args[Nums]>
  : Nums extends readonly number[]
    ? { -readonly [Position in keyof Nums]: GradientOf<Args[Nums[Position] & number]> }
    : never;

function located_<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw located(error);
  }
}

function requireFunction(transform: string, fn: unknown): void {
  if (typeof fn !== 'function') throw located(notAFunction(transform, fn));
}

/** The arguments of one level: those that are differentiated have tensors of their own. */
function openArguments(
  transform: string,
  given: readonly unknown[],
  positions: readonly number[],
): { readonly args: readonly unknown[]; readonly pairs: ReadonlyMap<Tensor, Tensor> } {
  const pairs = new Map<Tensor, Tensor>();
  const own = (tensor: Tensor): Tensor => {
    if (!isFloat(tensor.dtype)) return tensor;
    const known = pairs.get(tensor);
    if (known !== undefined) return known;
    const made = ownTensor(tensor);
    pairs.set(tensor, made);
    return made;
  };
  for (const position of positions) {
    if (!Number.isInteger(position) || position < 0 || position >= given.length)
      throw argumentPosition(transform, position, given.length);
    const argument = given[position];
    if (isTensor(argument) && !isFloat(argument.dtype))
      throw gradientOfIntegers(`${transform}: argument ${String(position)}`, argument.dtype);
  }
  const args = given.map((argument, position) => (positions.includes(position) ? mapTensors(argument, own) : argument));
  if (pairs.size === 0) throw noTensorToDifferentiate(transform);
  return { args, pairs };
}

interface Differentiated {
  readonly value: Tensor;
  readonly aux: unknown;
  readonly gradients: readonly unknown[];
}

function differentiate(
  transform: string,
  fn: AnyFunction,
  { given, positions, hasAux }: { given: readonly unknown[]; positions: readonly number[]; hasAux: boolean },
): Differentiated {
  return withGradients(() => {
    const { args, pairs } = openArguments(transform, given, positions);
    const made: unknown = fn(...(args as never[]));
    const [output, aux] = hasAux && Array.isArray(made) ? (made as unknown[]) : [made, undefined];
    if (!isTensor(output) || !isFloat(output.dtype)) throw resultNotTensor(transform);
    if (output.numel !== 1) throw gradientOfShape(`${transform}: the result`, output.shape);
    const seeds = [{ tensor: output, cotangent: withoutGradients(() => seedFor(transform, output, undefined)) }];
    const inputs = [...pairs.values()];
    const keepsHistory = dependsOnMore(seeds, inputs);
    const found = gradientsOf(seeds, inputs, { retainGraph: false });
    const gradientOf = (tensor: Tensor): unknown => {
      const own = pairs.get(tensor);
      return own === undefined ? null : (found[inputs.indexOf(own)] ?? zeroGradient(tensor));
    };
    return {
      value: released(output, keepsHistory),
      aux: mapTensors(aux, (tensor) => released(tensor, keepsHistory)),
      gradients: positions.map((position) => mapTensors(given[position], gradientOf, () => null)),
    };
  });
}

const listed = (argnums: Argnums): readonly number[] => (typeof argnums === 'number' ? [argnums] : argnums);

/**
 * The gradient of a function that gives one number (a tensor of one element), with respect to its first argument or those that
 * `argnums` names. The gradient of a nesting of tensors is that nesting: a record of parameters gives a record of gradients.
 *
 * ```ts
 * const loss = (w: { a: Tensor; b: Tensor }, x: Tensor) => x.matmul(w.a).add(w.b).square().mean();
 * const { a, b } = grad(loss)({ a: weight, b: bias }, x);
 * ```
 *
 * Raises GRADIENT_NOT_SCALAR where the function gives more than one number, GRADIENT_DTYPE for an argument of integers.
 */
export function grad<Args extends readonly unknown[], const Nums extends Argnums = 0>(
  fn: (...args: Args) => Tensor,
  options?: GradOptions<Nums> & { readonly hasAux?: false },
): (...args: Args) => GradientsAt<Args, Nums>;
export function grad<Args extends readonly unknown[], Aux, const Nums extends Argnums = 0>(
  fn: (...args: Args) => readonly [Tensor, Aux],
  options: GradOptions<Nums> & { readonly hasAux: true },
): (...args: Args) => [GradientsAt<Args, Nums>, Aux];
export function grad(fn: AnyFunction, options: GradOptions = {}): (...args: readonly unknown[]) => unknown {
  requireFunction('grad', fn);
  const { argnums = 0, hasAux = false } = options;
  const gradient = (...given: readonly unknown[]): unknown =>
    located_(() => {
      const { aux, gradients } = differentiate('grad', fn, { given, positions: listed(argnums), hasAux });
      const result = typeof argnums === 'number' ? gradients[0] : gradients;
      return hasAux ? [result, aux] : result;
    });
  return derivedFrom(gradient, [fn]);
}

/**
 * As `grad`, with the function's value: `[value, gradient]`, or with `hasAux` `[[value, rest], gradient]`.
 *
 * ```ts
 * const step = compile((w: Tensor, x: Tensor, y: Tensor) => {
 *   const [loss, gradient] = valueAndGrad((w: Tensor) => x.matmul(w).sub(y).square().mean())(w);
 *   return [loss, w.sub(gradient.mul(0.1))];
 * });
 * ```
 */
export function valueAndGrad<Args extends readonly unknown[], const Nums extends Argnums = 0>(
  fn: (...args: Args) => Tensor,
  options?: GradOptions<Nums> & { readonly hasAux?: false },
): (...args: Args) => [Tensor, GradientsAt<Args, Nums>];
export function valueAndGrad<Args extends readonly unknown[], Aux, const Nums extends Argnums = 0>(
  fn: (...args: Args) => readonly [Tensor, Aux],
  options: GradOptions<Nums> & { readonly hasAux: true },
): (...args: Args) => [[Tensor, Aux], GradientsAt<Args, Nums>];
export function valueAndGrad(fn: AnyFunction, options: GradOptions = {}): (...args: readonly unknown[]) => unknown {
  requireFunction('valueAndGrad', fn);
  const { argnums = 0, hasAux = false } = options;
  const both = (...given: readonly unknown[]): unknown =>
    located_(() => {
      const { value, aux, gradients } = differentiate('valueAndGrad', fn, {
        given,
        positions: listed(argnums),
        hasAux,
      });
      const result = typeof argnums === 'number' ? gradients[0] : gradients;
      return [hasAux ? [value, aux] : value, result];
    });
  return derivedFrom(both, [fn]);
}

/**
 * The value of `fn` at `primals`, and a function from a cotangent of the value (of its nesting) to the cotangents of the
 * primals: the product of the cotangent with the Jacobian. It can be called more than once.
 *
 * ```ts
 * const [y, pull] = vjp((x: Tensor) => x.sin(), x);
 * const [gx] = pull(ones([3])); // cos(x)
 * ```
 */
export function vjp<Args extends readonly unknown[], Result>(
  fn: (...args: Args) => Result,
  ...primals: Args
): [Result, (cotangent: GradientOf<Result>) => GradientOf<Args>] {
  requireFunction('vjp', fn);
  return located_(() =>
    withGradients(() => {
      const positions = primals.map((_, position) => position);
      const { args, pairs } = openArguments(
        'vjp',
        primals,
        positions.filter((position) => floatsIn(primals[position]).length > 0),
      );
      const result: unknown = fn(...(args as unknown as Args));
      const inputs = [...pairs.values()];
      const outputs = floatsIn(result);
      const keepsHistory = dependsOnMore(
        outputs.map((tensor) => ({ tensor, cotangent: tensor })).filter(({ tensor }) => tensor.requiresGrad),
        inputs,
      );
      const pull = (cotangent: unknown): unknown =>
        located_(() =>
          withGradients(() => {
            const given = tensorsIn(cotangent);
            if (given.length !== outputs.length) throw cotangentCount(given.length, outputs.length);
            const seeds = outputs.map((tensor, position) => ({
              tensor,
              cotangent: seedFor('vjp: a result', tensor, at(given, position)),
            }));
            const found = gradientsOf(seeds, inputs, { retainGraph: true });
            return primals.map((primal) =>
              mapTensors(
                primal,
                (tensor) => {
                  const own = pairs.get(tensor);
                  return own === undefined ? null : (found[inputs.indexOf(own)] ?? zeroGradient(tensor));
                },
                () => null,
              ),
            );
          }),
        );
      const value = mapTensors(result, (tensor) => released(tensor, keepsHistory));
      return [value as Result, pull as (cotangent: GradientOf<Result>) => GradientOf<Args>];
    }),
  );
}

/**
 * The value of `fn` at `primals` and its derivative along `tangents` (of the nesting of the primals): the product of the
 * Jacobian with the tangents.
 *
 * It is the transpose of the transpose: the cotangents that `vjp` gives are linear in the cotangent that they come from, and the
 * gradient of that linear function is the product (Townsend, "A new trick for calculating Jacobian vector products", 2017).
 */
export function jvp<Args extends readonly unknown[], Result>(
  fn: (...args: Args) => Result,
  primals: Args,
  tangents: GradientOf<Args>,
): [Result, GradientOf<Result>] {
  requireFunction('jvp', fn);
  return located_(() =>
    withGradients(() => {
      const [value, push] = linearised(fn, primals);
      return [value, push(tangents)];
    }),
  );
}

/** The value of `fn` at `primals`, and the linear function from tangents to the derivative along them. */
export function linearize<Args extends readonly unknown[], Result>(
  fn: (...args: Args) => Result,
  ...primals: Args
): [Result, (...tangents: GradientOf<Args> & readonly unknown[]) => GradientOf<Result>] {
  requireFunction('linearize', fn);
  return located_(() =>
    withGradients(() => {
      const [value, push] = linearised(fn, primals);
      return [
        value,
        (...tangents) => located_(() => withGradients(() => push(tangents as unknown as GradientOf<Args>))),
      ];
    }),
  );
}

function linearised<Args extends readonly unknown[], Result>(
  fn: (...args: Args) => Result,
  primals: Args,
): [Result, (tangents: GradientOf<Args>) => GradientOf<Result>] {
  const positions = primals.map((_, position) => position).filter((position) => floatsIn(primals[position]).length > 0);
  const { args, pairs } = openArguments('jvp', primals, positions);
  const result: unknown = fn(...(args as unknown as Args));
  const inputs = [...pairs.values()];
  const outputs = floatsIn(result).filter((tensor) => tensor.requiresGrad);
  const keepsHistory = dependsOnMore(
    outputs.map((tensor) => ({ tensor, cotangent: zeroGradient(tensor) })),
    inputs,
  );
  const cotangents = outputs.map((tensor) => ownTensor(zeroGradient(tensor)));
  const seeds = outputs.map((tensor, position) => ({ tensor, cotangent: at(cotangents, position) }));
  const pulled = gradientsOf(seeds, inputs, { retainGraph: true, createGraph: true });
  const push = (tangents: GradientOf<Args>): GradientOf<Result> => {
    const flat = tangentsFor(primals, tangents, pairs);
    const along = inputs.flatMap((_, position) => {
      const [tensor, cotangent] = [pulled[position], flat[position]];
      return tensor === undefined || cotangent === undefined || !tensor.requiresGrad ? [] : [{ tensor, cotangent }];
    });
    const found = gradientsOf(along, cotangents, {
      retainGraph: true,
      createGraph: keepsHistory || along.some(({ cotangent }) => cotangent.requiresGrad),
    });
    return mapTensors(
      result,
      (tensor) => {
        const place = outputs.indexOf(tensor);
        if (!isFloat(tensor.dtype)) return null;
        return (place === -1 ? undefined : found[place]) ?? zeroGradient(tensor);
      },
      () => null,
    ) as GradientOf<Result>;
  };
  return [mapTensors(result, (tensor) => released(tensor, keepsHistory)) as Result, push];
}

/** For each tensor that is differentiated, its tangent. */
function tangentsFor(
  primals: readonly unknown[],
  tangents: unknown,
  pairs: ReadonlyMap<Tensor, Tensor>,
): readonly (Tensor | undefined)[] {
  const own = [...pairs.keys()];
  const given = tensorsIn(tangents);
  const wanted = floatsIn(primals);
  if (given.length !== wanted.length) throw cotangentCount(given.length, wanted.length);
  const found = new Map<Tensor, Tensor>();
  wanted.forEach((tensor, position) => {
    const tangent = at(given, position);
    if (tangent.shape.join() !== tensor.shape.join()) throw cotangentShape(tangent.shape, tensor.shape);
    const known = found.get(tensor);
    found.set(tensor, known === undefined ? tangent : dispatchOne('add', [known, tangent]));
  });
  return own.map((tensor) => found.get(tensor));
}
