// `npm run fuzz -- --vmap --graphs N`: random programs under vmap against a loop. In: a program; some of its inputs are mapped along
// some axis, and each of their samples has the input's own elements in another order. Outputs, and what is written to mapped
// inputs, must be those of the loop, eagerly for all programs, and compiled for every twentieth that has no halves, which compiled
// code rounds less often.
import { at, isFloat, isTsInductorError } from '@tsinductor/base';
import { compile } from '@tsinductor/compiler';
import { manualSeed, stack, vmap } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { metaDifference, numbersOf } from './compare.ts';
import { generate, OperatorChoice } from './generate.ts';
import type { FuzzProgram } from './program.ts';
import { Random } from './random.ts';
import { inputTensor, runStep } from './run-program.ts';

export type VmapVerdict =
  | { readonly status: 'passed'; readonly label: string }
  /** The program, or vmap on purpose, refuses. */
  | { readonly status: 'open'; readonly label: string; readonly reason: string }
  | { readonly status: 'failed'; readonly label: string; readonly detail: string; readonly program: FuzzProgram };

/** An input, its samples, and along which axis they are mapped. */
interface Mapping {
  readonly axis: number | null;
  readonly samples: readonly Tensor[];
}

const choice = new OperatorChoice();

/** What vmap refuses: values that decide, and writes to what all samples share. */
const refusals: ReadonlySet<string> = new Set(['VMAP_VALUE', 'VMAP_IN_PLACE']);

export function checkVmap({
  seed,
  index,
  isCompiled,
}: {
  seed: number;
  index: number;
  isCompiled: boolean;
}): VmapVerdict {
  const label = `seed ${String(seed)}, vmap ${String(index)}`;
  const drawn = generate({ seed, index, choice, maximumSteps: 8 });
  const { program } = drawn;
  const open = (reason: string): VmapVerdict => ({ status: 'open', label, reason });
  if (drawn.broken !== undefined) return open('it is broken');
  const mappings = mappingsOf(program, new Random(seed, index + 2_000_000));
  if (mappings.every(({ axis }) => axis === null)) return open('it has no inputs');
  const loop = refusing(() => looped(program, mappings));
  if (typeof loop === 'string') return open(loop);
  const failed = (detail: string): VmapVerdict => ({ status: 'failed', label, detail, program });
  const hasHalves = program.inputs.some(({ dtype }) => dtype === 'f16' || dtype === 'bf16');
  for (const how of isCompiled && !hasHalves ? (['eager', 'compiled'] as const) : (['eager'] as const)) {
    try {
      const why = differenceFrom(loop, mapped(functionOf(program), mappings, how === 'compiled'));
      if (why !== undefined) return failed(`${how}: ${why}`);
    } catch (error) {
      const { code = '', stack: text = '' } = error as { code?: string; stack?: string };
      if (refusals.has(code)) return open(code);
      return failed(`${how}: ${code} ${text}`);
    }
  }
  return { status: 'passed', label };
}

function mappingsOf({ inputs, steps }: FuzzProgram, random: Random): readonly Mapping[] {
  const isWritten = steps.some(({ inPlace, named }) => inPlace || named['inplace'] === true);
  const count = random.between(1, 3);
  const whole = random.below(Math.max(inputs.length, 1));
  return inputs.map((spec, position) => {
    const input = inputTensor(spec);
    const isMapped = position === whole || random.chance(0.6);
    // What a write through a reshape reaches is decided by where the elements lie: along axis 0 samples lie as tensors do.
    const axis = isMapped ? (isWritten ? 0 : random.between(-input.ndim - 1, input.ndim)) : null;
    const samples = Array.from({ length: count }, (_, number) =>
      isMapped && number > 0 ? rearranged(input, number) : input.clone(),
    );
    return { axis, samples };
  });
}

/** The elements in another order; what holds of each alone, as of an index, goes on to hold. */
function rearranged(input: Tensor, number: number): Tensor {
  const flat = input.reshape([-1]);
  return (number === 1 ? flat.flip(0) : flat.roll([1], [0])).reshape([...input.shape]).clone();
}

type Work = (...inputs: readonly Tensor[]) => readonly Tensor[];

const functionOf =
  (program: FuzzProgram): Work =>
  (...inputs) => {
    manualSeed(program.seed);
    const values = [...inputs];
    for (const step of program.steps) values.push(...runStep(step, values));
    return program.outputs.map((output) => at(values, output));
  };

interface Outcome {
  readonly outputs: readonly Tensor[];
  /** Mapped inputs, which may have been written to. */
  readonly inputs: readonly Tensor[];
}

function looped(program: FuzzProgram, mappings: readonly Mapping[]): Outcome {
  const work = functionOf(program);
  const rounds = at(mappings, 0).samples.map((_, number) => {
    // What all samples share is written to once, by the same values for all.
    const inputs = mappings.map(({ axis, samples }) => at(samples, axis === null ? 0 : number).clone());
    return { outputs: work(...inputs).map((output) => output.clone()), inputs };
  });
  const joined = (pick: (round: Outcome) => readonly Tensor[]): readonly Tensor[] =>
    pick(at(rounds, 0)).map((_, position) =>
      stack(
        rounds.map((round) => at(pick(round), position)),
        0,
      ),
    );
  const written = joined(({ inputs }) => inputs).filter((_, position) => at(mappings, position).axis !== null);
  return { outputs: joined(({ outputs }) => outputs), inputs: written };
}

function mapped(work: Work, mappings: readonly Mapping[], isCompiled: boolean): Outcome {
  const axes = mappings.map(({ axis }) => axis);
  const given = mappings.map(({ axis, samples }) => (axis === null ? at(samples, 0).clone() : stack(samples, axis)));
  const mappedWork = vmap(work, { inAxes: axes, randomness: 'same' });
  const outputs = (isCompiled ? compile(mappedWork) : mappedWork)(...given);
  const inputs = given.flatMap((tensor, position) => {
    const axis = at(axes, position);
    return axis === null ? [] : [tensor.movedim(axis, 0)];
  });
  return { outputs, inputs };
}

function differenceFrom(loop: Outcome, found: Outcome): string | undefined {
  return (
    firstDifference('output', found.outputs, loop.outputs) ?? firstDifference('mapped input', found.inputs, loop.inputs)
  );
}

function firstDifference(what: string, found: readonly Tensor[], wanted: readonly Tensor[]): string | undefined {
  for (const [position, expected] of wanted.entries()) {
    const actual = at(found, position);
    const why = metaDifference(actual, expected) ?? valueDifference(actual, expected);
    if (why !== undefined) return `${what} ${String(position)}: ${why}`;
  }
  return undefined;
}

/** Sums of a batch may be in another order than those of one sample. */
const tolerances: Readonly<Record<string, number>> = { f64: 1e-12, f32: 1e-5, f16: 1e-2, bf16: 5e-2 };

function valueDifference(actual: Tensor, expected: Tensor): string | undefined {
  const tolerance = isFloat(expected.dtype) ? (tolerances[expected.dtype] ?? 0) : 0;
  const [left, right] = [numbersOf(actual), numbersOf(expected)];
  for (const [k, wanted] of right.entries()) {
    const value = at(left, k);
    if (Object.is(value, wanted) || value === wanted) continue;
    if (Number.isFinite(wanted) && Math.abs(value - wanted) <= tolerance * Math.max(1, Math.abs(wanted))) continue;
    return `element ${String(k)} is ${String(value)}, expected ${String(wanted)}`;
  }
  return undefined;
}

/** What `work` gives, or the code of the error by which it refuses. */
function refusing<T>(work: () => T): T | string {
  try {
    return work();
  } catch (error) {
    if (isTsInductorError(error) && error.name === 'UserError') return error.code;
    throw error;
  }
}

/** Checks programs one after the other; every twentieth compiled as well. */
export function fuzzVmap(options: {
  readonly programs: number;
  readonly seed: number;
  readonly first: number;
  readonly progress: (text: string) => void;
}): readonly VmapVerdict[] {
  const verdicts: VmapVerdict[] = [];
  for (let k = 0; k < options.programs; k += 1) {
    const index = options.first + k;
    const verdict = checkVmap({ seed: options.seed, index, isCompiled: k % 20 === 0 });
    verdicts.push(verdict);
    if (verdict.status === 'failed') options.progress(`${verdict.label}: ${verdict.detail}`);
    if (k % 100 === 99) options.progress(`${String(k + 1)} of ${String(options.programs)} programs`);
  }
  return verdicts;
}
