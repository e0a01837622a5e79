// Programs executed through the user's front door: eagerly on tensors, or recorded as a graph. In: a program and tensors
// for its inputs. Out: its outputs, or the traced graph in primitives with the tensors that its placeholders stand for.
import { at } from '@tsinductor/base';
import { decompose } from '@tsinductor/graph';
import type { Graph, SizeGuard } from '@tsinductor/graph';
import { float, fromBuffer, isTensor, manualSeed } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { dispatch, dispatchInPlace, TraceSession } from '@tsinductor/tensor/internal';
import type { Argument, FuzzProgram, InputSpec, Step } from './program.ts';

/** An input's tensor, in memory of its own: whoever writes to it disturbs nobody. */
export function inputTensor({ dtype, shape, strides, offset, data }: InputSpec): Tensor {
  const bytes = Buffer.from(data, 'base64');
  const buffer = new ArrayBuffer(bytes.length);
  new Uint8Array(buffer).set(bytes);
  return fromBuffer(buffer, { dtype, shape, strides, offset });
}

const nonFinite: Readonly<Record<string, number>> = { NaN, Infinity, '-Infinity': -Infinity, '-0': -0 };

/** What a user would write for an argument. */
export function decode(argument: Argument, values: readonly Tensor[]): unknown {
  if (argument === null || typeof argument !== 'object') return argument;
  if (Array.isArray(argument)) return (argument as readonly Argument[]).map((item) => decode(item, values));
  if ('value' in argument) return values[argument.value];
  if ('float' in argument)
    return float(typeof argument.float === 'number' ? argument.float : (nonFinite[argument.float] ?? NaN));
  if ('bigint' in argument) return BigInt(argument.bigint);
  return argument;
}

/** The tensors that a step makes; an in-place step makes none. */
export function runStep(step: Step, values: readonly Tensor[]): readonly Tensor[] {
  const positional = step.positional.map((argument) => decode(argument, values));
  const named = Object.fromEntries(
    Object.entries(step.named).map(([name, argument]) => [name, decode(argument, values)]),
  );
  if (step.inPlace) {
    dispatchInPlace(step.op, positional, named);
    return [];
  }
  const result = dispatch(step.op, positional, named);
  return (Array.isArray(result) ? result.flat(2) : [result]).filter((item) => isTensor(item));
}

/** All values of a program, in their order. */
function runSteps({ steps }: FuzzProgram, inputs: readonly Tensor[]): readonly Tensor[] {
  const values = [...inputs];
  for (const step of steps) values.push(...runStep(step, values));
  return values;
}

export interface EagerRun {
  readonly outputs: readonly Tensor[];
  /** The inputs, which may have been written to. */
  readonly inputs: readonly Tensor[];
}

/** The outputs as eager mode gives them. */
export function runEagerly(program: FuzzProgram, specs: readonly InputSpec[] = program.inputs): EagerRun {
  const inputs = specs.map(inputTensor);
  manualSeed(program.seed);
  const values = runSteps(program, inputs);
  return { outputs: program.outputs.map((output) => at(values, output)), inputs };
}

export interface TracedProgram {
  /** In primitives; its outputs are the program's, then the new values of mutated inputs. */
  readonly graph: Graph;
  /** The program's input behind each placeholder, or a copy of the tensor that the trace captured. */
  readonly placeholders: readonly (number | Tensor)[];
  readonly guards: readonly SizeGuard[];
}

/** The program as a graph of primitives. */
export function traceProgram(program: FuzzProgram): TracedProgram {
  const inputs = program.inputs.map(inputTensor);
  manualSeed(program.seed);
  const session = new TraceSession();
  const standIns = inputs.map((input) => session.input(input, program.dynamic ? dynamicAxes(input) : []));
  const values = session.run(() => runSteps(program, standIns));
  const traced = session.finish(program.outputs.map((output) => at(values, output)));
  return {
    graph: decompose(traced.graph, session.sizes),
    placeholders: traced.placeholders.map(({ tensor }) => {
      const position = inputs.indexOf(tensor);
      return position === -1 ? tensor.clone() : position;
    }),
    guards: session.sizes.guards(),
  };
}

/** Axes that may become symbolic: of contiguous tensors, sizes of at least 2. */
const dynamicAxes = (tensor: Tensor): { axis: number }[] =>
  tensor.isContiguous() ? tensor.shape.flatMap((size, axis) => (size >= 2 ? [{ axis }] : [])) : [];

/** Tensors for the placeholders of a traced program, each in memory of its own. */
export function placeholderTensors(traced: TracedProgram, specs: readonly InputSpec[]): Tensor[] {
  return traced.placeholders.map((placeholder) =>
    typeof placeholder === 'number' ? inputTensor(at(specs, placeholder)) : placeholder.clone(),
  );
}
