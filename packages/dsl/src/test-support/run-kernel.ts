// For tests: a kernel from its schema and body to Block IR, and a run of it in the interpreter on typed arrays.
import type { DType } from '@tsinductor/base';

import { interpretBlock } from '@tsinductor/ir';
import type { BlockArgument, BlockProgram, BlockRun, ElementArray } from '@tsinductor/ir';
import { defineKernel } from '../define-kernel.ts';
import type { Language } from '../language/signatures.ts';
import { lowerKernel } from '../lower/lower-kernel.ts';
import type { ArgumentFacts } from '../lower/lower-kernel.ts';
import type { AnyFunction } from '../parse/kernel-source.ts';
import { isConstexpr, isPointer } from '../schema.ts';
import type { BodyArguments, Schema } from '../schema.ts';

export interface TestKernel {
  readonly schema: Schema;
  readonly body: AnyFunction;
  readonly functions?: Readonly<Record<string, AnyFunction>>;
}

/** A body of the schema's type; the functions of the third parameter are whatever the test declares. */
export const testKernel = <S extends Schema>(
  schema: S,
  body: (args: BodyArguments<S>, tl: Language, functions: never) => void,
  functions: Readonly<Record<string, AnyFunction>> = {},
): TestKernel => ({ schema, body, functions });

/** Lowered with the schema's own dtypes (f32 where there is none), nothing known of alignment. */
export function lowerTest(
  { schema, body, functions = {} }: TestKernel,
  constants: Readonly<Record<string, number>> = {},
): BlockProgram {
  const definition = defineKernel({
    name: 'k',
    schema,
    body,
    functions,
    locate: () => ({ location: { file: 'kernel.ts', line: 1, column: 1 } }),
  });
  const facts = Object.entries(schema).flatMap(([name, entry]): [string, ArgumentFacts][] => {
    if (isConstexpr(entry)) return [];
    const dtype: DType = isPointer(entry) ? (entry.dtype ?? 'f32') : entry;
    return [[name, { dtype, divisor: 1 }]];
  });
  return lowerKernel(definition, { arguments: Object.fromEntries(facts), constants });
}

interface TestRun {
  readonly grid?: readonly number[];
  readonly constants?: Readonly<Record<string, number>>;
  readonly args: Readonly<Record<string, ElementArray | number | bigint>>;
  readonly order?: BlockRun['order'];
  readonly print?: (text: string) => void;
}

/** Runs every instance; arrays of `args` are written in place. */
export function runTest(
  kernel: TestKernel,
  { grid = [1], constants = {}, args, order = 'forward', print }: TestRun,
): BlockProgram {
  const program = lowerTest(kernel, constants);
  const given = program.params.map(({ name }): BlockArgument => {
    const value = args[name] ?? 0;
    return typeof value === 'object' ? { elements: value } : value;
  });
  const size: [number, number, number] = [grid[0] ?? 1, grid[1] ?? 1, grid[2] ?? 1];
  interpretBlock(program, { grid: size, args: given, order, ...(print === undefined ? {} : { print }) });
  return program;
}
