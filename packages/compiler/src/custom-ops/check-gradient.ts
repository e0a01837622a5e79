// The gradient of a custom op against finite differences, in f64. In: a call. Out: whether every derivative that `gradient`
// gives is the one that `eager` shows: of a weighted sum of all results, by central differences of two steps, extrapolated
// (Richardson), whose error is of the fourth order in the step.
import { at, isFloat } from '@tsinductor/base';
import { tensor as makeTensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { mutatedPositions, namedArguments } from '@tsinductor/tensor/internal';
import { describeTensor } from './checked-call.ts';
import type { CheckedCall } from './checked-call.ts';
import type { CheckVerdict } from './check-report.ts';

type Outcome = Pick<CheckVerdict, 'outcome' | 'detail'>;

const step = 1e-3;
const tolerance = 1e-5;
/** Of each tensor; they are spread over it evenly. */
const maximumElements = 32;

const skipped = (detail: string): Outcome => ({ outcome: 'skipped', detail });
const failed = (detail: string): Outcome => ({ outcome: 'failed', detail });

export function checkGradient(checked: CheckedCall): Outcome {
  const { code, call, apply } = checked;
  const { gradient } = code.definition;
  if (gradient === undefined) return skipped('the op has no gradient');
  if (mutatedPositions(code, call).length > 0) return skipped('the op writes to its arguments');
  const inputs = call.tensors.map((tensor) => (isFloat(tensor.dtype) ? tensor.to('f64') : tensor.clone()));
  const outputs = apply(inputs);
  const weak = outputs.find(({ dtype }) => isFloat(dtype) && dtype !== 'f64');
  if (weak !== undefined) return skipped(`with f64 arguments it gives ${weak.dtype}, in which differences are lost`);
  const grads = outputs.map(weightsOf);
  const named = namedArguments(call, ({ node }) => at(inputs, node));
  const given: unknown = gradient.call(code.definition, named as never, { outputs, grads } as never);
  if (typeof given !== 'object' || given === null) return failed('gradient gave no object of tensors by parameter');
  const problem = compareAll(checked, { inputs, grads, named, given: given as Readonly<Record<string, unknown>> });
  if (problem !== undefined) return failed(problem);
  const names = Object.entries(given).flatMap(([name, value]) => (value === null || value === undefined ? [] : [name]));
  return {
    outcome: 'passed',
    detail: `of ${names.join(', ')}, within ${String(tolerance)} of finite differences in f64`,
  };
}

interface Differentiated {
  readonly inputs: readonly Tensor[];
  readonly grads: readonly Tensor[];
  /** Arguments by parameter. */
  readonly named: Readonly<Record<string, unknown>>;
  /** Derivatives by parameter. */
  readonly given: Readonly<Record<string, unknown>>;
}

function compareAll({ code, apply }: CheckedCall, { inputs, grads, named, given }: Differentiated): string | undefined {
  const stranger = Object.keys(given).find((name) =>
    code.schema.parameters.every((parameter) => parameter.name !== name),
  );
  if (stranger !== undefined) return `gradient gave a derivative of ${stranger}, which is no parameter`;
  const loss = (tensors: readonly Tensor[]): number => {
    const results = apply(tensors);
    return results.reduce((sum, result, position) => sum + dot(result, at(grads, position)), 0);
  };
  for (const { name, type } of code.schema.parameters) {
    const input = inputs.indexOf(named[name] as Tensor);
    if (type !== 'tensor' || input === -1 || !isFloat(at(inputs, input).dtype)) continue;
    // Null says that there is none; leaving it out says nothing, and is right where the result does not depend on it.
    if (given[name] === null) continue;
    const problem = compareOne(name, given[name], { inputs, input, loss });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

interface Varied {
  readonly inputs: readonly Tensor[];
  readonly input: number;
  readonly loss: (tensors: readonly Tensor[]) => number;
}

function compareOne(name: string, derivative: unknown, { inputs, input, loss }: Varied): string | undefined {
  const tensor = at(inputs, input);
  const analytic = derivative as Tensor | undefined;
  if (analytic !== undefined && describeTensor(analytic) !== describeTensor(tensor))
    return `the derivative of ${name} is ${describeTensor(analytic)}, and ${name} is ${describeTensor(tensor)}`;
  const slopes = analytic?.toTypedArray();
  const values = tensor.toTypedArray() as Float64Array;
  const stride = Math.max(1, Math.ceil(values.length / maximumElements));
  for (let index = 0; index < values.length; index += stride) {
    const moved = (by: number): number => {
      const shifted = Float64Array.from(values, (value, position) => (position === index ? value + by : value));
      const other = makeTensor(shifted, { shape: tensor.shape });
      return loss(inputs.map((each, position) => (position === input ? other : each.clone())));
    };
    const numeric = derivativeOf(moved, step * Math.max(1, Math.abs(values[index] ?? 0)));
    const found = Number(slopes?.[index] ?? 0);
    if (Math.abs(found - numeric) <= tolerance * Math.max(1, Math.abs(numeric))) continue;
    const place = `${name} at element ${String(index)}`;
    if (slopes === undefined)
      return `gradient leaves out ${place}, where finite differences give ${numeric.toPrecision(6)}`;
    return `the derivative of ${place} is ${found.toPrecision(6)}, and finite differences give ${numeric.toPrecision(6)}`;
  }
  return undefined;
}

function derivativeOf(moved: (by: number) => number, width: number): number {
  const central = (by: number): number => (moved(by) - moved(-by)) / (2 * by);
  return (4 * central(width / 2) - central(width)) / 3;
}

/** What each element counts for in the sum: nothing that a symmetry of the op could cancel. */
function weightsOf(output: Tensor): Tensor {
  const weights = Float64Array.from({ length: output.numel }, (_, index) => 1 + 0.5 * Math.sin(1.7 * index + 0.3));
  return makeTensor(weights, { shape: output.shape });
}

function dot(result: Tensor, weights: Tensor): number {
  if (!isFloat(result.dtype)) return 0;
  const [values, factors] = [result.toTypedArray() as Float64Array, weights.toTypedArray() as Float64Array];
  return values.reduce((sum, value, index) => sum + value * (factors[index] ?? 0), 0);
}
