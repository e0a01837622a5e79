// For tests: rows of several arrays that are read twice, by a sum and then by what it is subtracted from.
import { axisIndex } from '@tsinductor/ir';
import type { Axis, BodyBuilder } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, fold, loops, ProgramMaker, scalarLocal } from './programs.ts';

interface Centred {
  readonly arrays: number;
  /** What is summed; exponentials are much to compute for an element. */
  readonly of?: 'elements' | 'exponentials';
}

/** The sum of some matrices, less its rows' sums. */
export function centredOf(rows: number, columns: number, { arrays, of = 'elements' }: Centred): Case {
  const maker = new ProgramMaker();
  const [i, j, k] = [axis('i', rows), axis('j', columns), axis('k', columns)];
  const shape = [i.extent, j.extent];
  const inputs = Array.from({ length: arrays }, (_, place) =>
    maker.buffer(`x${String(place)}`, 'input', { shape, dtype: 'f32' }),
  );
  const total = maker.buffer('total', 'temporary', { shape: [i.extent], dtype: 'f32' });
  const out = maker.buffer('out', 'output', { shape, dtype: 'f32' });
  const sum = (b: BodyBuilder, along: Axis): number =>
    inputs
      .map((x) => b.load(x, 'f32', maker.place(x, [i, along].map(axisIndex))))
      .map((value) => (of === 'elements' ? value : b.apply('exp', [value])))
      .reduce((left, right) => b.apply('add', [left, right]));
  const bodies = fold('add', 0, (b) => sum(b, j));
  maker.reduce(total, { axes: [i], over: [j], state: ['f32'], bodies });
  maker.map(out, [i, k], (b) => b.apply('sub', [sum(b, k), b.load(total, 'f32', axisIndex(i))]));
  const nest = loops([[i, 'parallel']], [loops([[j, 'reduction']], [0]), loops([[k, 'parallel']], [1])]);
  const schedule = maker.schedule([{ nodes: maker.nodes, nest, locals: [scalarLocal(total)] }]);
  const name = `centred, of ${String(arrays)}${of === 'elements' ? '' : `, ${of}`}`;
  return { name, schedule, sizes: new Map(), tolerance: 1e-4 };
}

export const centred = (rows: number, columns: number, arrays: number): Case => centredOf(rows, columns, { arrays });
