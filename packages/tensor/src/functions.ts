// Operators as functions: what the generated modules export, and the namespaces.
import { operators } from '@tsinductor/graph';
import { splitOptions } from './bound-call.ts';
import { answer } from './dispatch.ts';
import { createBlockMask } from './block-mask.ts';
import { flexAttention } from './flex-attention.ts';
import type { FftFunctions, FunctionalFunctions, LinalgFunctions, SpecialFunctions } from './generated/namespaces.ts';
import { functionsIn } from './public-forms.ts';
import type { Namespace } from './public-forms.ts';

type AnyFunction = (...given: unknown[]) => unknown;

/** A function that calls the operator; `T` is its generated type. */
export function operatorFunction<T>(name: string): T {
  const call: AnyFunction = (...given) => {
    const { positional, named } = splitOptions(given);
    return answer(name, positional, named);
  };
  return call as T;
}

function namespaceObject<T>(namespace: Namespace): T {
  const entries = functionsIn(namespace, operators.values()).map(([name, operator]) => [
    name,
    operatorFunction<AnyFunction>(operator.name),
  ]);
  return Object.freeze(Object.fromEntries(entries)) as T;
}

/** What `nn.functional` has: operators, and what is made of operators and of functions of the program. */
interface Functional extends FunctionalFunctions {
  readonly createBlockMask: typeof createBlockMask;
  readonly flexAttention: typeof flexAttention;
}

/** Neural network functions: nn.functional.linear, conv2d, crossEntropy ... */
export const nn: { readonly functional: Functional } = Object.freeze({
  functional: Object.freeze({
    ...namespaceObject<FunctionalFunctions>('nn.functional'),
    createBlockMask,
    flexAttention,
  }),
});
/** Linear algebra: linalg.vectorNorm, matrixPower ... */
export const linalg: LinalgFunctions = namespaceObject<LinalgFunctions>('linalg');
/** Special functions: special.expit, entr, zeta ... */
export const special: SpecialFunctions = namespaceObject<SpecialFunctions>('special');
/** fft.fftshift, ifftshift. */
export const fft: FftFunctions = namespaceObject<FftFunctions>('fft');
