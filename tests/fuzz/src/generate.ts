// Random programs. In: a seed and a number. Out: the same program in every process: 1 to 40 calls over the whole operator
// table, pointwise ones about half of them, each on values that were made lately, so that long chains and diamonds occur.
//
// Programs are executed eagerly as they are drawn. So every call is one that eager mode accepts, indices are in range, and
// a call whose result is mostly NaN can be dropped, as nothing that follows it would be tested.
import { at, get, isTsInductorError } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { operators } from '@tsinductor/graph';
import type { Operator } from '@tsinductor/graph';
import { manualSeed } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { drawCall } from './draw-call.ts';
import type { Candidate, DrawnCall } from './draw-call.ts';
import { drawContents, drawInput } from './draw-input.ts';
import type { Wanted } from './draw-input.ts';
import { readsOf, renumberStep } from './program.ts';
import type { FuzzProgram, InputSpec, Step } from './program.ts';
import { Random } from './random.ts';
import { inputTensor, runStep } from './run-program.ts';

/** Sizes that vector loops, their tails and tiles care about. */
const sizeChoices: readonly (readonly [weight: number, size: number])[] = [
  [3, 0], [8, 1], [12, 2], [12, 3], [10, 4], [8, 5], [6, 7], [8, 8], [4, 9], [4, 15], [6, 16], [4, 17], [3, 31],
  [3, 32], [4, 33], [2, 64], [3, 65], [1, 130],
]; // prettier-ignore

const dtypeChoices: readonly (readonly [weight: number, dtype: DType])[] = [
  [40, 'f32'], [14, 'f64'], [10, 'f16'], [10, 'bf16'], [10, 'i64'], [6, 'i32'], [4, 'i16'], [4, 'i8'], [4, 'u8'], [6, 'bool'],
]; // prettier-ignore

/** Whether users can call it; overloads are called by the name of their operator. */
const isPublic = ({ forms, inPlace, torch }: Operator): boolean =>
  forms.length > 0 || (inPlace === true && torch.length > 0);

/** Calls that a program begins with where it has indices of which there are none. */
const mostAroundIndices = 5;

/** Whether tensors of positions are among its arguments. */
const takesIndices = ({ parameters }: Operator): boolean =>
  parameters.some(({ name, type }) => type === 'indices' || (type === 'tensor' && /^(index|indices)$/.test(name)));

const isElementwise = ({ kind, decompose }: Operator): boolean => kind === 'pointwise' && decompose === undefined;

export class OperatorChoice {
  readonly #pointwise: readonly Operator[];
  readonly #views: readonly Operator[];
  readonly #rest: readonly Operator[];
  readonly #indexing: readonly Operator[];

  constructor(named: readonly Operator[] = [...operators.values()]) {
    const all = named.filter(isPublic);
    this.#pointwise = all.filter(isElementwise);
    this.#views = all.filter(({ kind }) => kind === 'view');
    this.#rest = all.filter((operator) => !isElementwise(operator) && operator.kind !== 'view');
    this.#indexing = all.filter(takesIndices);
  }

  /** One that takes positions, if there is any. */
  drawIndexing(random: Random): Operator | undefined {
    return this.#indexing.length === 0 ? undefined : random.pick(this.#indexing);
  }

  draw(random: Random): Operator {
    return random.pick(
      random.weighted([
        [this.#pointwise.length > 0 ? 50 : 0, this.#pointwise],
        [this.#views.length > 0 ? 14 : 0, this.#views],
        [this.#rest.length > 0 ? 36 : 0, this.#rest],
      ]),
    );
  }
}

/** What came of a drawn program; `broken` is a step at which eager execution threw what no user should see. */
export interface Generated {
  readonly program: FuzzProgram;
  readonly broken?: unknown;
  /** Why operators that were drawn are not in it: the last reason for each. */
  readonly refusals: ReadonlyMap<string, string>;
}

export interface GenerateOptions {
  readonly seed: number;
  readonly index: number;
  readonly choice: OperatorChoice;
  /** No more calls than that; 40 if left out. */
  readonly maximumSteps?: number;
}

export function generate({ seed, index, choice, maximumSteps = 40 }: GenerateOptions): Generated {
  const draft = new ProgramDraft(new Random(seed, index), `seed ${String(seed)}, graph ${String(index)}`);
  return draft.generate(choice, maximumSteps);
}

interface Slot {
  readonly tensor: Tensor;
  readonly input: InputSpec | undefined;
}

class ProgramDraft {
  readonly #random: Random;
  readonly #label: string;
  readonly #slots: Slot[] = [];
  readonly #steps: Step[] = [];
  readonly #refusals = new Map<string, string>();
  readonly #sizes: readonly number[];
  readonly #dtypes: readonly DType[];
  readonly #dynamic: boolean;
  readonly #maximumElements: number;

  constructor(random: Random, label: string) {
    this.#random = random;
    this.#label = label;
    this.#dynamic = random.chance(0.2);
    this.#maximumElements = random.weighted([
      [70, 600],
      [25, 3000],
      [5, 40_000],
    ] as const);
    this.#sizes = Array.from({ length: random.between(2, 4) }, () => random.weighted(sizeChoices));
    this.#dtypes = Array.from({ length: random.between(1, 3) }, () => random.weighted(dtypeChoices));
  }

  generate(choice: OperatorChoice, maximumSteps: number): Generated {
    const random = this.#random;
    const seed = random.below(2 ** 31);
    manualSeed(seed);
    this.#firstInput();
    let broken: unknown;
    if (random.chance(0.15) && maximumSteps > mostAroundIndices) broken = this.#noIndices(choice);
    const wanted = Math.max(1, Math.min(maximumSteps, Math.round(-Math.log(1 - random.real()) * 9)));
    for (let tries = 0; this.#steps.length < wanted && tries < 3 * wanted && broken === undefined; tries += 1) {
      broken = this.#step(choice.draw(random));
    }
    if (this.#steps.length === 0) broken ??= this.#step(get(operators, 'neg'));
    return { program: this.#program(seed), refusals: this.#refusals, ...(broken === undefined ? {} : { broken }) };
  }

  #firstInput(): void {
    const random = this.#random;
    const rank = random.weighted([
      [4, 0],
      [15, 1],
      [40, 2],
      [28, 3],
      [13, 4],
    ] as const);
    const shape = Array.from({ length: rank }, () => random.pick(this.#sizes));
    while (shape.reduce((product, size) => product * size, 1) > this.#maximumElements)
      shape[random.below(rank)] = random.between(1, 5);
    this.#input({ dtype: at(this.#dtypes, 0), shape, contents: drawContents(random) });
  }

  /**
   * Indices of which there are none, as a view makes them: its map of positions has nothing to say of axes without elements.
   * Then calls that may use them. Gives what should not have been thrown.
   */
  #noIndices(choice: OperatorChoice): unknown {
    const [rows, more] = [this.#random.pick(this.#sizes), this.#random.pick(this.#sizes)];
    const { length } = this.#slots;
    this.#input({ dtype: 'i64', shape: [rows, more, 0], contents: { kind: 'indices', below: 1 } });
    const shape = this.#random.pick([[rows, 0], [0], [0, more]]);
    let broken = this.#perform(
      { op: 'reshape', inPlace: false, positional: [{ value: length }, shape], named: {}, results: 0 },
      length,
    );
    for (let calls = 1; calls < mostAroundIndices && broken === undefined; calls += 1) {
      const operator = choice.drawIndexing(this.#random);
      if (operator !== undefined) broken = this.#step(operator);
    }
    return broken;
  }

  #input(wanted: Wanted): Slot {
    const contiguous = this.#dynamic && this.#random.chance(0.9);
    const input = drawInput(this.#random, { ...wanted, contiguous });
    const slot = { tensor: inputTensor(input), input };
    this.#slots.push(slot);
    return slot;
  }

  /** Adds one call of the operator, if one can be drawn. Gives what should not have been thrown. */
  #step(operator: Operator): unknown {
    const values = this.#slots.map(({ tensor }, id): Candidate => ({
      id,
      dtype: tensor.dtype,
      shape: tensor.shape,
      strides: tensor.strides,
    }));
    const form = this.#random.pick([operator, ...(operator.overloads ?? []).map((name) => get(operators, name))]);
    const call = drawCall(
      { operator, parameters: form.parameters },
      {
        random: this.#random,
        values,
        dtypes: this.#dtypes,
        sizes: this.#sizes,
        maximumElements: this.#maximumElements,
      },
    );
    if (call === undefined) {
      this.#refusals.set(operator.name, 'no arguments were found that it accepts');
      return undefined;
    }
    const mark = this.#slots.length;
    for (const wanted of call.fresh) this.#input(wanted);
    return this.#perform({ ...this.#form(operator, call), results: 0 }, mark);
  }

  /** Runs a step, which stays if it gives what further steps can use; else `mark` slots do. Gives what should not have been thrown. */
  #perform(step: Step, mark: number): unknown {
    try {
      const made = runStep(
        step,
        this.#slots.map(({ tensor }) => tensor),
      );
      if (!step.inPlace && !this.#isUseful(made)) {
        this.#slots.length = mark;
        this.#refusals.set(step.op, 'its results were too large, or hardly any of them numbers');
        return undefined;
      }
      this.#slots.push(...made.map((tensor) => ({ tensor, input: undefined })));
      this.#steps.push({ ...step, results: made.length });
      return undefined;
    } catch (error) {
      if (isTsInductorError(error) && error.name === 'UserError') {
        this.#slots.length = mark;
        this.#refusals.set(step.op, error.message);
        return undefined;
      }
      this.#steps.push(step);
      return error;
    }
  }

  /** In place where the operator can, and its first argument is a value to write to: an intermediate, mostly. */
  #form(operator: Operator, { positional, named }: DrawnCall): Omit<Step, 'results'> {
    const [first] = positional;
    const target = typeof first === 'object' && first !== null && 'value' in first ? first.value : undefined;
    const rate =
      target === undefined || operator.inPlace !== true ? 0 : this.#slots[target]?.input === undefined ? 0.18 : 0.03;
    return {
      op: operator.name,
      inPlace: this.#random.chance(operator.forms.length === 0 ? 1 : rate),
      positional,
      named,
    };
  }

  /** Neither too large nor without any number in it, mostly. */
  #isUseful(made: readonly Tensor[]): boolean {
    if (made.length === 0 || made.length > 12) return false;
    if (made.some(({ numel }) => numel > this.#maximumElements)) return false;
    return made.every((tensor) => shareOfNumbers(tensor) >= 0.4) || this.#random.chance(0.1);
  }

  #program(seed: number): FuzzProgram {
    const random = this.#random;
    const slotRank = (a: number, b: number): number => Number(this.#isResult(a)) - Number(this.#isResult(b));
    const order = [...this.#slots.keys()].sort((a, b) => 2 * slotRank(a, b) + Math.sign(a - b));
    const place = new Map(order.map((id, position) => [id, position]));
    const rename = (id: number): number => get(place, id);
    const steps = this.#steps.map((step) => renumberStep(step, rename));
    const inputs = this.#slots.flatMap(({ input }) => (input === undefined ? [] : [input]));
    const read = new Set(steps.flatMap((step) => (step.inPlace ? [] : readsOf(step))));
    const results = Array.from({ length: this.#slots.length - inputs.length }, (_, k) => inputs.length + k);
    const outputs = results.filter((id) => !read.has(id) || random.chance(0.12));
    return {
      label: this.#label,
      inputs,
      steps,
      outputs: outputs.length > 0 ? outputs : results.slice(-1).concat(results.length === 0 ? [0] : []),
      dynamic: this.#dynamic,
      variant: random.chance(0.6) ? 'forward' : 'whole',
      seed,
    };
  }

  #isResult(id: number): boolean {
    return this.#slots[id]?.input === undefined;
  }
}

/** The share of elements that are finite; 1 for empty tensors. */
function shareOfNumbers(tensor: Tensor): number {
  if (tensor.numel === 0) return 1;
  const values = tensor.toTypedArray();
  let finite = 0;
  for (const value of values) if (typeof value === 'bigint' || Number.isFinite(value)) finite += 1;
  return finite / values.length;
}

/** The operators that programs may call. */
export const callable = (): readonly string[] => [...operators.values()].filter(isPublic).map(({ name }) => name);
