// Makes a failing program small. In: the program, and a question that says which of some candidates still fail. Out: the
// smallest one found within the time. Candidates are asked about many at once, as they are built together.
//
// Moves, in this order, until none helps: one output alone; stretches of steps replaced by inputs that hold what they made;
// the simpler way to compile; smaller sizes; contiguous inputs with plain contents.
import { isTsInductorError } from '@tsinductor/base';
import { manualSeed } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { bitsOf } from './compare.ts';
import { drawInput } from './draw-input.ts';
import type { FuzzProgram, InputSpec } from './program.ts';
import { Random } from './random.ts';
import { inputTensor, runStep } from './run-program.ts';
import { tidy, withoutSteps } from './tidy-program.ts';

export interface ShrinkOptions {
  /** For each candidate, whether it still fails as the program did. */
  readonly stillFails: (candidates: readonly FuzzProgram[]) => Promise<readonly boolean[]>;
  readonly milliseconds: number;
  /** How many candidates are asked about, and built, at a time. */
  readonly together: number;
  readonly progress?: (text: string) => void;
}

type Move = (program: FuzzProgram) => readonly FuzzProgram[];

export async function shrink(program: FuzzProgram, options: ShrinkOptions): Promise<FuzzProgram> {
  const deadline = performance.now() + options.milliseconds;
  let best = program;
  for (let again = true; again && performance.now() < deadline;) {
    again = false;
    for (const move of moves) {
      const smaller = await firstFailing(move(best), options, deadline);
      if (smaller === undefined) continue;
      best = smaller;
      again = true;
      options.progress?.(`${String(best.steps.length)} steps, ${String(best.inputs.length)} inputs`);
      break;
    }
  }
  return best;
}

async function firstFailing(
  candidates: readonly FuzzProgram[],
  { stillFails, together }: ShrinkOptions,
  deadline: number,
): Promise<FuzzProgram | undefined> {
  for (let start = 0; start < candidates.length && performance.now() < deadline; start += together) {
    const group = candidates.slice(start, start + together);
    const failing = (await stillFails(group)).indexOf(true);
    if (failing !== -1) return group[failing];
  }
  return undefined;
}

const oneOutput: Move = (program) =>
  program.outputs.length < 2 ? [] : program.outputs.map((output) => tidy({ ...program, outputs: [output] }));

const fewerSteps: Move = (program) => {
  const values = valuesOf(program);
  const valueOf = (id: number): InputSpec | undefined => {
    const tensor = values[id];
    return tensor === undefined ? undefined : specOf(tensor);
  };
  const found: FuzzProgram[] = [];
  const { length } = program.steps;
  for (let count = length; count >= 1; count = Math.floor(count / 2)) {
    for (let from = 0; from + count <= length; from += Math.max(1, count >> 1)) {
      const smaller = withoutSteps(program, { from, count }, valueOf);
      if (smaller !== undefined && smaller.steps.length < length) found.push(smaller);
    }
  }
  return found;
};

const simplerBuild: Move = (program) => [
  ...(program.dynamic ? [{ ...program, dynamic: false }] : []),
  ...(program.variant === 'whole' ? [{ ...program, variant: 'forward' as const }] : []),
];

/** Every axis of one size becomes smaller, in all inputs that have it. */
const smallerSizes: Move = (program) => {
  const sizes = [...new Set(program.inputs.flatMap(({ shape }) => shape))].sort((a, b) => b - a);
  return sizes.flatMap((size) =>
    [1, 2, Math.floor(size / 2), size - 1]
      .filter((smaller, position, all) => smaller >= 1 && smaller < size && all.indexOf(smaller) === position)
      .map((smaller) => ({
        ...program,
        inputs: program.inputs.map((input) =>
          resized(
            input,
            input.shape.map((each) => (each === size ? smaller : each)),
          ),
        ),
      })),
  );
};

const plainInputs: Move = (program) =>
  program.inputs.flatMap((input, position) => {
    const tensor = inputTensor(input);
    const contiguous = tensor.isContiguous() && input.offset === 0;
    const changed = contiguous ? [] : [specOf(tensor)];
    return changed.map((spec) => ({ ...program, inputs: program.inputs.with(position, spec) }));
  });

const moves: readonly Move[] = [oneOutput, fewerSteps, simplerBuild, smallerSizes, plainInputs];

function resized(input: InputSpec, shape: readonly number[]): InputSpec {
  if (shape.join() === input.shape.join()) return input;
  return drawInput(new Random(shape.length), { dtype: input.dtype, contents: input.contents, shape, contiguous: true });
}

/** All values of a program as eager mode leaves them; as many as there are before a step throws. */
function valuesOf({ inputs, steps, seed }: FuzzProgram): readonly Tensor[] {
  const values = inputs.map(inputTensor);
  manualSeed(seed);
  try {
    for (const step of steps) values.push(...runStep(step, values));
  } catch (error) {
    if (!isTsInductorError(error)) throw error;
  }
  return values;
}

export function specOf(tensor: Tensor): InputSpec {
  const plain = tensor.contiguous();
  const bits = bitsOf(plain);
  return {
    dtype: tensor.dtype,
    shape: tensor.shape,
    strides: plain.strides,
    offset: 0,
    data: Buffer.from(bits.buffer, bits.byteOffset, bits.byteLength).toString('base64'),
    contents: { kind: 'normal' },
  };
}
