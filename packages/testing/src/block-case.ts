// Hand-written kernels as test cases: a program with arguments, what the interpreter leaves in its buffers, and what code that is
// called with addresses gets. In: a schema and a body. Out: programs with nothing known of addresses and scalars but what the case
// says.
import { at, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { defineKernel, isConstexpr, isPointer, lowerKernel } from '@tsinductor/dsl';
import type { ArgumentFacts, BodyArguments, Language, Schema } from '@tsinductor/dsl';
import { interpretBlock } from '@tsinductor/ir';
import type { BlockArgument, BlockProgram, ElementArray } from '@tsinductor/ir';

type BlockArguments = Readonly<Record<string, ElementArray | number>>;

export interface BlockCase {
  readonly name: string;
  readonly program: BlockProgram;
  readonly grid: readonly [number, number, number];
  readonly args: BlockArguments;
}

interface CaseParts<S extends Schema> {
  readonly body: (args: BodyArguments<S>, tl: Language) => void;
  readonly constants?: Readonly<Record<string, number>>;
  readonly grid?: readonly [number, number, number];
  readonly args: BlockArguments;
  /** What addresses and scalars are multiples of. */
  readonly divisor?: number;
}

export function blockCase<S extends Schema>(name: string, schema: S, parts: CaseParts<S>): BlockCase {
  const { body, constants = {}, grid = [1, 1, 1], args, divisor = 1 } = parts;
  const definition = defineKernel({ name, schema, body, locate: () => ({ location: { file: 'k.ts', line: 1 } }) });
  const facts = Object.entries(schema).flatMap(([key, entry]): [string, ArgumentFacts][] => {
    if (isConstexpr(entry)) return [];
    const dtype: DType = isPointer(entry) ? (entry.dtype ?? 'f32') : entry;
    return [[key, { dtype, divisor }]];
  });
  const program = lowerKernel(definition, { arguments: Object.fromEntries(facts), constants });
  return { name, program, grid, args };
}

/** The arguments in the order of the parameters, buffers copied. */
export const argumentsOf = ({ program, args }: BlockCase): readonly (ElementArray | number)[] =>
  program.params.map(({ name }) => {
    const value = args[name] ?? 0;
    return typeof value === 'number' ? value : value.slice();
  });

export const buffersOf = (args: readonly (ElementArray | number)[]): readonly ElementArray[] =>
  args.filter((value) => typeof value !== 'number');

/** What the program's definition leaves in its buffers. */
export function interpretCase(one: BlockCase): readonly ElementArray[] {
  const args = argumentsOf(one);
  const given = args.map((value): BlockArgument => (typeof value === 'number' ? value : { elements: value }));
  interpretBlock(one.program, { grid: one.grid, args: given });
  return buffersOf(args);
}

export const bytesOf = (array: ElementArray): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

const bitsOfDouble = (value: number): bigint => at(new BigInt64Array(Float64Array.of(value).buffer), 0);

/** The scalars among the arguments as entries take them, 8 bytes each, and one word more. */
export function scalarWords(program: BlockProgram, args: readonly (ElementArray | number)[]): BigInt64Array {
  const words = program.params.flatMap(({ dtype }, index) => {
    const value = at(args, index);
    return typeof value === 'number' ? [isFloat(dtype) ? bitsOfDouble(value) : BigInt(value)] : [];
  });
  return BigInt64Array.from([...words, 0n]);
}

/** The first elements that differ, buffer by buffer; within `tolerance` floats are alike. */
export function blockDifferences(
  expected: readonly ElementArray[],
  actual: readonly ElementArray[],
  tolerance = 0,
): readonly string[] {
  return expected.flatMap((wanted, buffer) => {
    const found = at(actual, buffer);
    for (let place = 0; place < wanted.length; place++) {
      const [left, right] = [wanted[place], found[place]];
      if (Object.is(left, right) || Math.abs(Number(left) - Number(right)) <= tolerance) continue;
      return [`buffer ${String(buffer)}: [${String(place)}] is ${String(right)}, not ${String(left)}`];
    }
    return [];
  });
}

/** Elements of all signs and sizes up to `4 * scale`, and whole numbers from -50 to 50: the same each time. */
export const floats = (count: number, scale = 1): Float32Array =>
  Float32Array.from({ length: count }, (_, index) => Math.sin(index * 12.9898) * 4 * scale);
export const integers = (count: number): Int32Array =>
  Int32Array.from({ length: count }, (_, index) => ((index * 7919) % 101) - 50);
