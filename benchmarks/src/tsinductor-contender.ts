// Our own contender: each operation of the suites as a user would write it, compiled.
import { at } from '@tsinductor/base';
import { openDevices } from '@tsinductor/compiler';
import { printDecision } from '@tsinductor/ir';
import { compile, tensor } from 'tsinductor';
import type { CompileOptions, Explanation, Tensor } from 'tsinductor';
import { importWorkloads } from './file-workloads.ts';
import { memoryBoundOperations } from './memory-bound-operations.ts';
import { paddingOperations } from './padding-operations.ts';
import type { Params, PrepareRequest } from './protocol.ts';
import { inputsOf, serve } from './serve.ts';
import type { Runnable } from './serve.ts';

/** `cpu` or `cuda`: where inputs are put, and so where the function runs. */
const device = process.argv[2] === 'cuda' ? 'cuda' : 'cpu';
/** Whether results are disposed before the next call; users mostly drop them. */
const isDisposing = process.argv[3] === 'disposed';
/** Calls on a device return before it is done: a call that is measured is over when it returns. */
const wait = device === 'cuda' ? openSynchronized() : () => undefined;

function openSynchronized(): () => void {
  const { cuda } = openDevices().open('cuda:0');
  return () => {
    cuda.synchronize();
  };
}

type TensorFunction = (...inputs: Tensor[]) => Tensor | Tensor[];
interface Operation {
  readonly shapes: readonly (readonly number[])[];
  readonly fn: TensorFunction;
  /** The inputs that `fn` gets, from those of the protocol. */
  readonly convert?: (inputs: readonly Tensor[]) => readonly Tensor[];
  readonly options?: CompileOptions;
}

const value = (params: Params, name: string): number => params[name] ?? 0;
const matrix = (params: Params): readonly number[] => [value(params, 'rows'), value(params, 'columns')];

/** The inputs of a workload by position. It names those that it declares; behind them stands the first one. */
type Named = (inputs: readonly [Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]) => Tensor | Tensor[];
const named =
  (fn: Named): TensorFunction =>
  (...inputs) => {
    const input = (position: number): Tensor => inputs[position] ?? at(inputs, 0);
    return fn([input(0), input(1), input(2), input(3), input(4), input(5)]);
  };

const operations: Readonly<Record<string, (params: Params) => Operation>> = {
  add: ({ n = 0 }) => ({ shapes: [[n], [n]], fn: named(([x, z]) => x.add(z)) }),
  sumOfAll: ({ n = 0, count = 0 }) => ({
    shapes: Array.from({ length: count }, () => [n]),
    fn: (...inputs) => inputs.slice(1).reduce((sum, other) => sum.add(other), at(inputs, 0)),
  }),
  multiples: ({ n = 0, count = 0 }) => ({
    shapes: [[n]],
    fn: named(([x]) => Array.from({ length: count }, (_, position) => x.mul(position + 2))),
  }),
  geluSigmoid: ({ n = 0 }) => ({
    shapes: [[n], [n]],
    fn: named(([x, z]) => x.mul(1.25).add(0.5).gelu().mul(z.sigmoid())),
  }),
  softmax: (params) => ({ shapes: [matrix(params)], fn: named(([x]) => x.softmax(-1)) }),
  layerNorm: (params) => {
    const columns = value(params, 'columns');
    return {
      shapes: [matrix(params), [columns], [columns]],
      fn: named(([x, gamma, beta]) => x.layerNorm([columns], gamma, beta)),
    };
  },
  sumRows: (params) => ({ shapes: [matrix(params)], fn: named(([x]) => x.sum(1)) }),
  sumColumns: (params) => ({ shapes: [matrix(params)], fn: named(([x]) => x.sum(0)) }),
  transposeAdd: ({ side = 0 }) => ({
    shapes: [
      [side, side],
      [side, side],
    ],
    fn: named(([a, b]) => a.t().add(b)),
  }),
  matmul: ({ m = 0, k = 0, n = 0 }) => ({
    shapes: [
      [m, k],
      [k, n],
    ],
    fn: named(([a, b]) => a.matmul(b)),
  }),
  trainStep,
};

function trainStep({ batch = 0, inner = 0, hidden = 0, classes = 0, rate = 0 }: Params): Operation {
  return {
    shapes: [[batch, inner], [batch, classes], [inner, hidden], [hidden], [hidden, classes], [classes]],
    fn: named(([x, targets, w1, b1, w2, b2]) => {
      const activation = x.matmul(w1).add(b1).relu();
      const probabilities = activation.matmul(w2).add(b2).softmax(-1);
      const gradient = probabilities.mul(targets.sum(-1, true)).sub(targets).div(batch);
      const backward = gradient.matmul(w2.t()).mul(activation.gt(0));
      return [
        w1.sub(x.t().matmul(backward).mul(rate)),
        b1.sub(backward.sum(0).mul(rate)),
        w2.sub(activation.t().matmul(gradient).mul(rate)),
        b2.sub(gradient.sum(0).mul(rate)),
      ];
    }),
  };
}

type Graph = Explanation['graphs'][number];

/** What was decided about the rows of values that kernels pass on, and what that makes a call move and take. */
function layoutNotes({ decisions, kernels, workspaceBytes = 0 }: Graph): readonly string[] {
  const padding = decisions.filter(({ kind }) => kind === 'padded').map(printDecision);
  const decided = padding.length === 0 ? ['no rows are padded'] : padding;
  const moved = kernels.reduce((sum, { bytes = 0 }) => sum + bytes, 0);
  return [
    ...decided,
    `${megabytes(moved)} moved by ${String(kernels.length)} kernels, ${megabytes(workspaceBytes)} of workspace`,
  ];
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

/** Says so where a result does not lie as eager mode would lay it out. */
function stridesNote(results: readonly Tensor[]): readonly string[] {
  const other = results.filter((result) => !result.isContiguous());
  return other.map(({ shape, strides }) => `a result of [${shape.join(', ')}] has strides [${strides.join(', ')}]`);
}

const asList = (result: Tensor | Tensor[]): readonly Tensor[] => (Array.isArray(result) ? result : [result]);

/**
 * Compiles, calls once, and hands out a call whose results take the place of those of the call before it. Inputs are made after `compile`, as in
 * a program that compiles its functions where it defines them.
 */
function runnable({ fn, options }: Pick<Operation, 'fn' | 'options'>, given: () => readonly Tensor[]): Runnable {
  const compiled = compile(fn, options);
  const inputs = given().map((input) => input.to(device));
  const begin = performance.now();
  let results = asList(compiled(...inputs));
  wait();
  const compileMs = performance.now() - begin;
  const { graphs } = compiled.explain();
  return {
    compileMs,
    kernels: graphs.reduce((sum, { kernels }) => sum + kernels.length, 0),
    notes: (options === undefined ? [] : graphs.flatMap(layoutNotes)).concat(stridesNote(results)),
    outputs: results.length,
    run: () => {
      if (isDisposing) for (const result of results) result.dispose();
      results = asList(compiled(...inputs));
      wait();
    },
    output: async (index) => (await results[index]?.data()) ?? [],
  };
}

function operationOf({ op, params }: PrepareRequest): Operation | undefined {
  const row = memoryBoundOperations[op]?.(params) ?? paddingOperations[op]?.(params);
  return row === undefined ? operations[op]?.(params) : { ...row, fn: named(row.fn) };
}

function prepareOperation(request: PrepareRequest): Runnable | undefined {
  const operation = operationOf(request);
  if (operation === undefined) return undefined;
  return runnable(operation, () => {
    const inputs = inputsOf(request).map((values, i) => tensor(values).reshape([...(operation.shapes[i] ?? [])]));
    return operation.convert?.(inputs) ?? inputs;
  });
}

// Eager execution is exact but slow: above this many elements only the compiled result's shape would be worth the wait.
const comparableElements = 1 << 21;

async function prepareFile(file: string, index: number): Promise<Runnable | undefined> {
  const workload = (await importWorkloads(file))[index];
  if (workload === undefined) return undefined;
  const inputs = workload.inputs();
  const ready = runnable(workload, () => inputs);
  const elements = inputs.reduce((sum, input) => sum + input.numel, 0);
  const expected = elements > comparableElements ? [] : asList(workload.fn(...inputs));
  const disagreement = await firstDifference(expected, ready);
  const outputs = asList(compile(workload.fn)(...inputs));
  return {
    ...ready,
    inputBytes: bytesOf(inputs),
    outputBytes: bytesOf(outputs),
    ...(disagreement === undefined ? {} : { disagreement }),
  };
}

const bytesOf = (tensors: readonly Tensor[]): number =>
  tensors.reduce((sum, item) => sum + item.toTypedArray().byteLength, 0);

async function firstDifference(expected: readonly Tensor[], { output }: Runnable): Promise<string | undefined> {
  for (const [number, tensorValue] of expected.entries()) {
    const wanted = Array.from(await tensorValue.data(), Number);
    const got = Array.from(await output(number), Number);
    const scale = wanted.reduce((largest, item) => Math.max(largest, Math.abs(item)), 0);
    const wrong = wanted.findIndex(
      (want, i) => !(Math.abs((got[i] ?? Number.NaN) - want) <= 1e-4 * scale) && !Object.is(got[i], want),
    );
    if (wrong >= 0)
      return `output ${String(number)}[${String(wrong)}] is ${String(got[wrong])}, not ${String(wanted[wrong])}`;
  }
  return undefined;
}

await serve({
  version: () => 'workspace',
  prepare: (request) =>
    request.file === undefined ? prepareOperation(request) : prepareFile(request.file, request.index ?? 0),
});
