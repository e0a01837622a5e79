// Compiles a saved graph again, runs it on inputs of its own making, and compares with the interpreter. In: the text of a file that
// `trace.enabled` or `saveArgs` left. Out: what was compiled, what a call takes, and how far results are apart.
import { resolveConfig } from '@tsinductor/config';
import { manualSeed, rand, zeros } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import type { Voice } from './build/announcer.ts';
import { readSavedGraph } from './build/saved-graph.ts';
import type { SavedGraph, SavedInput } from './build/saved-graph.ts';
import type { Executable } from './run/executable.ts';
import { interpretedExecutable } from './run/loop-executable.ts';
import { Session } from './session.ts';

/** What became of a graph that was compiled again. */
interface Replay {
  readonly name: string;
  readonly report: Executable['report'];
  /** Of one call, when everything was there. */
  readonly milliseconds: number;
  /** For each result how far it is from the interpreter's, at most; 0 where they are the same. */
  readonly differences: readonly number[];
}

/**
 * Runs the graph of a file once more.
 *
 * @throws UserError SAVED_GRAPH for what is no such file; and what compiling or running the graph throws
 */
export function replayGraph(text: string, voice: Voice): Replay {
  const saved = readSavedGraph(text);
  const program = { ...saved.config, 'trace.enabled': false, saveArgs: false };
  using session = new Session(resolveConfig({ env: {}, program }), voice);
  const { graph, primitives, name, placement } = saved;
  const request = { name, backend: 'inductor', examples: inputsOf(saved), placement } as const;
  const executable = session.prepare({ graph, primitives }, request);
  const results = executable.run(inputsOf(saved));
  const expected = interpretedExecutable({ graph, primitives }, { runsOn: 'the interpreter', placement }).run(
    inputsOf(saved),
  );
  const inputs = inputsOf(saved);
  const started = performance.now();
  executable.run(inputs);
  return {
    name,
    report: executable.report,
    milliseconds: performance.now() - started,
    differences: results.map((result, position) => largestDifference(result, expected[position])),
  };
}

/** Inputs that are the same each time: numbers between 0 and 1, and zeros where they are whole, which are indices as a rule. */
export function inputsOf({ inputs, placement }: SavedGraph): readonly Tensor[] {
  manualSeed(0);
  return inputs.map((input) => madeAs(input).to(placement.device));
}

function madeAs({ dtype, shape, strides }: SavedInput): Tensor {
  const elements = shape.reduce((reach, size, axis) => reach + (size - 1) * (strides[axis] ?? 0), 1);
  const count = shape.includes(0) ? 0 : elements;
  const isFloat = dtype.startsWith('f') || dtype === 'bf16';
  const flat = isFloat ? rand([count]).to(dtype) : zeros([count], { dtype });
  return flat.asStrided([...shape], [...strides]);
}

function largestDifference(result: Tensor, expected: Tensor | undefined): number {
  if (expected === undefined || result.numel === 0) return 0;
  const [left, right] = [result, expected].map((tensor) => tensor.cpu().to('f64').flatten().toArray() as number[]);
  return Math.max(...(left ?? []).map((value, index) => distance(value, right?.[index] ?? NaN)));
}

const distance = (left: number, right: number): number =>
  Object.is(left, right) || left === right || (Number.isNaN(left) && Number.isNaN(right)) ? 0 : Math.abs(left - right);
