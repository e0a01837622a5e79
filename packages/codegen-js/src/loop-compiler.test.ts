// Generated functions give the bits of the interpreter: for every op at every dtype, and for nests of every shape.
import { describe, expect, test } from '@jest/globals';
import { allDTypes, at, elementConstructors } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { reductions } from '@tsinductor/ops';
import type { ReductionName } from '@tsinductor/ops';
import { allCases, cases, inputsOf, wrongElement } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import {
  difference,
  fusedProgram,
  newCompiler,
  outputsBy,
  reductionProgram,
  scatterProgram,
} from './test-support/compare.ts';
import { contractionProgram } from './test-support/contraction-program.ts';

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

test('every op of the table at every dtype', () => {
  const compiler = newCompiler();
  const count = 300;
  const wrong = allCases(count).flatMap((one) => {
    const { program } = one.schedule;
    const line = wrongElement(one, count, (buffers) => {
      const arrays = program.inputs.map((id, position) => {
        const array = new elementConstructors[at(program.buffers, id).dtype](count);
        bytesOf(array).set(at(buffers, position).subarray(0, array.byteLength));
        return [id, array] as const;
      });
      const [out] = outputsBy(program, { buffers: new Map(arrays), sizes: new Map() }, compiler.compile);
      if (out !== undefined) at(buffers, program.inputs.length).set(bytesOf(out));
    });
    return line ?? [];
  });
  expect(wrong).toEqual([]);
});

test('fused products and sums half way between two f32, and below the normal ones', () => {
  const compiler = newCompiler();
  const [tiny, half] = [2 ** -149, 2 ** -24];
  const values = [1, 1 + 2 ** -23, 1 + half * 2, half, -half, 3 * half, tiny, 3 * tiny, 2 ** -126, 2 ** -75, 2 ** 64, -1, 0, -0, Infinity, NaN, 2 ** 104, 1.5 * 2 ** -75]; // prettier-ignore
  const triples = values.flatMap((x) => values.flatMap((y) => values.map((z) => [x, y, z] as const)));
  const { program, inputs } = fusedProgram(triples);
  expect(difference(program, { buffers: inputs, sizes: new Map() }, compiler)).toBeUndefined();
});

describe('scatters', () => {
  const modes = ['set', 'add', 'multiply', 'min', 'max'] as const;
  test.each(modes)('%s, of every dtype, onto zeros and onto what was there', (mode) => {
    const wrong = allDTypes.flatMap((dtype) =>
      [true, false].flatMap((isFresh) => {
        const { program, inputs } = scatterProgram(mode, dtype, isFresh);
        const found = difference(program, { buffers: inputs, sizes: new Map() });
        return found === undefined ? [] : [`${dtype}: ${found}`];
      }),
    );
    expect(wrong).toEqual([]);
  });
});

describe('nests of every shape', () => {
  const row = cases.symbolic('s0', 301);
  const column = cases.symbolic('s1', 77);
  const both = new Map([...row.sizes, ...column.sizes]);
  test.each<[string, () => Case]>([
    ['broadcasts', () => cases.broadcasts(300, 411)],
    ['broadcasts over one', () => cases.broadcasts(1, 40)],
    ['broadcasts of symbolic sizes', () => cases.broadcasts(row.extent, column.extent, both)],
    ['transposed', () => cases.transposed(37, 29)],
    ['permuted', () => cases.permuted(13, 7, { width: 5 })],
    ['permuted halves', () => cases.permuted(13, 7, { width: 5, dtype: 'f16' })],
    ['scanned rows', () => cases.scanned(5, 300)],
    ['scanned columns', () => cases.scanned(300, 45, 'columns')],
    ['scanned logarithms', () => cases.scanned(9, 70, 'rows, logarithms')],
    ['softmax of rows', () => cases.softmax('rows', [40, 100])],
    ['softmax of columns', () => cases.softmax('columns', [40, 100])],
    ['sines', () => cases.sines(1000)],
    ['joined', () => cases.joined(256, [72, 128])],
    ['rotated', () => cases.rotated(256, 64)],
    ['summed rows', () => cases.summed('rows', [row.extent, column.extent], both)],
    ['shifted apart', () => cases.apart(133, { step: -1, dtype: 'bf16' })],
  ])('%s', (_, make) => {
    const { schedule, sizes, ...rest } = make();
    const inputs = inputsOf({ schedule, sizes, ...rest });
    expect(difference(schedule.program, { buffers: inputs, sizes })).toBeUndefined();
  });
});

describe('contractions', () => {
  const products: readonly [string, Parameters<typeof contractionProgram>[1]][] = [
    ['wide', { batch: 1, m: 21, n: 33, k: 41 }],
    ['wide, beyond a block', { batch: 1, m: 5, n: 300, k: 259 }],
    ['batched, the right one shared', { batch: 3, m: 9, n: 7, k: 10, isShared: true }],
    ['transposed', { batch: 2, m: 9, n: 7, k: 10, transposed: [true, true] }],
    ['computed where they are read', { batch: 2, m: 9, n: 7, k: 10, isComputed: true }],
    ['matrix times vectors', { batch: 2, m: 40, n: 2, k: 35 }],
    ['transposed matrix times a vector', { batch: 2, m: 40, n: 1, k: 35, transposed: [true, false] }],
    ['vectors times matrix', { batch: 2, m: 3, n: 40, k: 35 }],
    ['a vector times transposed matrix', { batch: 2, m: 1, n: 40, k: 35, transposed: [false, true] }],
    ['a single product each', { batch: 2, m: 6, n: 7, k: 1 }],
  ];
  test.each(products)('%s', (_, product) => {
    const wrong = (['f32', 'f64', 'f16', 'bf16', 'i32', 'i16', 'u8'] as const).flatMap((dtype) => {
      const { program, inputs } = contractionProgram(dtype, product);
      const found = difference(program, { buffers: inputs, sizes: new Map() });
      return found === undefined ? [] : [`${dtype}: ${found}`];
    });
    expect(wrong).toEqual([]);
  });
});

describe('reductions', () => {
  const shapes: readonly (readonly [outputs: number, positions: number])[] = [
    [1, 1],
    [1, 9001],
    [300, 10],
    [70, 90],
    [500, 3],
  ];
  const dtypesOf = (name: ReductionName): readonly DType[] => reductions[name].accepts ?? allDTypes;
  const compiler = newCompiler();
  test.each(Object.keys(reductions) as ReductionName[])('%s', (name) => {
    const wrong = dtypesOf(name).flatMap((dtype) =>
      shapes.flatMap(([outputs, positions]) =>
        (['rows', 'columns'] as const).flatMap((along) => {
          const { program, inputs } = reductionProgram(name, dtype, { outputs, positions, along });
          const found = difference(program, { buffers: inputs, sizes: new Map() }, compiler);
          return found === undefined ? [] : [`${dtype} ${String(outputs)} x ${String(positions)} ${along}: ${found}`];
        }),
      ),
    );
    expect(wrong).toEqual([]);
  });
});
