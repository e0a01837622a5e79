// What the fuzzer generates, runs, shrinks and prints: a program over tensors as plain JSON. Values are numbered: first
// the inputs, then the results of the steps in order. A step calls an operator of the table by name, as a user would
// (positional and named arguments), so that binding, tracing, views and in-place writes are part of what is tested.
import type { DType } from '@tsinductor/base';

/** What the elements of an input are like. `indices` are whole numbers in [0, below). */
export type Contents =
  | { readonly kind: 'normal' | 'whole' | 'unit' | 'positive' | 'wide' | 'constant' | 'special' | 'sorted' | 'full' }
  | { readonly kind: 'indices'; readonly below: number };

/** A tensor's bytes (base64 of the whole storage) and where in them its elements lie. */
export interface InputSpec {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  readonly data: string;
  /** Of which class the elements were drawn: for drawing more of them. */
  readonly contents: Contents;
}

/** An argument: plain data, or what JSON has no word for. */
export type Argument =
  | null
  | boolean
  | number
  | string
  | { readonly value: number }
  /** A scalar of the float category. */
  | { readonly float: number | 'NaN' | 'Infinity' | '-Infinity' | '-0' }
  | { readonly bigint: string }
  | { readonly slice: readonly (number | null)[] }
  | { readonly ellipsis: true }
  | readonly Argument[];

export interface Step {
  readonly op: string;
  readonly inPlace: boolean;
  readonly positional: readonly Argument[];
  readonly named: Readonly<Record<string, Argument>>;
  /** How many values it makes: 0 for an in-place call, whose result is its first argument. */
  readonly results: number;
}

/** How the compiled graph is compared: see check-graph.ts. */
export type Variant = 'forward' | 'whole';

export interface FuzzProgram {
  readonly label: string;
  readonly inputs: readonly InputSpec[];
  readonly steps: readonly Step[];
  /** Values that are returned. */
  readonly outputs: readonly number[];
  /** Compiled for symbolic sizes, and run with a second set of them. */
  readonly dynamic: boolean;
  readonly variant: Variant;
  /** Seeds the random operators. */
  readonly seed: number;
}

/** The number of the first value that step `position` makes. */
export const firstResult = ({ inputs, steps }: Pick<FuzzProgram, 'inputs' | 'steps'>, position: number): number =>
  steps.slice(0, position).reduce((count, { results }) => count + results, inputs.length);

export const valueCount = (program: Pick<FuzzProgram, 'inputs' | 'steps'>): number =>
  firstResult(program, program.steps.length);

export const isValueRef = (argument: Argument): argument is { readonly value: number } =>
  typeof argument === 'object' && argument !== null && !Array.isArray(argument) && 'value' in argument;

/** The values that a step reads. */
export function valuesIn(arguments_: readonly Argument[]): readonly number[] {
  return arguments_.flatMap((argument) => {
    if (isValueRef(argument)) return [argument.value];
    return Array.isArray(argument) ? valuesIn(argument as readonly Argument[]) : [];
  });
}

export const readsOf = (step: Step): readonly number[] => valuesIn([...step.positional, ...Object.values(step.named)]);

/** An argument with every value renumbered. */
export function renumber(argument: Argument, rename: (value: number) => number): Argument {
  if (isValueRef(argument)) return { value: rename(argument.value) };
  return Array.isArray(argument) ? (argument as readonly Argument[]).map((item) => renumber(item, rename)) : argument;
}

export const renumberStep = (step: Step, rename: (value: number) => number): Step => ({
  ...step,
  positional: step.positional.map((argument) => renumber(argument, rename)),
  named: Object.fromEntries(Object.entries(step.named).map(([name, argument]) => [name, renumber(argument, rename)])),
});
