// Calling operators by name. In: what a user passed. Out: tensors; computed at once, or recorded while a function is
// traced. Every method and function ends here, so here errors get the user's line.
import { at } from '@tsinductor/base';
import { isTensorParameter } from '@tsinductor/graph';
import { copyWithHistory } from './autograd/call-node.ts';
import { isTracking, requiresGrad } from './autograd/record.ts';
import { bindCall, noOptions, operatorNamed } from './bound-call.ts';
import type { BoundCall, GivenCall, Named } from './bound-call.ts';
import { calledAs } from './called-operator.ts';
import { besideOperands, onDevice, parseDevice } from './device.ts';
import type { Device } from './device.ts';
import { badArgument, notATensor, unknownOption } from './errors.ts';
import { located } from './location.ts';
import { isMapping } from './mapping/level.ts';
import { perform } from './perform.ts';
import { processState } from './process-state.ts';
import { write } from './write.ts';
import { isTensor } from './tensor.ts';
import type { Tensor } from './tensor.ts';

/** The results of an operator: one tensor, or a list where the operator has several. */
export function dispatch(name: string, positional: readonly unknown[], named: Named = noOptions): Tensor | Tensor[] {
  try {
    if (named['out'] === undefined && named['device'] === undefined) return callOperator({ name, positional, named });
    const { out, device, ...rest } = named;
    const call = (): Tensor | Tensor[] => callOperator({ name, positional, named: rest });
    const result = device === undefined ? call() : onDevice(deviceFor(name, device), call);
    return out === undefined ? result : writeOut(name, result, out);
  } catch (error) {
    throw located(calledAs(name, error));
  }
}

/** The option of that name, which what makes tensors of no others has. */
function deviceFor(name: string, device: unknown): Device {
  const { parameters } = operatorNamed(name);
  if (parameters.some(isTensorParameter))
    throw unknownOption(
      name,
      'device',
      parameters.map((parameter) => parameter.name),
    );
  return parseDevice(device);
}

function callOperator(given: GivenCall): Tensor | Tensor[] {
  const { recorder } = processState;
  const known =
    recorder?.repeat === undefined || isMapping() || needsGradient(given) ? undefined : recorder.repeat(given);
  return known ?? besideOperands(given.positional, () => callBeside(given));
}

/** Whether a tensor among what was passed has its operators recorded now. */
const needsGradient = ({ positional, named }: GivenCall): boolean =>
  isTracking() &&
  [...positional, ...Object.values(named)].flat().some((value) => isTensor(value) && requiresGrad(value));

function callBeside({ name, positional, named }: GivenCall): Tensor | Tensor[] {
  const call = bindCall(operatorNamed(name), positional, named);
  const isInPlace = call.attrs['inplace'] === true;
  const results = perform(isInPlace && isTracking() ? { ...call, tensors: call.tensors.map(asBefore) } : call);
  if (call.operator.results !== undefined) return [...results];
  return isInPlace ? writeInPlace(call, at(results, 0)) : at(results, 0);
}

/** What a tensor is before it is written to, where its gradient may need that. */
const asBefore = (tensor: Tensor): Tensor => (requiresGrad(tensor) ? copyWithHistory(tensor) : tensor);

/** The `out` option: the result goes into a tensor that is there already. */
function writeOut(name: string, result: Tensor | Tensor[], out: unknown): Tensor {
  if (Array.isArray(result)) throw badArgument(name, 'it has several results, out takes one', 'leave out away');
  if (!isTensor(out)) throw notATensor(`${name}: out`, out);
  write(out, result, { operation: `${name} with out` });
  return out;
}

/** The `inplace` option of functions that have one: the result goes into the first argument. */
function writeInPlace({ operator, tensors }: BoundCall, result: Tensor): Tensor {
  const target = at(tensors, 0);
  write(target, result, { operation: `${operator.name} in place` });
  return target;
}

/** As `dispatch`, as a user gets it: the one element of an operator that answers a question, else tensors. */
export function answer(name: string, positional: readonly unknown[], named: Named = noOptions): unknown {
  const result = dispatch(name, positional, named);
  if (operatorNamed(name).isAnswer !== true || Array.isArray(result)) return result;
  const value = result.item();
  result.dispose();
  return value;
}

/** As `dispatch`, for operators with one result. */
export const dispatchOne = (name: string, positional: readonly unknown[], named: Named = noOptions): Tensor =>
  dispatch(name, positional, named) as Tensor;

/** The in-place form: the result is written into the first argument, which is returned. */
export function dispatchInPlace(name: string, positional: readonly unknown[], named: Named = noOptions): Tensor {
  try {
    const target = positional[0] as Tensor;
    const operands = isTracking()
      ? positional.map((value) => (value === target ? asBefore(target) : value))
      : positional;
    const result = callOperator({ name, positional: operands, named }) as Tensor;
    write(target, result, { operation: `${name}_`, isUniform: operatorNamed(name).isUniform === true });
    // Nobody else has seen it.
    if (result !== target) result.dispose();
    return target;
  } catch (error) {
    throw located(calledAs(name, error));
  }
}
