// Tests build a graph, lower it, verify the program, and run it on the interpreter: arrays with a shape in and out.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { contiguousMeta, GraphBuilder } from '@tsinductor/graph';
import type { Arg, Attrs, Meta, ValueRef } from '@tsinductor/graph';
import { allocateElements, evaluateIndex, int, interpretProgram, verifyProgram } from '@tsinductor/ir';
import type { ElementArray, LoopProgram } from '@tsinductor/ir';
import { f16FromBits, f16ToBits } from '@tsinductor/ops';
import { lowerGraph } from '../index.ts';
import type { LoweringOptions } from '../lowering.ts';

/** A tensor of the reference: row-major numbers. */
export interface Nd {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

const count = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

function unravel(shape: readonly number[], flat: number): readonly number[] {
  let rest = flat;
  const coordinates: number[] = [];
  for (const extent of shape.toReversed()) {
    coordinates.unshift(rest % extent);
    rest = Math.floor(rest / extent);
  }
  return coordinates;
}

export const nd = (
  shape: readonly number[],
  element: (coordinates: readonly number[], flat: number) => number,
): Nd => ({
  shape,
  data: Array.from({ length: count(shape) }, (_, flat) => element(unravel(shape, flat), flat)),
});
export const get = ({ shape, data }: Nd, coordinates: readonly number[]): number =>
  at(
    data,
    coordinates.reduce((flat, coordinate, axis) => flat * at(shape, axis) + coordinate, 0),
  );

/** Distinct values, some negative. */
export const ramp = (...shape: readonly number[]): Nd => nd(shape, (_, flat) => ((flat * 7) % 23) - 9);

const encode = (dtype: DType, { data }: Nd): ElementArray => {
  const array = allocateElements(dtype, data.length);
  data.forEach((value, index) => {
    if (array instanceof BigInt64Array || dtype === 'i64') (array as BigInt64Array)[index] = BigInt(value);
    else array[index] = dtype === 'f16' ? f16ToBits(value) : value;
  });
  return array;
};
const decode = (dtype: DType, array: ElementArray): readonly number[] =>
  Array.from(array as Iterable<number | bigint>, (value) =>
    dtype === 'f16' ? f16FromBits(Number(value)) : Number(value),
  );

export interface Input {
  readonly value: Nd;
  readonly dtype?: DType;
  /** Names of symbolic sizes, by axis. */
  readonly symbols?: Readonly<Record<number, string>>;
}

export type Build = (b: GraphBuilder, ...inputs: readonly ValueRef[]) => ValueRef | readonly ValueRef[];

export function lowered(
  inputs: readonly Input[],
  build: Build,
  options?: LoweringOptions,
): { readonly program: LoopProgram; readonly sizes: ReadonlyMap<string, number> } {
  const builder = new GraphBuilder({ expand: true });
  const sizes = new Map<string, number>();
  const values = inputs.map(({ value, dtype = 'f32', symbols = {} }, position) => {
    const shape = value.shape.map((extent, axis) => {
      const name = symbols[axis];
      if (name === undefined) return int(extent);
      sizes.set(name, extent);
      return builder.sizes.declare(name, extent);
    });
    const meta: Meta = contiguousMeta(shape, dtype);
    return builder.placeholder(`x${String(position)}`, meta);
  });
  const results = build(builder, ...values);
  builder.output(...('kind' in results ? [results] : results));
  return { program: lowerGraph(builder.finish(), options), sizes };
}

/** The outputs, each with its shape. */
export function run(inputs: readonly Input[], build: Build, options?: LoweringOptions): readonly Nd[] {
  const { program, sizes } = lowered(inputs, build, options);
  verifyProgram(program);
  const buffers = new Map(
    program.inputs.map((id, position) => [id, encode(at(inputs, position).dtype ?? 'f32', at(inputs, position).value)]),
  );
  const outputs = program.outputs.map((id) => {
    const decl = program.buffers.find((buffer) => buffer.id === id);
    if (decl === undefined) throw new TypeError('an output is not declared');
    const shape = decl.shape.map((extent) => evaluateIndex(extent, { sizes }));
    const array = allocateElements(decl.dtype, count(shape));
    buffers.set(id, array);
    return { decl, shape, array };
  });
  interpretProgram(program, { buffers, sizes });
  return outputs.map(({ decl, shape, array }) => ({ shape, data: decode(decl.dtype, array) }));
}

export const runOne = (inputs: readonly Input[], build: Build, options?: LoweringOptions): Nd =>
  at(run(inputs, build, options), 0);
export const call =
  (target: string, attrs: Attrs = {}, rest: readonly Arg[] = []): Build =>
  (b, ...inputs) =>
    b.call(target, [...inputs, ...rest], attrs);

export const f32 = (value: Nd): Input => ({ value });
export const i64 = (...values: readonly number[]): Input => ({
  value: nd([values.length], (_, flat) => at(values, flat)),
  dtype: 'i64',
});
