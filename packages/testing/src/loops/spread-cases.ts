// For tests: lanes that lie a few elements apart.
import type { DType } from '@tsinductor/base';
import { add, axisIndex, int, multiply } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, loops, ProgramMaker } from './programs.ts';

/** Every so manieth element of an array that ends with the last of them, or all of one backwards. */
export function apart(count: number, { step, dtype }: { readonly step: number; readonly dtype: DType }): Case {
  const maker = new ProgramMaker();
  const i = axis('i', count);
  const last = (count - 1) * Math.abs(step);
  const x = maker.buffer('x', 'input', { shape: [int(last + 1)], dtype });
  const out = maker.buffer('out', 'output', { shape: [i.extent], dtype });
  const place = add(multiply(axisIndex(i), int(step)), int(step < 0 ? last : 0));
  maker.map(out, [i], (b) => b.load(x, dtype, place));
  const schedule = maker.schedule([{ nodes: maker.nodes, nest: loops([[i, 'parallel']], [0]), locals: [] }]);
  return { name: `${dtype} every ${String(step)}`, schedule, sizes: new Map(), tolerance: 0 };
}

/** Differences of elements that lie `offsets` behind every so manieth one, of an array that ends with the last of them. */
export function between(
  count: number,
  { step, offsets, dtype }: { readonly step: number; readonly offsets: readonly number[]; readonly dtype: DType },
): Case {
  const maker = new ProgramMaker();
  const i = axis('i', count);
  const x = maker.buffer('x', 'input', { shape: [int((count - 1) * step + Math.max(...offsets) + 1)], dtype });
  const wide: DType = dtype === 'bf16' || dtype === 'f16' ? 'f32' : dtype;
  const out = maker.buffer('out', 'output', { shape: [i.extent], dtype: wide });
  maker.map(out, [i], (b) =>
    offsets
      .map((offset) => b.cast(b.load(x, dtype, add(multiply(axisIndex(i), int(step)), int(offset))), wide))
      .reduce((left, right) => b.apply('sub', [left, right])),
  );
  const schedule = maker.schedule([{ nodes: maker.nodes, nest: loops([[i, 'parallel']], [0]), locals: [] }]);
  return { name: `${dtype} ${offsets.join(', ')} of every ${String(step)}`, schedule, sizes: new Map(), tolerance: 0 };
}

/** Blocks of rows and columns of a matrix that has so many times its rows and columns: differences down each column, then across. */
export function blocks(
  [rows, columns]: readonly [number, number],
  { down, across, dtype }: { readonly down: number; readonly across: number; readonly dtype: DType },
): Case {
  const maker = new ProgramMaker();
  const [i, j] = [axis('i', rows), axis('j', columns)];
  const shape = [int(rows * down), int(columns * across)];
  const x = maker.buffer('x', 'input', { shape, dtype });
  const wide: DType = dtype === 'bf16' || dtype === 'f16' ? 'f32' : dtype;
  const out = maker.buffer('out', 'output', { shape: [i.extent, j.extent], dtype: wide });
  maker.map(out, [i, j], (b) => {
    const differences = (count: number, value: (place: number) => number): number =>
      Array.from({ length: count }, (_, place) => value(place)).reduce((left, right) => b.apply('sub', [left, right]));
    const element = (row: number, column: number): number => {
      const place = [
        add(multiply(axisIndex(i), int(down)), int(row)),
        add(multiply(axisIndex(j), int(across)), int(column)),
      ];
      return b.cast(b.load(x, dtype, maker.place(x, place)), wide);
    };
    return differences(across, (column) => differences(down, (row) => element(row, column)));
  });
  const nest = loops(
    [
      [i, 'parallel'],
      [j, 'parallel'],
    ],
    [0],
  );
  const schedule = maker.schedule([{ nodes: maker.nodes, nest, locals: [] }]);
  return { name: `${dtype} blocks of ${String(down)} x ${String(across)}`, schedule, sizes: new Map(), tolerance: 0 };
}
