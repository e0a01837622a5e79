// Our own contender: each operation of the suites as a user would write it, compiled.
import { openDevices } from '@tsinductor/compiler';
import { printDecision } from '@tsinductor/ir';
import { compile, setConfig } from 'tsinductor';
import type { Explanation, Tensor } from 'tsinductor';
import { importWorkloads } from './file-workloads.ts';
import { asList, operationOf, tensorsOf } from './our-operations.ts';
import type { Operation } from './our-operations.ts';
import type { PrepareRequest } from './protocol.ts';
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

function prepareOperation(request: PrepareRequest): Runnable | undefined {
  const operation = operationOf(request);
  if (operation === undefined) return undefined;
  return runnable(operation, () => tensorsOf(operation, inputsOf(request)));
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
  prepare: (request) => {
    setConfig({ cpp: { threads: request.threads } });
    return request.file === undefined ? prepareOperation(request) : prepareFile(request.file, request.index ?? 0);
  },
});
