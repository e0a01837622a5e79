// For tests of launches inside compiled functions: two kernels, and the comparison of a compiled function with its eager run.
import { expect } from '@jest/globals';
import { arange, compile } from 'tsinductor';
import type { CompiledFunction, CompileOptions, Tensor, UserError } from 'tsinductor';
import { cdiv, constexpr, f32, i32, kernel, ptr } from 'tsinductor/dsl';

/** out[i] = x[i] * factor. */
export const scale = kernel(
  'scale',
  { x: ptr(f32), out: ptr(f32), n: i32, factor: f32, BLOCK: constexpr },
  ({ x, out, n, factor, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    tl.store(out + offs, tl.load(x + offs, offs < n) * factor, offs < n);
  },
);

/** x[r, c] += r + 1, wherever its rows are. */
const addRow = kernel(
  'add_row',
  { x: ptr(f32), columns: i32, rowStride: i32, columnStride: i32, BLOCK: constexpr },
  ({ x, columns, rowStride, columnStride, BLOCK }, tl) => {
    const row = tl.programId(0);
    const offs = tl.arange(0, BLOCK);
    const place = x + row * rowStride + offs * columnStride;
    tl.store(place, tl.load(place, offs < columns) + row + 1, offs < columns);
  },
);

export const scaled = (x: Tensor, out: Tensor, factor: number): void => {
  const n = x.numel;
  scale.launch((meta) => [cdiv(n, meta.BLOCK)], { x, out, n, factor, BLOCK: 16 });
};

export const addRows = (x: Tensor): void => {
  const [rows = 0, columns = 0] = x.shape;
  const [rowStride = 0, columnStride = 0] = x.strides;
  addRow.launch([rows], { x, columns, rowStride, columnStride, BLOCK: 16 });
};

export const values = (...shape: readonly number[]): Tensor => {
  const size = shape.reduce((count, length) => count * length, 1);
  return arange(size).to('f32').div(7).sin().reshape(shape);
};

export const bits = (tensors: readonly Tensor[]): readonly string[] =>
  tensors.map((value) => `${value.shape.join('x')} ${Buffer.from(value.toTypedArray().buffer).toString('hex')}`);

export type Program = (...inputs: Tensor[]) => Tensor | readonly Tensor[];

/** Compares results and inputs, compiled and eager, twice: the second call runs what was compiled by the first. */
export function agrees(
  fn: Program,
  make: () => readonly Tensor[],
  options: CompileOptions = { fullgraph: true },
): CompiledFunction<Program> {
  const compiled = compile(fn, options);
  for (let call = 0; call < 2; call += 1) {
    const [own, others] = [make(), make()];
    const [actual, expected] = [compiled(...own), fn(...others)].map((result) => [result].flat());
    expect(bits(actual ?? [])).toEqual(bits(expected ?? []));
    expect(bits(own)).toEqual(bits(others));
  }
  return compiled;
}

/** Code, message and line of the error that something ends in; 'none' where it does not. */
export function launchError(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    const { code, message, location } = error as UserError;
    return `${code} ${message} ${location === undefined ? '' : `${location.file}:${String(location.line)}`}`;
  }
  return 'none';
}
