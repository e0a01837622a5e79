// `npm run fuzz -- --grad --graphs N`: gradients of random programs against differences. In: a program over f64. Its outputs,
// weighted, are a number; along a random direction, the derivative of that number by extrapolated central differences must be the
// gradient's product with the direction. Where the differences do not settle, there is a kink or a pole, and nothing is known.
//
// The same programs show that forward and reverse mode agree, and, for a sample, that compiled gradients are those of eager mode
// and that gradients can be differentiated again.
import { at, isFloat } from '@tsinductor/base';
import { operators } from '@tsinductor/graph';
import { compile } from '@tsinductor/compiler';
import { grad, isTensor, jvp, manualSeed, tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { generate, OperatorChoice } from './generate.ts';
import type { FuzzProgram } from './program.ts';
import { Random } from './random.ts';
import { inputTensor, runStep } from './run-program.ts';

export type GradientVerdict =
  | { readonly status: 'passed'; readonly label: string }
  /** There is no derivative here that differences could tell, or nothing to differentiate. */
  | { readonly status: 'open'; readonly label: string; readonly reason: string }
  | { readonly status: 'failed'; readonly label: string; readonly detail: string; readonly program: FuzzProgram };

interface Point {
  readonly program: FuzzProgram;
  /** What is differentiated, in f64; others as they are. */
  readonly inputs: readonly Tensor[];
  readonly floats: readonly number[];
}

/**
 * Their gradients are no derivatives. Of writes that meet in one place the last one holds; the gradient goes to all of them, as in PyTorch,
 * which says it is undefined.
 */
const otherwise: ReadonlySet<string> = new Set([
  // Its gradient is that of logits, and right for logarithms of probabilities alone, as in PyTorch.
  'ctcLoss',
  'detach',
  'indexCopy',
  'indexPut',
  'put',
  'scatter',
  'maxUnpool1d',
  'maxUnpool2d',
  'maxUnpool3d',
]);

const choice = new OperatorChoice([...operators.values()].filter(({ name }) => !otherwise.has(name)));

const mostElements = 4000;

export function checkGradients(options: { seed: number; index: number; isWhole: boolean }): GradientVerdict {
  const { seed, index } = options;
  const label = `seed ${String(seed)}, gradient ${String(index)}`;
  const open = (reason: string): GradientVerdict => ({ status: 'open', label, reason });
  const drawn = generate({ seed, index, choice, maximumSteps: 6 });
  const { program } = drawn;
  if (drawn.broken !== undefined || program.steps.some(writes)) return open('it writes');
  const point = pointOf(program);
  if (point === undefined) return open('it has no inputs of floats, or too many');
  try {
    return judge(point, { ...options, label });
  } catch (error) {
    const { code = '', message = '' } = error as { code?: string; message?: string };
    if (refusals.has(code)) return open(code);
    return { status: 'failed', label, detail: `${code} ${message}`, program };
  }
}

/** In place, or to an argument, as norms write running statistics. */
function writes({ op, inPlace, positional, named }: FuzzProgram['steps'][number]): boolean {
  const { writes: toArguments, parameters = [] } = operators.get(op) ?? {};
  const place = parameters.findIndex(({ name }) => name === 'inplace');
  return inPlace || toArguments !== undefined || positional[place] === true || named['inplace'] === true;
}

/** What a program cannot be asked, or differentiated, for. */
const refusals: ReadonlySet<string> = new Set([
  'NOT_DIFFERENTIABLE',
  'IN_PLACE_LEAF',
  'IN_PLACE_VIEW',
  'GRADIENT_RESULT',
  'DTYPE_MISMATCH',
  'DTYPE_UNSUPPORTED',
]);

function pointOf(program: FuzzProgram): Point | undefined {
  const given = program.inputs.map(inputTensor);
  const inputs = given.map((input) => (isFloat(input.dtype) ? offIntegers(input.to('f64')) : input));
  const floats = inputs.flatMap(({ dtype }, position) => (isFloat(dtype) ? [position] : []));
  const count = floats.reduce((sum, position) => sum + at(inputs, position).numel, 0);
  return floats.length === 0 || count === 0 || count > mostElements ? undefined : { program, inputs, floats };
}

/**
 * Elements beside whole numbers: where a comparison holds at one point alone, as that of a number with 0, differences around it tell
 * of a function that is not the one at that point.
 */
const offIntegers = (input: Tensor): Tensor =>
  input.add(
    tensor(Float64Array.from({ length: input.numel }, (_, k) => 1e-3 * (1.1 + Math.sin(1.7 * k)))).reshape([
      ...input.shape,
    ]),
  );

/** Weights of elements: all different, none zero. */
const weightsFor = ({ shape, numel }: Tensor): Tensor =>
  tensor(Float64Array.from({ length: numel }, (_, k) => Math.cos(1 + 2.3 * k) + 1.5)).reshape([...shape]);

/** All values that the program makes of its float inputs. */
function valuesOf({ program, inputs, floats }: Point, given: readonly Tensor[]): readonly Tensor[] {
  manualSeed(program.seed);
  const values = inputs.map((input, position) => given[floats.indexOf(position)] ?? input);
  for (const step of program.steps) values.push(...runStep(step, values));
  return values.slice(inputs.length);
}

/** Beyond it a step of the differences is less than what rounding makes of a value. */
const largest = 1e12;

const isTooLarge = (value: Tensor): boolean =>
  isTensor(value) && isFloat(value.dtype) && value.numel > 0 && value.abs().gt(largest).any().item();

/** The program as a function of its float inputs to one number. */
function lossOf(point: Point): (...given: readonly Tensor[]) => Tensor {
  return (...given) => {
    const terms = valuesOf(point, given)
      .filter((value) => isTensor(value) && value.dtype === 'f64' && value.numel > 0)
      .map((value) => value.mul(weightsFor(value)).sum());
    const [first, ...rest] = terms;
    if (first === undefined) return tensor(0, { dtype: 'f64' });
    return rest.reduce((sum, term) => sum.add(term), first);
  };
}

const steps = [2 ** -12, 2 ** -13, 2 ** -14] as const;

interface Slope {
  readonly value: number;
  readonly error: number;
}

/** The derivative at 0 by central differences, twice extrapolated; undefined where they do not settle. */
function slopeOf(f: (by: number) => number): Slope | undefined {
  if (isKink(f)) return undefined;
  const [a, b, c] = steps.map((step) => (f(step) - f(-step)) / (2 * step)) as [number, number, number];
  const [first, second] = [(4 * b - a) / 3, (4 * c - b) / 3];
  const value = (16 * second - first) / 15;
  if (![a, b, c].every(Number.isFinite)) return undefined;
  const size = Math.max(Math.abs(f(0)), Math.abs(f(steps[0])), 1e-3);
  const error = 4 * Math.abs(second - first) + (256 * Number.EPSILON * size) / steps[2];
  return error > 1e-5 * (1 + Math.abs(value)) + 1e-6 * size ? undefined : { value, error };
}

/** Whether the slopes of the two sides differ: central differences settle at a kink, too, but on neither. */
function isKink(f: (by: number) => number): boolean {
  const [step, half] = [steps[1], steps[2]];
  const sided = (sign: number): number => {
    const [coarse, fine] = [(f(sign * step) - f(0)) / (sign * step), (f(sign * half) - f(0)) / (sign * half)];
    return 2 * fine - coarse;
  };
  const [left, right] = [sided(-1), sided(1)];
  return !(Math.abs(left - right) <= 1e-4 * (1 + Math.abs(left) + Math.abs(right)));
}

const dot = (a: readonly Tensor[], b: readonly Tensor[]): number =>
  a.reduce((sum, tensor, position) => sum + Number(tensor.mul(at(b, position)).sum().item()), 0);

interface Judging {
  readonly seed: number;
  readonly index: number;
  readonly label: string;
  readonly isWhole: boolean;
}

function judge(point: Point, { seed, index, label, isWhole }: Judging): GradientVerdict {
  const { program } = point;
  const loss = lossOf(point);
  const at0 = point.floats.map((position) => at(point.inputs, position));
  const random = new Random(seed, index + 1_000_000);
  const along = at0.map((input) =>
    tensor(Float64Array.from({ length: input.numel }, () => random.real() * 2 - 1)).reshape([...input.shape]),
  );
  const moved = (by: number): readonly Tensor[] => at0.map((input, k) => input.add(at(along, k).mul(by)));
  const valueAt = (by: number): number => Number(loss(...moved(by)).item());
  const failed = (detail: string): GradientVerdict => ({ status: 'failed', label, detail, program });
  const open = (reason: string): GradientVerdict => ({ status: 'open', label, reason });

  if (valuesOf(point, at0).some(isTooLarge)) return open('its values are too large');
  const slope = slopeOf(valueAt);
  if (slope === undefined) return open('the differences do not settle');
  const argnums = at0.map((_, position) => position);
  const gradient = grad(loss, { argnums });
  const found = dot(gradient(...at0), along);
  if (!Number.isFinite(found)) return open('the gradient is not finite');
  if (!isNear(found, slope)) return failed(`gradient ${String(found)}, differences ${String(slope.value)}`);

  const [, forward] = jvp(loss, at0, along as never);
  const pushed = Number(forward.item());
  if (!isNear(pushed, { value: found, error: 1e-9 * (1 + Math.abs(found)) }))
    return failed(`forward mode gives ${String(pushed)}, reverse mode ${String(found)}`);
  if (!isWhole) return { status: 'passed', label };

  const compiled = dot(compile(gradient)(...at0), along);
  if (!isNear(compiled, { value: found, error: 1e-8 * (1 + Math.abs(found)) }))
    return failed(`compiled ${String(compiled)}, eager ${String(found)}`);

  const slopeAt = (...given: readonly Tensor[]): Tensor =>
    (gradient(...given) as readonly Tensor[])
      .map((part, k) => part.mul(at(along, k)).sum())
      .reduce((sum, term) => sum.add(term));
  const curvature = slopeOf((by) => Number(slopeAt(...moved(by)).item()));
  if (curvature === undefined) return { status: 'passed', label };
  const second = dot(grad(slopeAt, { argnums })(...at0), along);
  if (!isNear(second, curvature))
    return failed(`second derivative ${String(second)}, differences ${String(curvature.value)}`);
  return { status: 'passed', label };
}

const isNear = (found: number, { value, error }: Slope): boolean =>
  Math.abs(found - value) <= error + 1e-6 * (1 + Math.abs(value));

/** Checks programs one after the other; every tenth in every way. */
export function fuzzGradients(options: {
  readonly programs: number;
  readonly seed: number;
  readonly first: number;
  readonly progress: (text: string) => void;
}): readonly GradientVerdict[] {
  const verdicts: GradientVerdict[] = [];
  for (let k = 0; k < options.programs; k += 1) {
    const index = options.first + k;
    const verdict = checkGradients({ seed: options.seed, index, isWhole: k % 10 === 0 });
    verdicts.push(verdict);
    if (verdict.status === 'failed') options.progress(`${verdict.label}: ${verdict.detail}`);
    if (k % 100 === 99) options.progress(`${String(k + 1)} of ${String(options.programs)} gradients`);
  }
  return verdicts;
}
