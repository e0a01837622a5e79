// Gradients of custom ops. In: a call one of whose tensors asks for a gradient. Out: its results, as a step whose gradient is the
// definition's own; without one, the operators that make the results are recorded as any.
import { at, isFloat } from '@tsinductor/base';
import { isList, isTensorParameter, isValue } from '@tsinductor/graph';
import { recordFunction } from '../autograd/function-node.ts';
import { noOpGradient } from '../autograd/errors.ts';
import { withoutGradients } from '../autograd/grad-mode.ts';
import { requiresGrad } from '../autograd/record.ts';
import type { BoundCall } from '../bound-call.ts';
import { dispatchOne } from '../dispatch.ts';
import { dependsOutside } from '../mapping/level.ts';
import { isTensor } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { namedArguments } from './custom-op.ts';
import type { CustomOpCode } from './custom-op.ts';

export function withOpGradient(code: CustomOpCode, call: BoundCall, run: () => readonly Tensor[]): readonly Tensor[] {
  const { gradient, lowering } = code.definition;
  const { tensors } = call;
  if (gradient === undefined) {
    const results = run();
    const isLost = lowering === undefined && !results.some((result) => requiresGrad(result) || dependsOutside(result));
    if (isLost)
      recordFunction(code.name, { inputs: tensors, results }, () => {
        throw noOpGradient(code.name);
      });
    return results;
  }
  const results = withoutGradients(run);
  const metas = results.map(({ dtype, shape }) => ({ dtype, shape }));
  recordFunction(code.name, { inputs: tensors, results }, (cotangents) => {
    const grads = metas.map(
      ({ dtype, shape }, position) => cotangents[position] ?? dispatchOne('zeros', [[...shape]], { dtype }),
    );
    const named = namedArguments(call, ({ node }) => at(tensors, node));
    const given: unknown = gradient.call(code.definition, named as never, { outputs: results, grads } as never);
    return gradientsByTensor(call, (given ?? {}) as Readonly<Record<string, unknown>>);
  });
  return results;
}

/** What the definition gave by parameter, for each tensor of the call: it may stand under several. */
function gradientsByTensor(
  { operator, args, tensors }: BoundCall,
  given: Readonly<Record<string, unknown>>,
): readonly (Tensor | undefined)[] {
  const sums = tensors.map((): Tensor | undefined => undefined);
  const add = (position: number, gradient: unknown): void => {
    if (!isTensor(gradient) || !isFloat(at(tensors, position).dtype)) return;
    const sum = sums[position];
    sums[position] = sum === undefined ? gradient : dispatchOne('add', [sum, gradient]);
  };
  operator.parameters.filter(isTensorParameter).forEach(({ name }, place) => {
    const [arg, value] = [args[place], given[name]];
    if (isValue(arg)) add(arg.node, value);
    else if (isList(arg))
      arg.forEach(({ node }, position) => {
        add(node, Array.isArray(value) ? (value as unknown[])[position] : undefined);
      });
  });
  return sums;
}
